"""What the tests of the cache share: small ConfigMaps, and an engine whose every answer is written down beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.state import Phase, SourceState
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.engine.port import AnyKind, ListOptions, Page, Resource, WatchEvent, WatchOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

MakeConfigMap = Callable[..., ConfigMap]


def make(
    name: str = "a",
    version: int | str = 1,
    *,
    namespace: str = "ns",
    uid: str = "",
    labels: Mapping[str, str] | None = None,
    owner: str = "",
    data: Mapping[str, str] | None = None,
) -> ConfigMap:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "resourceVersion": str(version)}
    metadata["uid"] = uid or f"uid-{namespace}-{name}"
    if labels:
        metadata["labels"] = dict(labels)
    if owner:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": f"uid-{owner}", "controller": True}
        metadata["ownerReferences"] = [reference]
    return CONFIG_MAP.object({"metadata": metadata, "data": dict(data or {})})


class ScriptedEngine:
    """Every list and every opening of a watch takes the next answer that the test laid down, and waits if there is none.

    An answer to a list is a `Page` or an exception; an answer to the opening of a watch is a `Stream` or an exception.
    """

    name = "scripted"

    def __init__(self) -> None:
        self.pages: asyncio.Queue[Page | Exception] = asyncio.Queue()
        self.streams: asyncio.Queue[Stream | Exception] = asyncio.Queue()
        self.listed: list[ListOptions] = []
        self.watched: list[WatchOptions] = []
        self.served: Exception | tuple[str, ...] = ("configmaps",)
        self.open = 0

    def page(self, *objects: ConfigMap | bytes, version: int = 1, token: str = "") -> None:
        """Lay down an answer to a list."""
        items = [obj if isinstance(obj, bytes) else obj.raw for obj in objects]
        self.pages.put_nowait(Page(items, str(version), token))

    def refuse_list(self, *errors: Exception) -> None:
        """Lay down failures of lists."""
        for error in errors:
            self.pages.put_nowait(error)

    def stream(self) -> Stream:
        """Lay down a watch, to be filled while it is open."""
        stream = Stream()
        self.streams.put_nowait(stream)
        return stream

    def refuse_watch(self, *errors: Exception) -> None:
        """Lay down failures to open a watch."""
        for error in errors:
            self.streams.put_nowait(error)

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        self.listed.append(options)
        answer = await self.pages.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._watch(options)

    @asynccontextmanager
    async def _watch(self, options: WatchOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self.watched.append(options)
        answer = await self.streams.get()
        if isinstance(answer, Exception):
            raise answer
        self.open += 1
        try:
            yield answer.events()
        finally:
            self.open -= 1

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        if isinstance(self.served, Exception):
            raise self.served
        return tuple(
            Resource(group=group, version=version, plural=plural, kind="", namespaced=True) for plural in self.served
        )


class Stream:
    """The events of one watch. `end` is a normal end, `fail` breaks it."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[WatchEvent | Exception | None] = asyncio.Queue()

    def send(self, type_: str, obj: ConfigMap | bytes | Mapping[str, Any]) -> None:
        raw = obj if isinstance(obj, bytes) else obj.raw if isinstance(obj, ConfigMap) else msgspec.json.encode(obj)
        self._events.put_nowait(WatchEvent(type_, raw))  # type: ignore[arg-type]

    def bookmark(self, version: int) -> None:
        self.send("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})

    def end(self) -> None:
        self._events.put_nowait(None)

    def fail(self, error: Exception) -> None:
        self._events.put_nowait(error)

    async def events(self) -> AsyncIterator[WatchEvent]:
        while (event := await self._events.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event


class Scene:
    """A running cache over a scripted engine, with one informer of ConfigMaps."""

    def __init__(self, engine: Any, options: CacheOptions, *, optional: bool = False) -> None:
        self.engine = engine
        self.cache = Cache(engine, clock=LoopClock(), random=Random(3), options=options)
        self.informer: Informer[ConfigMap] = self.cache.informer(CONFIG_MAP, optional=optional)
        self.view: View = self.cache.view({CONFIG_MAP: self.informer})
        self.subscription = self.informer.subscribe()
        self.states: list[SourceState] = []
        self.informer.watch_state(self.states.append)

    def names(self) -> list[str]:
        return [obj.key.name for obj in self.view.list(CONFIG_MAP)]

    def changes(self) -> list[Change[ConfigMap]]:
        found: list[Change[ConfigMap]] = []
        while batch := self.subscription.take():
            found.extend(batch)
        return found

    @staticmethod
    async def passing(seconds: float) -> None:
        """Let time pass, and everything that it wakes run."""
        await asyncio.sleep(seconds)
        await settle()

    @property
    def phase(self) -> Phase:
        return self.informer.state.phase

    @property
    def phases(self) -> list[Phase]:
        return [state.phase for state in self.states]


@asynccontextmanager
async def running(engine: Any, *, optional: bool = False, **options: Any) -> AsyncIterator[Scene]:
    it = Scene(engine, CacheOptions(**options), optional=optional)
    task = asyncio.create_task(it.cache.run())
    try:
        await settle()
        yield it
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert engine.open == 0, "no watch is left open"
    assert it.phase is Phase.STOPPED


@pytest.fixture(scope="session")
def config_map() -> MakeConfigMap:
    """Makes a ConfigMap: `config_map(name, version, labels=..., owner=...)`."""
    return make


@pytest.fixture
def scripted() -> type[ScriptedEngine]:
    """The engine whose answers a test lays down; make it inside the loop."""
    return ScriptedEngine


@pytest.fixture
def scene() -> Callable[..., AbstractAsyncContextManager[Scene]]:
    """A running cache over a scripted engine: `async with scene(engine, **cache_options) as it`."""
    return running
