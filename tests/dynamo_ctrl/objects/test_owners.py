"""Owner references."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.objects.owners import is_controlled_by, owner_reference, refers_to

OWNER = DEPLOYMENT.object({"metadata": {"name": "d", "namespace": "ns", "uid": "u"}})


def child(*references: Any) -> ConfigMap:
    return CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns", "ownerReferences": list(references)}})


def test_a_reference_is_written_as_the_wire_has_it() -> None:
    assert msgspec.to_builtins(owner_reference(OWNER)) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "d",
        "uid": "u",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    plain = msgspec.to_builtins(owner_reference(OWNER, controller=False, block=False))
    assert plain == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u"}


@pytest.mark.parametrize(
    ("change", "meant"),
    [
        ({}, True),
        ({"apiVersion": "apps/v2"}, True),
        ({"apiVersion": "other/v1"}, False),
        ({"apiVersion": "v1"}, False),
        ({"kind": "ReplicaSet"}, False),
        ({"name": "e"}, False),
        ({"uid": "v"}, False),
    ],
)
def test_group_kind_name_and_uid_decide_whom_a_reference_means(change: dict[str, Any], meant: bool) -> None:
    obj = child({**msgspec.to_builtins(owner_reference(OWNER)), **change})
    assert refers_to(obj.metadata.owner_references[0], OWNER) is meant
    assert is_controlled_by(obj, OWNER) is meant


def test_only_the_controller_reference_controls() -> None:
    plain, controlling = owner_reference(OWNER, controller=False), owner_reference(OWNER)
    assert not is_controlled_by(child(), OWNER)
    assert not is_controlled_by(child(plain), OWNER)
    both = child(plain, controlling)
    assert is_controlled_by(both, OWNER)
    assert both.metadata.controller == controlling


def test_the_group_of_a_core_owner_is_empty() -> None:
    owner = CONFIG_MAP.object({"metadata": {"name": "o", "uid": "u"}})
    assert owner_reference(owner).group == ""
