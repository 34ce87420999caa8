"""The roles in `config/rbac` hold what the manager needs, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from envtest import Cluster
from envtest.installation import NAMESPACE, RESTRICTED, ROLE, Installation
from envtest.rights.right import apart, granted
from envtest.rights.role import restricted_text, text
from envtest.rights.tour import Tour


def roles() -> list[dict[str, Any]]:
    """Everywhere, and at home."""
    return list(yaml.safe_load_all(ROLE.read_text()))


def test_the_role_has_no_rule_too_few_and_none_too_many(
    cluster: Cluster, installation: Installation, namespace: str, tmp_path: Path
) -> None:
    assert [installation.rules(), installation.rules_at_home()] == [role["rules"] for role in roles()]
    needed = apart(Tour(cluster, installation, namespace, tmp_path).make(), NAMESPACE)
    held = (granted(installation.rules()), granted(installation.rules_at_home()))
    for where, wants, has in zip(("everywhere", "at home"), needed, held, strict=True):
        assert sorted(map(str, wants - has)) == [], f"missing {where}: run `make rights`"
        assert sorted(map(str, has - wants)) == [], f"unused {where}: run `make rights`"


def test_the_role_file_is_what_its_generator_writes() -> None:
    everywhere, at_home = (granted(role["rules"]) for role in roles())
    assert ROLE.read_text() == text(everywhere, at_home)
    assert RESTRICTED.read_text() == restricted_text(everywhere | at_home)
    assert {right.resource for right in at_home} == {"leases"}
