"""The role in `config/rbac` holds what the manager needs, and nothing else."""

from __future__ import annotations

from pathlib import Path

import yaml

from envtest import Cluster
from envtest.installation import ROLE, Installation
from envtest.rights.right import granted, used
from envtest.rights.role import text
from envtest.rights.tour import Tour


def test_the_role_has_no_rule_too_few_and_none_too_many(
    cluster: Cluster, installation: Installation, namespace: str, tmp_path: Path
) -> None:
    assert installation.rules() == yaml.safe_load(ROLE.read_text())["rules"]
    needed = used(Tour(cluster, installation, namespace, tmp_path).make())
    held = granted(installation.rules())
    assert sorted(map(str, needed - held)) == [], "missing: run `make rights`"
    assert sorted(map(str, held - needed)) == [], "unused: run `make rights`"


def test_the_role_file_is_what_its_generator_writes() -> None:
    content = ROLE.read_text()
    assert content == text(granted(yaml.safe_load(content)["rules"]))
