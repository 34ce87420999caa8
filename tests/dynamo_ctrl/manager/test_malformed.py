"""A server that tells nonsense: what cannot be read is logged once with its key, skipped and counted; the rest works on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import ListOptions, Page, WatchEvent, WatchOptions
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.metrics import respond
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Create
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import LoopClock, settle

Spoil = Callable[[bytes], bytes]


class Copier:
    """Gives every config map a secret of its name."""

    name = "copier"
    watches = watching(CONFIG_MAP).owning(SECRET)

    def reconcile(self, request: Request[Any]) -> Result[None]:
        metadata = request.object.metadata
        if request.view.get(SECRET, request.object.key) is not None:
            return Result()
        secret = SECRET.object({"metadata": {"name": metadata.name, "namespace": metadata.namespace}})
        return Result(steps=(Step(name="secret", effects=(Create(object=secret),)),))


class Nonsense(MemoryEngine):
    """Spoils what it tells about the config map `bad`, in lists and in watches."""

    def __init__(self, core: Core, spoil: Spoil) -> None:
        super().__init__(core)
        self._spoil = spoil
        self.spoiling = True

    def _told(self, raw: bytes) -> bytes:
        return self._spoil(raw) if self.spoiling and b'"name":"bad"' in raw.replace(b" ", b"") else raw

    async def list(self, kind: Any, options: ListOptions) -> Page:
        page = await super().list(kind, options)
        return replace(page, items=tuple(self._told(raw) for raw in page.items))

    @asynccontextmanager
    async def watch(self, kind: Any, options: WatchOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with super().watch(kind, options) as events:

            async def spoiled() -> AsyncIterator[WatchEvent]:
                async for event in events:
                    yield WatchEvent(event.type, self._told(event.object))

            yield spoiled()


def config_map(core: Core, name: str) -> None:
    metadata = {"name": name, "namespace": "default"}
    core.create(CONFIG_MAP, "default", CONFIG_MAP.object({"metadata": metadata}).raw)


def secrets(core: Core) -> list[str]:
    found = [SECRET.decode(raw).metadata.name for raw in core.list(SECRET, ListOptions(namespace="default")).items]
    return sorted(found)


def skipped(logs: list[Any]) -> list[tuple[str, str, str]]:
    lines = [line for line in logs if line["event"] == "unreadable object is skipped"]
    return [(line["log_level"], line["kind"], line["key"]) for line in lines]


def other_kind(raw: bytes) -> bytes:
    return json.dumps({**json.loads(raw), "kind": "Pod"}).encode()


def wrong_labels(raw: bytes) -> bytes:
    tree = json.loads(raw)
    return json.dumps({**tree, "metadata": {**tree["metadata"], "labels": ["x"]}}).encode()


@pytest.mark.parametrize(
    ("spoil", "key"),
    [
        pytest.param(lambda raw: raw[:-20], "an object without a readable key", id="torn"),
        pytest.param(lambda raw: b"\xff" + raw, "an object without a readable key", id="not-utf-8"),
        pytest.param(lambda raw: b"[1, 2]", "an object without a readable key", id="a-list"),
        pytest.param(other_kind, "default/bad", id="another-kind"),
        pytest.param(wrong_labels, "default/bad", id="wrong-type-of-a-field"),
    ],
)
@pytest.mark.parametrize("when", ["before-the-start", "while-it-runs"])
async def test_one_bad_object_is_skipped_and_all_others_are_worked_on(
    spoil: Spoil, key: str, when: str, logs: list[Any]
) -> None:
    core = Core(clock=LoopClock())
    engine = Nonsense(core, spoil)
    config_map(core, "before")
    if when == "before-the-start":
        config_map(core, "bad")
    options = ManagerOptions(garbage=False)
    async with Manager(engine, programs=[Copier()], options=options, clock=LoopClock()) as manager:
        running = asyncio.create_task(manager.run())
        await manager.synced()
        if when == "while-it-runs":
            config_map(core, "bad")
        for turn in range(3):
            core.patch(CONFIG_MAP, Key("default", "bad"), Patch.merge({"data": {"turn": str(turn)}}))
            await settle()
        config_map(core, "after")
        await settle()

        own = [name for name in secrets(core) if name in ("before", "bad", "after")]
        assert own == ["after", "before"]
        assert skipped(logs) == [("warning", "configmaps", key)], "told once, however often it comes"
        shown = respond(manager.registry).body
        counted = [line for line in shown.splitlines() if "malformed" in line and "configmaps" in line]
        assert [line.split()[-1] for line in counted] == ["4.0"], "counted each time"
        assert manager.reasons == {}, "the source is whole and live"

        engine.spoiling = False
        core.patch(CONFIG_MAP, Key("default", "bad"), Patch.merge({"data": {"turn": "readable"}}))
        await settle()
        assert "bad" in secrets(core), "it is picked up as soon as it can be read"
        manager.stop()
        await running
