"""Mappers: from an object to the keys of the primaries that it concerns (R 1.4)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.mapper import by_label, to_controller, to_owners, to_self
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NODE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind

NO_VIEW = cast("View", None)


def owner(**changed: object) -> dict[str, object]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True, **changed}


def keys(owners: list[dict[str, object]], kind: Kind[Any]) -> list[Key]:
    child = CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns", "ownerReferences": owners}})
    return list(to_controller(kind)(child, NO_VIEW))


@pytest.mark.parametrize(
    ("owners", "kind", "found"),
    [
        pytest.param([owner()], DEPLOYMENT, [Key("ns", "web")], id="the-controller"),
        pytest.param([owner(apiVersion="apps/v1beta2")], DEPLOYMENT, [Key("ns", "web")], id="of-any-version"),
        pytest.param([owner(apiVersion="other.io/v1")], DEPLOYMENT, [], id="not-of-another-group"),
        pytest.param([owner(kind="StatefulSet")], DEPLOYMENT, [], id="not-of-another-kind"),
        pytest.param([owner(controller=None)], DEPLOYMENT, [], id="not-an-owner-that-does-not-control"),
        pytest.param(
            [owner(controller=False), owner(name="two")], DEPLOYMENT, [Key("ns", "two")], id="the-one-that-controls"
        ),
        pytest.param(
            [owner(apiVersion="v1", kind="Node", name="n1")],
            NODE,
            [Key("", "n1")],
            id="a-cluster-owner-has-no-namespace",
        ),
        pytest.param([], DEPLOYMENT, [], id="nobody"),
    ],
)
def test_an_owner(owners: list[dict[str, object]], kind: Kind[Any], found: list[Key]) -> None:
    assert keys(owners, kind) == found


def test_every_owner_of_a_kind_whether_it_controls_or_not() -> None:
    owners = [
        owner(controller=None),
        owner(name="two", apiVersion="apps/v1beta2"),
        owner(name="three", kind="StatefulSet"),
        owner(name="n1", apiVersion="v1", kind="Node"),
    ]
    child = CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns", "ownerReferences": owners}})
    assert list(to_owners(DEPLOYMENT)(child, NO_VIEW)) == [Key("ns", "web"), Key("ns", "two")]
    assert list(to_owners(NODE)(child, NO_VIEW)) == [Key("", "n1")], "a cluster owner has no namespace"
    assert list(to_owners(CONFIG_MAP)(child, NO_VIEW)) == []


def test_an_object_itself_and_a_label() -> None:
    labelled = CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns", "labels": {"for": "web"}}})
    bare = CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns"}})
    assert list(to_self(labelled, NO_VIEW)) == [Key("ns", "c")]
    assert list(by_label("for")(labelled, NO_VIEW)) == [Key("ns", "web")]
    assert list(by_label("for")(bare, NO_VIEW)) == []
