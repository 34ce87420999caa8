"""The CRDs in `config/crd` are those of the models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynamo_ctrl.objects.schema.crd import filename, to_yaml
from dynamo_graph.api.crds import CUSTOM_RESOURCES, documents

FOLDER = Path(__file__).parents[4] / "config/crd"
CLIENT_SIDE_APPLY_LIMIT = 262_144


@pytest.mark.parametrize("document", documents(), ids=filename)
def test_the_file_is_what_the_models_say(document: dict[str, object]) -> None:
    assert (FOLDER / filename(document)).read_text() == to_yaml([document]), "run: dynamo-manager crds"


@pytest.mark.parametrize("document", documents(), ids=filename)
def test_the_document_is_small_enough_for_every_client(document: dict[str, object]) -> None:
    """`kubectl apply` of the client side keeps all of it in an annotation; the limit of etcd is six times that."""
    assert len(json.dumps(document)) < CLIENT_SIDE_APPLY_LIMIT / 2


def test_the_names_are_those_of_the_group() -> None:
    names = {resource.kind.kind: (str(resource.kind), resource.kind.short) for resource in CUSTOM_RESOURCES}
    assert names == {
        "DynamoGraphDeployment": ("dynamographdeployments.nvidia.com", ("dgd",)),
        "DynamoComponentDeployment": ("dynamocomponentdeployments.nvidia.com", ("dcd",)),
        "DynamoGraphDeploymentScalingAdapter": ("dynamographdeploymentscalingadapters.nvidia.com", ("dgdsa",)),
    }


def defaults(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
    """Where a schema has a default, and which."""
    if "default" in schema:
        yield path, schema["default"]
    for name, child in schema.get("properties", {}).items():
        yield from defaults(child, f"{path}.{name}".lstrip("."))
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict):
            yield from defaults(schema[key], f"{path}{mark}")


POD = "podTemplate.spec"
COMPONENT_DEFAULTS = {
    "multinode.nodeCount": 2,
    "experimental.gpuMemoryService.mode": "IntraPod",
    "experimental.failover.mode": "IntraPod",
    "experimental.failover.numShadows": 1,
    "experimental.checkpoint.startupPolicy": "Immediate",
    "experimental.checkpoint.deletionPolicy": "Delete",
    f"{POD}.containers[].ports[].protocol": "TCP",
    f"{POD}.initContainers[].ports[].protocol": "TCP",
    f"{POD}.ephemeralContainers[].ports[].protocol": "TCP",
    f"{POD}.imagePullSecrets[].name": "",
}
GRAPH_DEFAULTS = {
    "spec.restart.strategy.type": "Sequential",
    "spec.experimental.kvTransferPolicy.enforcement": "required",
    "status.state": "initializing",
}


def test_the_defaults_are_these_and_no_others() -> None:
    """A new default changes stored objects, and with a Pod template the hash of its workers."""
    found = [dict(defaults(document["spec"]["versions"][0]["schema"]["openAPIV3Schema"])) for document in documents()]
    within = {f"spec.components[].{path}": value for path, value in COMPONENT_DEFAULTS.items()}
    assert found == [GRAPH_DEFAULTS | within, {f"spec.{path}": v for path, v in COMPONENT_DEFAULTS.items()}, {}]


def test_the_kinds_with_required_fields_require_a_spec() -> None:
    schemas = [document["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for document in documents()]
    assert [schema.get("required") for schema in schemas] == [None, ["spec"], ["spec"]]
