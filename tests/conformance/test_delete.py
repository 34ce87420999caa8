"""Deletion: finalizers, the deletion timestamp, grace."""

from __future__ import annotations

import time
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SECRET, SERVICE_ACCOUNT
from dynamo_ctrl.objects.kind import Kind
from tests.conformance.kinds import GADGET, WIDGET, body, stored, widget
from tests.conformance.outcome import Outcome, invalid, not_found
from tests.conformance.world import World

DELETING = {"deletionTimestamp": "TIME", "deletionGracePeriodSeconds": 0}


def made(world: World, *finalizers: str, kind: Kind[Any] = WIDGET, **content: Any) -> Outcome:
    metadata = {"finalizers": list(finalizers)} if finalizers else {}
    created = world.create(kind, body(kind, "a", metadata=metadata, spec={}, **content))
    assert not created.refused, created
    return created


@pytest.mark.parametrize("kind", [CONFIG_MAP, WIDGET, SECRET], ids=str)
def test_a_delete_answers_with_a_status(world: World, kind: Kind[Any]) -> None:
    world.create(kind, body(kind, "a"))
    details = {"name": "a", **({"group": kind.group} if kind.group else {}), "kind": kind.plural, "uid": "UID"}
    assert world.delete(kind, "a").object == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    }  # fmt: skip
    assert world.gone(kind, "a")


def test_some_kinds_answer_with_the_object(world: World) -> None:
    world.create(SERVICE_ACCOUNT, body(SERVICE_ACCOUNT, "a"))
    assert world.delete(SERVICE_ACCOUNT, "a").object == stored(SERVICE_ACCOUNT, "a")


def test_an_absent_object_is_not_found(world: World) -> None:
    assert world.delete(CONFIG_MAP, "x") == not_found(CONFIG_MAP, "x")
    assert world.delete(WIDGET, "x") == not_found(WIDGET, "x")


def test_a_finalizer_holds_the_object(world: World) -> None:
    made(world, "x.y/z")
    expected = widget("a", generation=2, metadata={"finalizers": ["x.y/z"], **DELETING})
    assert world.delete(WIDGET, "a").object == expected
    assert world.get(WIDGET, "a").object == expected


def test_a_config_map_is_held_without_a_generation(world: World) -> None:
    world.create(CONFIG_MAP, body(CONFIG_MAP, "a", metadata={"finalizers": ["x.y/z"]}))
    assert world.delete(CONFIG_MAP, "a").object == stored(
        CONFIG_MAP, "a", metadata={"finalizers": ["x.y/z"], **DELETING}
    )


def test_a_second_delete_changes_nothing(world: World) -> None:
    made(world, "x.y/z")
    first = world.delete(WIDGET, "a")
    time.sleep(1.1)
    assert world.delete(WIDGET, "a").raw == first.raw


def test_the_last_finalizer_lets_the_object_go(world: World) -> None:
    made(world, "x.y/one", "x.y/two")
    world.delete(WIDGET, "a")
    left = world.merge(WIDGET, "a", {"metadata": {"finalizers": ["x.y/two"]}})
    assert left.object == widget("a", generation=2, metadata={"finalizers": ["x.y/two"], **DELETING})
    last = world.merge(WIDGET, "a", {"metadata": {"finalizers": None}})
    assert last.object == widget("a", generation=2, metadata=DELETING)
    assert last.version == left.version
    assert world.gone(WIDGET, "a")


def test_an_update_may_take_the_last_finalizer_away_too(world: World) -> None:
    made(world, "x.y/z")
    before = world.delete(WIDGET, "a").raw
    metadata = {**before["metadata"], "finalizers": []}
    assert not world.update(WIDGET, "a", {**before, "metadata": metadata}).refused
    assert world.gone(WIDGET, "a")


def test_a_finalizer_taken_from_a_living_object_deletes_nothing(world: World) -> None:
    made(world, "x.y/z")
    assert world.merge(WIDGET, "a", {"metadata": {"finalizers": None}}).object == widget("a")
    assert not world.gone(WIDGET, "a")


@pytest.mark.parametrize("kind", [CONFIG_MAP, GADGET], ids=str)
def test_no_finalizer_joins_an_object_that_is_going(world: World, kind: Kind[Any]) -> None:
    world.create(kind, body(kind, "a", metadata={"finalizers": ["x.y/z"]}))
    world.delete(kind, "a")
    found = world.merge(kind, "a", {"metadata": {"finalizers": ["x.y/z", "q.r/s"]}})
    rule = (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
        '[]string{"q.r/s"}'
    )
    assert found == invalid(kind, "a", ("metadata.finalizers", "Forbidden", rule))


def test_an_object_that_is_going_can_still_change(world: World) -> None:
    made(world, "x.y/z")
    world.delete(WIDGET, "a")
    found = world.merge(WIDGET, "a", {"spec": {"size": 9}})
    assert found.object == widget("a", generation=3, metadata={"finalizers": ["x.y/z"], **DELETING}, spec={"size": 9})


def test_its_status_can_change_too(world: World) -> None:
    made(world, "x.y/z")
    world.delete(WIDGET, "a")
    found = world.merge(WIDGET, "a", {"status": {"note": "bye"}}, subresource="status")
    assert found.object["status"] == {"note": "bye"}
    assert found.object["metadata"]["generation"] == 2


def test_a_deletion_is_not_taken_back(world: World) -> None:
    made(world, "x.y/z")
    before = world.delete(WIDGET, "a")
    found = world.merge(WIDGET, "a", {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}})
    assert found.raw == before.raw


def test_a_name_is_free_again(world: World) -> None:
    first = made(world)
    world.delete(WIDGET, "a")
    second = made(world)
    assert first.uid != second.uid
    assert second.object["metadata"]["generation"] == 1


def pod(world: World, name: str = "a", **spec: Any) -> None:
    content = {"serviceAccountName": "default", "containers": [{"name": "c", "image": "i"}], **spec}
    sent = {"metadata": {"name": name}, "spec": content}
    world.accepted(lambda: world.create(POD, sent))


NOWHERE: dict[str, Any] = {"nodeSelector": {"no": "where"}}
"""Keeps a Pod unscheduled where there is a scheduler."""


def test_a_pod_without_a_node_goes_at_once(world: World) -> None:
    pod(world, **NOWHERE)
    assert world.delete(POD, "a").object["metadata"]["name"] == "a"
    assert world.gone(POD, "a")


def test_a_pod_on_a_node_keeps_its_grace(world: World) -> None:
    pod(world, nodeName="nowhere", terminationGracePeriodSeconds=25)
    metadata = world.delete(POD, "a").object["metadata"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == ("TIME", 25)
    assert not world.gone(POD, "a")
    assert not world.delete(POD, "a", grace=0).refused
    assert world.gone(POD, "a")


def test_a_pod_has_thirty_seconds_by_default(world: World) -> None:
    pod(world, nodeName="nowhere")
    assert world.delete(POD, "a").object["metadata"]["deletionGracePeriodSeconds"] == 30
    world.delete(POD, "a", grace=0)


def test_grace_can_be_shortened_but_not_lengthened(world: World) -> None:
    pod(world, nodeName="nowhere")
    first = world.delete(POD, "a", grace=20).metadata
    assert world.delete(POD, "a", grace=60).metadata == first
    shorter = world.delete(POD, "a", grace=5).metadata
    assert shorter["deletionGracePeriodSeconds"] == 5
    assert shorter["deletionTimestamp"] < first["deletionTimestamp"]
    world.delete(POD, "a", grace=0)


def test_grace_of_none_deletes_at_once(world: World) -> None:
    pod(world, nodeName="nowhere")
    world.delete(POD, "a", grace=0)
    assert world.gone(POD, "a")


def test_a_pod_that_has_ended_goes_at_once(world: World) -> None:
    pod(world, nodeName="nowhere")
    world.merge(POD, "a", {"status": {"phase": "Succeeded"}}, subresource="status")
    world.delete(POD, "a")
    assert world.gone(POD, "a")


def test_a_finalizer_holds_a_pod_after_its_grace(world: World) -> None:
    pod(world, nodeName="nowhere")
    world.merge(POD, "a", {"metadata": {"finalizers": ["x.y/z"]}})
    assert world.delete(POD, "a", grace=0).object["metadata"]["deletionGracePeriodSeconds"] == 0
    assert not world.gone(POD, "a")
    world.merge(POD, "a", {"metadata": {"finalizers": None}})
    assert world.gone(POD, "a")
