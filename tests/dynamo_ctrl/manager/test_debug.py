"""The pages below /debug/: who gets them, and what they tell."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.manager.debug import is_loopback
from dynamo_ctrl.manager.explaining import matches
from dynamo_ctrl.manager.health import Response
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, SECRET
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Create, Refuse, Retry, Sync
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_ctrl.testing import LoopClock
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus, widget
from tests.dynamo_ctrl.plan.widgets import POLICY, WidgetProgram, child, deploying, deployment

W = Key("ns", "w")


class World:
    """A manager with one program on a memory engine, and its pages."""

    def __init__(self, program: Any, *, serve: Sequence[Kind[Any]] = (WIDGET,)) -> None:
        self.core = Core(clock=LoopClock())
        for kind in serve:
            self.core.register(kind)
        self.core.create(NAMESPACE, "", NAMESPACE.object({"metadata": {"name": "ns"}}).raw)
        self.manager = Manager(
            MemoryEngine(self.core),
            programs=[program],
            options=ManagerOptions(garbage=False, debug=True),
            clock=LoopClock(),
        )

    def create(self, obj: Any) -> None:
        self.core.create(obj.kind, obj.metadata.namespace, obj.raw)

    @asynccontextmanager
    async def running(self, seconds: float = 5.0) -> AsyncIterator[World]:
        async with self.manager as manager:
            task = asyncio.create_task(manager.run())
            await asyncio.sleep(seconds)
            yield self
            manager.stop()
            await asyncio.wait([task])

    def page(self, path: str, **query: str) -> Response:
        return self.manager._debug.respond(path, {name: [value] for name, value in query.items()})

    def json(self, path: str, **query: str) -> Any:
        answer = self.page(path, **query)
        assert answer.status == 200, answer.body
        assert answer.content_type.startswith("application/json")
        return json.loads(answer.body)

    def explain(self, key: str = "ns/w", kind: str = "Widget") -> Any:
        return self.json("/explain", kind=kind, key=key)

    def controller(self, key: str = "ns/w") -> Any:
        (controller,) = self.explain(key)["controllers"]
        return controller


# --- who gets them


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        (None, False),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("LocalHost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.com", False),
        ("localhost.example.com", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str | None, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("address", "debug", "status"),
    [
        ("127.0.0.1:0", False, 200),
        ("[::1]:0", False, 200),
        (":8081", False, 403),
        ("0.0.0.0:8081", False, 403),
        (":8081", True, 200),
        ("", False, 403),
    ],
)
def test_pages_are_for_loopback_unless_an_option_says_otherwise(address: str, debug: bool, status: int) -> None:
    options = ManagerOptions(garbage=False, health_address=address, debug=debug)
    manager = Manager(MemoryEngine(Core()), options=options)
    answer = manager._debug.respond("/queues", {})
    assert answer.status == status
    assert (status == 403) == ("loopback" in answer.body)


@pytest.mark.real_loop
async def test_the_health_server_serves_them(address: str) -> None:
    options = ManagerOptions(garbage=False, health_address=address)
    async with Manager(MemoryEngine(Core()), options=options) as manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        url = f"http://{address}/debug/queues"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            found = await answer.text()
        manager.stop()
        await task
    assert found == "[]\n"


# --- explain


async def test_why_it_ran_what_it_did_and_what_is_next() -> None:
    world = World(deploying())
    world.create(widget(size=2))
    async with world.running():
        world.core.patch(WIDGET, W, Patch.merge({"spec": {"size": 5}}))
        await asyncio.sleep(5)
        found = world.explain()
    assert (found["kind"], found["key"], found["unreadable"]) == ("Widget", "ns/w", "")
    assert found["object"]["generation"] == 2
    (controller,) = found["controllers"]
    assert controller["name"] == "widget"
    assert controller["not_ready"] == {}
    assert controller["sources"]["deployments.apps"] == {"state": "live", "reason": ""}
    run = controller["last_run"]
    assert run["outcome"] == "success"
    assert run["id"].startswith("widget-")
    assert 0 < run["ago"] <= 5
    (cause,) = run["causes"]
    assert (cause["source"], cause["event"], cause["object"]) == ("deployments.apps", "updated", "ns/w")
    assert "spec.replicas" in cause["paths"]
    (effect,) = controller["last_attempt"]["effects"]
    assert (effect["did"], effect["effect"], effect["object"]) == ("unchanged", "Sync", "Deployment ns/w")
    first, second = controller["notable_attempts"]
    assert first["effects"][0]["did"] == "created"
    assert {"path": "status.state", "old": None, "new": '"deployed"'} in first["status"]
    assert {"path": "spec.replicas", "old": "2", "new": "5"} in second["effects"][0]["differences"]
    assert controller["next_run"] == {"state": "absent", "failures": 0, "back_off": None}


async def test_a_key_that_fails_tells_its_back_off() -> None:
    world = World(WidgetProgram(lambda request: [Refuse(message="no room")], step={"reason": "Full"}))
    world.create(widget())
    async with world.running(100):
        controller = world.controller()
    run, coming = controller["last_run"], controller["next_run"]
    assert (run["outcome"], run["error"]) == ("error", "Refusal: no room")
    assert coming["state"] == "waiting"
    assert coming["failures"] >= 10
    assert 0 < coming["in"] == coming["back_off"] < 100
    assert coming["causes"][0]["text"] == "retry failed"
    (effect,) = controller["last_attempt"]["effects"]
    assert (effect["did"], effect["reason"], effect["message"], effect["fatal"]) == ("failed", "Full", "no room", True)
    assert controller["last_attempt"]["error"] == "Refusal: no room"


async def test_a_terminal_failure_waits_for_a_change() -> None:
    world = World(WidgetProgram(lambda request: [Refuse(message="no", retry=Retry.NEVER)]))
    world.create(widget())
    async with world.running():
        controller = world.controller()
    assert controller["last_attempt"]["terminal"] is True
    assert controller["next_run"]["state"] == "absent"


async def test_a_key_that_waits_for_its_time_tells_when() -> None:
    world = World(WidgetProgram(lambda request: [], after=lambda request: timedelta(seconds=60)))
    world.create(widget())
    async with world.running(10):
        controller = world.controller()
    assert controller["next_run"]["state"] == "waiting"
    assert 45 < controller["next_run"]["in"] < 60
    assert controller["last_attempt"]["requeue_after"] == 60


class Slow:
    """Awaits a port that answers after a while."""

    name = "slow"
    watches = watching(WIDGET)

    def reconcile(self, request: Request[Widget]) -> Awaitable[Result[WidgetStatus]]:
        return self._reconcile()

    async def _reconcile(self) -> Result[WidgetStatus]:
        await asyncio.sleep(60)
        return Result()


async def test_a_key_that_runs_tells_since_when_and_what_comes_then() -> None:
    world = World(Slow())
    world.create(widget())
    async with world.running(10):
        before = world.controller()["next_run"]
        world.core.patch(WIDGET, W, Patch.merge({"spec": {"size": 5}}))
        await asyncio.sleep(1)
        after = world.controller()["next_run"]
        (queue,) = world.json("/queues")
    assert before["state"] == after["state"] == "running"
    assert 9 < before["running_for"] < 11
    assert before["then"] is None
    assert after["then"][0]["source"] == "widgets.example.com"
    (running,) = queue["running"]
    assert running["key"] == "ns/w"


async def test_an_object_that_is_not_there_has_no_run() -> None:
    world = World(deploying())
    async with world.running():
        found = world.explain("ns/nobody")
    assert found["object"] is None
    (controller,) = found["controllers"]
    assert controller["last_run"] is controller["last_attempt"] is None
    assert controller["notable_attempts"] == []


async def test_a_kind_that_cannot_be_read_says_why() -> None:
    world = World(deploying(), serve=())
    async with world.running():
        found = world.explain()
    assert "does not serve example.com/v1 widgets" in found["unreadable"]
    assert "does not serve" in found["controllers"][0]["not_ready"]["widgets.example.com"]


def slim(content: JsonMap) -> dict[str, Any]:
    return {name: content[name] for name in ("apiVersion", "kind", "metadata")}


async def test_what_it_owns_is_told_with_its_readiness() -> None:
    def effects(request: Request[Widget]) -> list[Any]:
        return [
            Sync(child=deployment(request.object), policy=POLICY),
            Create(object=child(SECRET, "s", data={"a": base64.b64encode(b"t0p-s3cret").decode()})),
            Create(object=child(CONFIG_MAP, "c")),
        ]

    watches = watching(WIDGET).owning(DEPLOYMENT).owning(SECRET, project=slim).owning(CONFIG_MAP)
    world = World(WidgetProgram(effects, watches=watches))
    world.create(widget(size=2))
    async with world.running():
        children = {each["kind"]: each for each in world.explain()["children"]}
        pages = [world.page(path, kind="Widget", key="ns/w").body for path in ("explain", "informers", "queues")]
    assert (children["Deployment"]["ready"], children["Deployment"]["key"]) == (False, "ns/w")
    assert "0/2 ready" in children["Deployment"]["text"]
    assert (children["ConfigMap"]["ready"], children["ConfigMap"]["text"]) == (True, "there")
    assert (children["Secret"]["ready"], children["Secret"]["text"]) == (None, "only a part of it is cached")
    for page in pages:
        assert "t0p-s3cret" not in page
        assert base64.b64encode(b"t0p-s3cret").decode() not in page


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Widget", True),
        ("widget", True),
        ("widgets", True),
        ("widgets.example.com", True),
        ("widg", False),
        ("", False),
    ],
)
def test_a_kind_is_called_by_any_of_its_names(text: str, found: bool) -> None:
    assert matches(WIDGET, text) is found
    assert matches(DEPLOYMENT, "deploy") is ("deploy" in DEPLOYMENT.short)


@pytest.mark.parametrize(
    ("path", "query", "status", "words"),
    [
        ("/nothing", {}, 404, "/debug/explain, /debug/informers, /debug/queues"),
        ("", {}, 404, "/debug/explain"),
        ("/explain", {}, 400, "expected /debug/explain?kind=KIND&key=NAMESPACE/NAME"),
        ("/explain", {"kind": "Widget"}, 400, "expected"),
        ("/explain", {"kind": "Widget", "key": "a/b/c"}, 400, "not an object key: 'a/b/c'"),
        (
            "/explain",
            {"kind": "Frob", "key": "a"},
            404,
            "no program's primary kind is called 'Frob'; there are: Widget",
        ),
    ],
)
async def test_a_question_that_makes_no_sense(path: str, query: dict[str, str], status: int, words: str) -> None:
    world = World(deploying())
    async with world.running(1):
        answer = world.page(path, **query)
    assert answer.status == status
    assert words in answer.body


# --- the other pages


async def test_informers_and_queues() -> None:
    world = World(deploying())
    world.create(widget())
    async with world.running():
        informers = {each["kind"]: each for each in world.json("/informers")}
        (queue,) = world.json("/queues")
    widgets = informers["widgets.example.com"]
    assert (widgets["state"], widgets["objects"], widgets["users"], widgets["failures"]) == ("live", 1, 1, 0)
    assert widgets["bytes"] > 100
    assert queue["controller"] == "widget"
    assert (queue["kind"], queue["ready"], queue["waiting"], queue["running"]) == ("Widget", 0, 0, [])
    assert queue["reconciles"]["success"] >= 2
    assert queue["not_ready"] == {}
