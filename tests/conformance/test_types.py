"""Fields of a wrong type: a body that cannot be read is 400, and what a patch makes of an object is 422. Null is no value."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SECRET, SERVICE
from dynamo_ctrl.objects.kind import Kind
from tests.conformance.kinds import WIDGET, body
from tests.conformance.world import World

CONTAINER = {"name": "c", "image": "i"}
LABELLED = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
DEPLOYED: dict[str, Any] = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": LABELLED}
QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def unmarshal(found: str, where: str, go: str) -> str:
    """What Go says of a value of another type."""
    return f"json: cannot unmarshal {found} into Go struct field {where} of type {go}"


def spec(**content: Any) -> dict[str, Any]:
    """A body with that spec."""
    return {"spec": content}


def limited(limits: Any) -> dict[str, Any]:
    """A Pod with those limits."""
    return spec(containers=[{**CONTAINER, "resources": {"limits": limits}}])


@pytest.mark.parametrize(
    ("kind", "content", "fault"),
    [
        (DEPLOYMENT, {"spec": []}, unmarshal("array", "Deployment.spec", "v1.DeploymentSpec")),
        (DEPLOYMENT, spec(replicas=1.5), unmarshal("number 1.5", "DeploymentSpec.spec.replicas", "int32")),
        (
            DEPLOYMENT,
            spec(template={"metadata": {"labels": "x"}}),
            unmarshal("string", "ObjectMeta.spec.template.metadata.labels", "map[string]string"),
        ),
        (
            DEPLOYMENT,
            spec(strategy={"rollingUpdate": {"maxSurge": True}}),
            unmarshal("bool", "RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge", "int32"),
        ),
        (POD, spec(containers=["x"]), unmarshal("string", "PodSpec.spec.containers", "v1.Container")),
        (POD, spec(tolerations={}), unmarshal("object", "PodSpec.spec.tolerations", "[]v1.Toleration")),
        (
            POD,
            limited([]),
            unmarshal("array", "ResourceRequirements.spec.containers.resources.limits", "v1.ResourceList"),
        ),
        (POD, limited({"cpu": True}), QUANTITY),
        (SERVICE, spec(ports=[{"port": "x"}]), unmarshal("string", "ServicePort.spec.ports.port", "int32")),
        (CONFIG_MAP, {"data": {"a": 1}}, unmarshal("number", "ConfigMap.data", "string")),
        (SECRET, {"data": {"a": "not base64!"}}, "illegal base64 data at input byte 3"),
        (
            CONFIG_MAP,
            {"metadata": {"ownerReferences": [{"name": 1}]}},
            unmarshal("number", "OwnerReference.metadata.ownerReferences.name", "string"),
        ),
        (CONFIG_MAP, {"metadata": {"generation": "x"}}, unmarshal("string", "ObjectMeta.metadata.generation", "int64")),
        (WIDGET, {"metadata": {"labels": []}}, unmarshal("array", "ObjectMeta.labels", "map[string]string")),
        (WIDGET, {"metadata": {"finalizers": "x"}}, unmarshal("string", "ObjectMeta.finalizers", "[]string")),
        (WIDGET, {"metadata": {"ownerReferences": {}}}, unmarshal("object", "ObjectMeta.ownerReferences", "[]v1.OwnerReference")),
    ],
)  # fmt: skip
def test_a_field_of_a_wrong_type_cannot_be_read(
    world: World, kind: Kind[Any], content: dict[str, Any], fault: str
) -> None:
    sent = {**body(kind, "a"), **content}
    sent["metadata"] = {"name": "a", **content.get("metadata", {})}
    told = f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: {fault}'
    assert world.create(kind, sent).refusal == (400, "BadRequest", told, {})
    assert world.get(kind, "a").code == 404


@pytest.mark.parametrize(
    ("kind", "patch", "subresource", "fault"),
    [
        (DEPLOYMENT, spec(replicas="x"), "", unmarshal("string", "DeploymentSpec.spec.replicas", "int32")),
        (DEPLOYMENT, {"status": "x"}, "status", unmarshal("string", "Deployment.status", "v1.DeploymentStatus")),
        (DEPLOYMENT, spec(replicas="x"), "scale", unmarshal("string", "ScaleSpec.spec.replicas", "int32")),
        (
            DEPLOYMENT,
            {"metadata": {"labels": []}},
            "",
            unmarshal("array", "ObjectMeta.metadata.labels", "map[string]string"),
        ),
        (WIDGET, {"metadata": {"finalizers": "x"}}, "", unmarshal("string", "ObjectMeta.finalizers", "[]string")),
        (WIDGET, {"metadata": "x"}, "", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
    ],
)
def test_a_patch_that_makes_a_field_of_a_wrong_type_is_invalid(
    world: World, kind: Kind[Any], patch: dict[str, Any], subresource: str, fault: str
) -> None:
    assert not world.create(kind, body(kind, "a", spec=DEPLOYED if kind is DEPLOYMENT else {})).refused
    found = world.merge(kind, "a", patch, subresource=subresource)
    assert (found.code, found.reason) == (422, "Invalid")
    assert found.message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert found.message.endswith(f": {fault}")


def test_null_is_no_value(world: World) -> None:
    template = {**LABELLED, "metadata": {"labels": {"a": "b", "c": None}}}
    sent = body(DEPLOYMENT, "a", metadata={"labels": None}, spec={**DEPLOYED, "replicas": None, "template": template})
    found = world.create(DEPLOYMENT, sent).object
    assert found["spec"]["template"]["metadata"]["labels"] == {"a": "b", "c": ""}
    assert found["spec"]["replicas"] == 1
    assert world.create(CONFIG_MAP, body(CONFIG_MAP, "a", data={"a": None})).object["data"] == {"a": ""}
