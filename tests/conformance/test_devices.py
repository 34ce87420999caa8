"""Claims of dynamic resources: defaults, rules, and what may not change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from tests.conformance.kinds import body, stored
from tests.conformance.outcome import Tree, invalid
from tests.conformance.world import World


class Device(Object[Mapping[str, Any], Mapping[str, Any]]):
    """An object of any kind of resource.k8s.io."""


def device(kind: str, plural: str, **more: Any) -> Kind[Device]:
    return Kind(Device, group="resource.k8s.io", version="v1", kind=kind, plural=plural, **more)


CLAIM = device("ResourceClaim", "resourceclaims")
TEMPLATE = device("ResourceClaimTemplate", "resourceclaimtemplates", status_subresource=False)
CLASS = device("DeviceClass", "deviceclasses", namespaced=False, status_subresource=False)


def asking(*requests: Tree) -> Tree:
    return {"devices": {"requests": list(requests)}}


ONE = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
FILLED = {
    "name": "gpu",
    "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1},
}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (asking(ONE), asking(FILLED)),
        ({}, {"devices": {"requests": None}}),
        (
            asking({"name": "gpu", "exactly": {"deviceClassName": "a", "allocationMode": "All"}}),
            asking({"name": "gpu", "exactly": {"deviceClassName": "a", "allocationMode": "All"}}),
        ),
        (
            asking({"name": "gpu", "firstAvailable": [{"name": "big", "deviceClassName": "a", "count": 2}]}),
            asking(
                {
                    "name": "gpu",
                    "firstAvailable": [
                        {"name": "big", "deviceClassName": "a", "allocationMode": "ExactCount", "count": 2}
                    ],
                }
            ),
        ),
    ],
    ids=str,
)
def test_a_claim_gets_defaults(world: World, sent: Tree, kept: Tree) -> None:
    assert world.create(CLAIM, body(CLAIM, "a", spec=sent)).object == stored(CLAIM, "a", spec=kept, status={})


def test_a_template_gets_the_defaults_of_its_claims(world: World) -> None:
    sent = {"metadata": {"labels": {"a": "b"}}, "spec": asking(ONE)}
    found = world.create(TEMPLATE, body(TEMPLATE, "a", spec=sent)).object
    assert found == stored(TEMPLATE, "a", spec={**sent, "spec": asking(FILLED)})


@pytest.mark.parametrize(
    ("request_", "field", "rule"),
    [
        ({"name": "gpu"}, "", "exactly one of `exactly` or `firstAvailable` is required"),
        ({"name": "gpu", "exactly": {}}, ".exactly.deviceClassName", ""),
        ({"name": "gpu", "firstAvailable": [{"name": "a"}]}, ".firstAvailable[0].deviceClassName", ""),
    ],
    ids=str,
)
def test_a_claim_that_asks_for_nothing_is_refused(world: World, request_: Tree, field: str, rule: str) -> None:
    told = f"Required value: {rule}" if rule else "Required value"
    cause = (f"spec.devices.requests[0]{field}", "Required", told)
    assert world.create(CLAIM, body(CLAIM, "a", spec=asking(request_))) == invalid(CLAIM, "a", cause)


def test_what_a_claim_asks_for_is_fixed(world: World) -> None:
    world.create(CLAIM, body(CLAIM, "a", spec=asking(ONE)))
    outcome = world.merge(CLAIM, "a", {"spec": asking({**ONE, "name": "other"})})
    assert outcome == invalid(CLAIM, "a", ("spec", "Invalid", "Invalid value: null: field is immutable"))
    assert not world.merge(CLAIM, "a", {"metadata": {"labels": {"a": "b"}}}).refused


def test_only_classes_count_their_generations(world: World) -> None:
    name = world.name("gpu")
    made = world.create(CLASS, body(CLASS, name, spec={}))
    changed = world.merge(CLASS, name, {"spec": {"selectors": [{"cel": {"expression": "true"}}]}})
    assert (made.metadata["generation"], changed.metadata["generation"]) == (1, 2)
    assert "generation" not in world.create(CLAIM, body(CLAIM, "a", spec=asking(ONE))).metadata
    assert world.delete(CLASS, name).object["kind"] == "DeviceClass"
