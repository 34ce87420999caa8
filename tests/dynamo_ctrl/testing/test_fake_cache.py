"""The fake cluster: a program meets a server's behaviour without a server."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Unanswered
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, Deployment
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.program.effect import Create, Event, Sync, SyncPolicy
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FakeCache, NotConverged, Suspended
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus, widget

POLICY = SyncPolicy(prefix="example.com/")


def deployment(owner: Widget) -> Deployment:
    return DEPLOYMENT.object(
        {
            "metadata": {"name": owner.metadata.name, "namespace": owner.metadata.namespace},
            "spec": {
                "replicas": owner.spec.size,
                "selector": {"matchLabels": {"widget": owner.metadata.name}},
                "template": {
                    "metadata": {"labels": {"widget": owner.metadata.name}},
                    "spec": {"containers": [{"name": "main", "image": owner.spec.image}]},
                },
            },
        }
    )


class WidgetProgram:
    name = "widget"
    watches = watching(WIDGET).owning(DEPLOYMENT)

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        event = Event(type="Normal", reason="Scaled", note=f"to {request.object.spec.size}")
        child = Sync(child=deployment(request.object), policy=POLICY, event=event)

        def status(report: object) -> WidgetStatus:
            return WidgetStatus(state="ok", observed_generation=request.object.metadata.generation)

        return Result(steps=(Step(name="deployment", effects=(child,)),), status=status)


def test_a_program_converges_and_follows_its_object() -> None:
    cache = FakeCache([widget(size=3)])
    assert cache.converge(WidgetProgram(), "ns/w") == 2
    found = cache.get(DEPLOYMENT, "ns/w")
    assert found is not None
    assert found.spec.replicas == 3
    program = WidgetProgram()
    cache.edit(WIDGET, "ns/w", {"spec": {"size": 5}})
    cache.converge(program, "ns/w")
    found = cache.get(DEPLOYMENT, "ns/w")
    assert found is not None
    assert found.spec.replicas == 5
    assert [event.note for _, event in cache.events] == ["to 3", "to 5"]


def test_a_converged_world_is_written_no_more() -> None:
    cache = FakeCache([widget()])
    cache.converge(WidgetProgram(), "ns/w")
    before = len(cache.writes)
    for _ in range(10):
        cache.reconcile(WidgetProgram(), "ns/w")
    assert len(cache.writes) == before == 2


def test_objects_get_what_a_server_gives_them() -> None:
    cache = FakeCache()
    added = cache.add(WIDGET.object({**widget().content(), "status": {"state": "old"}}))
    assert added.metadata.uid
    assert added.metadata.generation == 1
    assert added.metadata.creation_timestamp == cache.now
    assert added.status.state == "old"
    assert cache.edit(WIDGET, "ns/w", {"spec": {"size": 2}}).metadata.generation == 2


def test_it_is_a_view() -> None:
    cache = FakeCache([widget("b"), widget("a", size=2), widget("c", namespace="other")])
    owner = cache.request(WIDGET, "ns/a").object
    cache.apply(Result(steps=(Step(name="s", effects=(Create(object=deployment(owner)),)),)), owner)
    by_size = Index("size", WIDGET, lambda w: (str(w.spec.size),))
    assert [w.metadata.name for w in cache.list(WIDGET, namespace="ns")] == ["a", "b"]
    assert [w.metadata.name for w in cache.by_index(by_size, "1")] == ["b", "c"]
    assert [d.metadata.name for d in cache.owned(DEPLOYMENT, owner)] == ["a"]
    assert cache.list(WIDGET, selector={"no": "label"}) == []
    assert cache.get(WIDGET, "ns/none") is None


def test_an_absent_kind_reads_as_empty_and_is_not_served() -> None:
    cache = FakeCache([widget()], absent=(DEPLOYMENT,))
    assert not cache.serves(DEPLOYMENT)
    assert cache.serves(CONFIG_MAP)
    assert cache.get(DEPLOYMENT, "ns/w") is None
    assert cache.list(DEPLOYMENT) == ()


def test_a_request_for_nothing_is_an_error() -> None:
    with pytest.raises(LookupError, match="Widget ns/w"):
        FakeCache().request(WIDGET, "ns/w")


def test_a_request_cannot_be_changed() -> None:
    """T-CON-08: the double is not needed, since the object itself refuses."""
    request = FakeCache([widget()]).request(WIDGET, "ns/w")
    with pytest.raises(AttributeError):
        request.object.metadata.name = "other"  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError, ValueError)):
        request.object.status.state = "mine"
    with pytest.raises(TypeError):
        request.object.metadata.labels["a"] = "b"  # type: ignore[index]


class Restless:
    """Writes another value each time."""

    name = "restless"
    watches = watching(WIDGET)

    def __init__(self) -> None:
        self.count = 0

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        self.count += 1
        return Result(status=WidgetStatus(ready=self.count))


def test_a_program_that_does_not_converge_is_reported_with_its_last_writes() -> None:
    with pytest.raises(NotConverged, match=r"pass 5 still wrote:\n  patch Widget ns/w/status status\.ready"):
        FakeCache([widget()]).converge(Restless(), "ns/w", rounds=5)


class Waiting:
    """Is ready a minute after it was created."""

    name = "waiting"
    watches = watching(WIDGET)

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        created = request.object.metadata.creation_timestamp
        assert created is not None
        left = timedelta(minutes=1) - (request.now - created)
        if left > timedelta(0):
            return Result(status=WidgetStatus(state="waiting"), requeue_after=left)
        return Result(status=WidgetStatus(state="ready"))


def test_waiting_moves_the_clock() -> None:
    cache = FakeCache([widget()])
    start = cache.now
    cache.converge(Waiting(), "ns/w")
    found = cache.get(WIDGET, "ns/w")
    assert found is not None
    assert found.status.state == "ready"
    assert cache.now - start == timedelta(minutes=1)


class Hanging:
    name = "hanging"
    watches = watching(WIDGET)

    async def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        await asyncio.sleep(0)
        return Result()


def test_a_program_that_needs_a_loop_is_told_so() -> None:
    with pytest.raises(Suspended):
        FakeCache([widget()]).converge(Hanging(), "ns/w")


def test_an_error_that_stays_is_raised() -> None:
    cache = FakeCache([widget()])
    cache.faults.fail(Unanswered("no answer"), "patch", WIDGET, subresource="status", times=9)
    with pytest.raises(Unanswered, match="no answer"):
        cache.converge(WidgetProgram(), "ns/w")


def test_an_error_that_passes_is_only_another_pass() -> None:
    cache = FakeCache([widget()])
    cache.faults.fail(Unanswered("no answer"), "create", DEPLOYMENT)
    cache.faults.fail(Unanswered("no answer"), "patch", WIDGET, subresource="status")
    assert cache.converge(WidgetProgram(), "ns/w") == 3
    assert cache.faults.pending == 0
