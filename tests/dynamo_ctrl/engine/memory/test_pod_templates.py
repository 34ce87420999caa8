"""Defaults of a Pod template pass over parts of a wrong type, as long as no rule speaks of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import NAMESPACE


@pytest.mark.parametrize(
    ("container", "volume"),
    [
        ({"image": 1}, {}),
        ({}, {"projected": ["a"]}),
        ({"resources": []}, {"hostPath": "/"}),
    ],
)
def test_parts_of_a_wrong_type_are_left_alone(container: dict[str, Any], volume: dict[str, Any]) -> None:
    core = Core(clock=SystemClock())
    core.create(NAMESPACE, "", msgspec.json.encode({"metadata": {"name": "ns"}}))
    pod = {"containers": [{"name": "main", "image": "i", **container}], "volumes": [{"name": "v", **volume}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    made = msgspec.json.decode(core.create(DEPLOYMENT, "ns", msgspec.json.encode(body)))
    found = made["spec"]["template"]["spec"]
    assert found["containers"][0] == {**found["containers"][0], **container}
    assert found["volumes"][0] == {**found["volumes"][0], **volume}
