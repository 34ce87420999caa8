"""`Sync` of a child that several primaries share: each is one of its owners, and none controls it."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.errors import Conflict
from dynamo_ctrl.objects.builtin.core import SERVICE, Service
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Sync, SyncPolicy
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, widget

POLICY = SyncPolicy(prefix="example.com/")


def service(**metadata: Any) -> Service:
    ports = [{"name": "p", "port": 80, "protocol": "TCP"}]
    return SERVICE.object({"metadata": {"name": "s", "namespace": "ns", **metadata}, "spec": {"ports": ports}})


@pytest.fixture
def both() -> FakeCache:
    """A cluster with the widgets ns/v and ns/w."""
    return FakeCache([widget("v"), widget("w")])


def share(cache: FakeCache, name: str) -> Report:
    step = Step(name="share", effects=(Sync(child=service(), policy=POLICY, shared_owner=True),))
    return cache.apply(Result(steps=(step,)), cache.request(WIDGET, f"ns/{name}").object)


def owners(cache: FakeCache) -> list[tuple[str, bool | None, bool | None]]:
    found = cache.get(SERVICE, "ns/s")
    assert found is not None
    return [(each.name, each.controller, each.block_owner_deletion) for each in found.metadata.owner_references]


def test_everybody_who_shares_a_child_is_a_plain_owner(both: FakeCache) -> None:
    for name in ("v", "w"):
        assert share(both, name).failure is None
    assert owners(both) == [("v", None, None), ("w", None, None)]
    before = len(both.writes)
    for name in ("v", "w"):
        share(both, name)
    assert len(both.writes) == before


def test_it_goes_with_the_last_of_its_owners(both: FakeCache) -> None:
    for name in ("v", "w"):
        share(both, name)
    both.delete(WIDGET, "ns/v")
    assert owners(both) == [("w", None, None)]
    both.delete(WIDGET, "ns/w")
    assert both.get(SERVICE, "ns/s") is None


def test_a_controller_of_it_stays_one_and_is_one_of_its_owners(both: FakeCache) -> None:
    step = Step(name="own", effects=(Sync(child=service(), policy=POLICY),))
    both.apply(Result(steps=(step,)), both.request(WIDGET, "ns/v").object)
    share(both, "v")
    assert owners(both) == [("v", True, True)]
    share(both, "w")
    assert owners(both) == [("v", True, True), ("w", None, None)]


def test_an_owner_that_comes_in_between_is_not_lost(both: FakeCache) -> None:
    """The list is replaced as a whole, so the write is bound to the version that was read, not to the generation alone."""

    def join(name: str) -> Report:
        step = Step(name="share", effects=(Sync(child=widget("s", size=3), policy=POLICY, shared_owner=True),))
        return both.apply(Result(steps=(step,)), both.request(WIDGET, f"ns/{name}").object)

    def names() -> list[str]:
        return [each.name for each in both.request(WIDGET, "ns/s").object.metadata.owner_references]

    def another() -> None:
        uid = both.request(WIDGET, "ns/v").object.metadata.uid
        reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "v", "uid": uid}
        add = [{"op": "add", "path": "/metadata/ownerReferences/-", "value": reference}]
        both.edit(WIDGET, "ns/s", Patch.json(add))

    both.add(widget("u"))
    join("u")
    both.faults.interleave(another, "patch", WIDGET)
    with pytest.raises(Conflict):
        join("w")
    assert names() == ["u", "v"]
    join("w")
    assert names() == ["u", "v", "w"]


def test_a_child_in_another_namespace_has_no_owner_here(both: FakeCache) -> None:
    elsewhere = SERVICE.object({**service().content(), "metadata": {"name": "s", "namespace": "other"}})
    step = Step(name="share", effects=(Sync(child=elsewhere, policy=POLICY, shared_owner=True),))
    report = both.apply(Result(steps=(step,)), both.request(WIDGET, "ns/w").object)
    assert report.failure is not None
    assert isinstance(report.failure.error, InvalidObject)
    assert report.failure.error.path == "metadata.namespace"
