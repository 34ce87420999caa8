"""What the cache keeps of secrets: which registries they open, and nothing that opens them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import SECRET
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.component_deployment.surroundings import registries_only, surroundings
from dynamo_graph.orchestrators import identity_only
from dynamo_graph.render.pull_secrets import PullSecrets
from dynamo_graph.testing import GraphWorld

DOCKER = "kubernetes.io/dockerconfigjson"
AUTHS = {
    "auths": {
        "https://r.example:5005/a": {"username": "u", "password": "hunter2"},
        "docker.io": {"auth": "aHVudGVyMg=="},
    }
}


def secret(data: str, type_: str = DOCKER) -> dict[str, Any]:
    metadata = {
        "name": "pull",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "1",
        "labels": {"a": "b"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": data},
        "managedFields": [{"manager": "kubectl"}],
    }
    content = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": type_}
    return {**content, "data": {".dockerconfigjson": data, "other": "eA=="}}


def encoded(tree: Any) -> str:
    return base64.b64encode(json.dumps(tree).encode()).decode()


def test_registries_stay_and_credentials_go() -> None:
    kept = registries_only(secret(encoded(AUTHS)))
    data = base64.b64decode(kept["data"][".dockerconfigjson"]).decode()
    assert json.loads(data) == {"auths": {"https://r.example:5005/a": {}, "docker.io": {}}}
    assert sorted(kept["metadata"]) == ["labels", "name", "namespace", "resourceVersion", "uid"]
    assert list(kept["data"]) == [".dockerconfigjson"]
    index = PullSecrets.of([SECRET.object(kept)], "ns")
    assert index == PullSecrets.of([SECRET.object(secret(encoded(AUTHS)))], "ns")
    assert index.for_image("r.example:5005/x:1") == ("pull",)


@pytest.mark.parametrize("content", [secret(encoded(AUTHS)), secret("%%%"), secret(encoded(AUTHS), "Opaque"), {}])
def test_the_projection_of_a_projection_is_itself(content: dict[str, Any]) -> None:
    once = registries_only(content)
    assert registries_only(once) == once
    assert identity_only(identity_only(content)) == identity_only(content)


@pytest.mark.parametrize("data", ["%%%", encoded([]), encoded({"auths": 3}), ""])
def test_a_malformed_secret_is_still_called_malformed(data: str) -> None:
    kept = SECRET.object(registries_only(secret(data)))
    assert PullSecrets.of([kept], "ns").malformed == ("pull",)


def test_another_type_of_secret_keeps_no_data() -> None:
    assert "data" not in registries_only(secret(encoded(AUTHS), "Opaque"))


def test_a_namespace_without_anything_has_the_default_account() -> None:
    found = surroundings("ns", GraphWorld().cache, OperatorConfig())
    assert (found.account, dict(found.secrets.by_registry)) == ("default", {})
