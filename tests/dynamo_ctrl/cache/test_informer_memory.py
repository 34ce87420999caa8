"""The informer on the memory engine: whatever happens to the connection, it ends with what the server has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.delivery import Subscription
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.engine.errors import AlreadyExists, EngineError, NotFound, TooManyRequests, Unanswered
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.engine.port import AnyKind, ListOptions, Page, WatchEvent, WatchOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, ConfigMap
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

BY_VALUE = Index("value", CONFIG_MAP, lambda obj: obj.data.values())


class Gadget(Object[Mapping[str, Any], Mapping[str, Any]]):
    """A kind that no server knows by itself."""


GADGET = Kind(Gadget, group="example.com", version="v1", kind="Gadget", plural="gadgets")


class Faulty(MemoryEngine):
    """Refuses the next requests, and cuts every open stream on demand."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.refusals: list[EngineError] = []
        self.cuts: list[asyncio.Event] = []

    def cut(self) -> None:
        for cut in self.cuts:
            cut.set()

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        if self.refusals:
            raise self.refusals.pop()
        return await super().list(kind, options)

    @asynccontextmanager
    async def _watch(self, kind: AnyKind, options: WatchOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        if self.refusals:
            raise self.refusals.pop()
        cut = asyncio.Event()
        self.cuts.append(cut)
        async with super()._watch(kind, options) as events:
            try:
                yield self._until(events, cut)
            finally:
                self.cuts.remove(cut)

    async def _until(self, events: AsyncIterator[WatchEvent], cut: asyncio.Event) -> AsyncIterator[WatchEvent]:
        while not cut.is_set():
            waiting = asyncio.ensure_future(anext(events))
            cutting = asyncio.ensure_future(cut.wait())
            try:
                await asyncio.wait((waiting, cutting), return_when=asyncio.FIRST_COMPLETED)
                if waiting.done():
                    if isinstance(waiting.exception(), StopAsyncIteration):
                        return
                    yield waiting.result()
            finally:
                for future in (waiting, cutting):
                    future.cancel()
                await asyncio.gather(waiting, cutting, return_exceptions=True)


def body(name: str, value: str = "v", **labels: str) -> bytes:
    return msgspec.json.encode({"metadata": {"name": name, "labels": labels}, "data": {"k": value}})


@asynccontextmanager
async def running(cache: Cache) -> AsyncIterator[None]:
    task = asyncio.create_task(cache.run())
    try:
        await settle()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def server(*namespaces: str) -> Core:
    core = Core(clock=LoopClock(), random=Random(5))
    for name in namespaces or ("ns",):
        core.create(NAMESPACE, "", msgspec.json.encode({"metadata": {"name": name}}))
    return core


def on_server(core: Core, namespace: str = "") -> dict[Key, str]:
    items = core.list(CONFIG_MAP, ListOptions(namespace=namespace)).items
    objects = [CONFIG_MAP.decode(item) for item in items]
    return {obj.key: obj.metadata.resource_version for obj in objects}


async def test_reads_follow_writes() -> None:
    core = server()
    core.create(CONFIG_MAP, "ns", body("a", app="x"))
    cache = Cache(MemoryEngine(core), clock=LoopClock())
    informer = cache.informer(CONFIG_MAP)
    informer.add_index(BY_VALUE)
    view = cache.view({CONFIG_MAP: informer})
    async with running(cache):
        assert view.get(CONFIG_MAP, "ns/a") is not None
        core.create(CONFIG_MAP, "ns", body("b", "w", app="x"))
        core.patch(CONFIG_MAP, Key("ns", "a"), Patch.merge({"data": {"k": "w"}}))
        await settle()
        assert [obj.key.name for obj in view.by_index(BY_VALUE, "w")] == ["a", "b"]
        core.delete(CONFIG_MAP, Key("ns", "a"))
        await settle()
        assert [obj.key.name for obj in view.list(CONFIG_MAP, selector={"app": "x"})] == ["b"]


async def test_own_writes_are_read_before_the_watch_tells_them_and_forgotten_after() -> None:
    core = server()
    cache = Cache(MemoryEngine(core), clock=LoopClock())
    informer = cache.informer(CONFIG_MAP)
    view = cache.view({CONFIG_MAP: informer})
    async with running(cache):
        created = CONFIG_MAP.decode(core.create(CONFIG_MAP, "ns", body("a", app="x")))
        cache.wrote(created)
        assert view.get(CONFIG_MAP, "ns/a") is created
        patched = CONFIG_MAP.decode(core.patch(CONFIG_MAP, Key("ns", "a"), Patch.merge({"data": {"k": "w"}})))
        cache.wrote(patched)
        assert view.list(CONFIG_MAP, selector="app=x") == [patched]
        assert informer.counts().own_writes == 1
        await settle()
        assert informer.counts().own_writes == 0
        assert view.get(CONFIG_MAP, "ns/a") is patched, "the watch told the same state: what was decoded stays decoded"
        core.delete(CONFIG_MAP, Key("ns", "a"))
        cache.deleted(CONFIG_MAP, Key("ns", "a"), created.metadata.uid)
        assert view.get(CONFIG_MAP, "ns/a") is None
        await settle()
        assert informer.counts().own_writes == 0


async def test_an_own_write_that_no_event_will_tell_goes_with_the_next_bookmark() -> None:
    core = server()
    cache = Cache(MemoryEngine(core), clock=LoopClock())
    informer = cache.informer(CONFIG_MAP)
    view = cache.view({CONFIG_MAP: informer})
    async with running(cache):
        other = CONFIG_MAP.decode(core.create(CONFIG_MAP, "ns", body("b")))
        await settle()
        version = str(int(other.metadata.resource_version) + 1)
        content = {
            **other.content(),
            "metadata": {"name": "ghost", "namespace": "ns", "uid": "g", "resourceVersion": version},
        }
        cache.wrote(CONFIG_MAP.object(content))
        assert view.get(CONFIG_MAP, "ns/ghost") is not None
        core.create(NAMESPACE, "", b'{"metadata":{"name":"moves-the-version"}}')
        await asyncio.sleep(700)
        assert view.get(CONFIG_MAP, "ns/ghost") is None


async def test_paging_is_followed_to_the_end() -> None:
    core = server()
    for number in range(25):
        core.create(CONFIG_MAP, "ns", body(f"n{number:02}"))
    cache = Cache(MemoryEngine(core), clock=LoopClock(), options=CacheOptions(watcher=WatcherOptions(page_size=4)))
    informer = cache.informer(CONFIG_MAP)
    async with running(cache):
        assert informer.counts().objects == len(on_server(core))
        assert informer.shared.reflectors[0].watcher.pages >= 7


async def test_only_the_configured_namespaces_are_followed() -> None:
    core = server("n1", "n2", "n3")
    for namespace in ("n1", "n2", "n3"):
        core.create(CONFIG_MAP, namespace, body("a"))
    cache = Cache(MemoryEngine(core), clock=LoopClock(), options=CacheOptions(namespaces=("n1", "n2")))
    informer, namespaces = cache.informer(CONFIG_MAP), cache.informer(NAMESPACE)
    view = cache.view({CONFIG_MAP: informer, NAMESPACE: namespaces})
    subscription = informer.subscribe()
    async with running(cache):
        seen = {obj.key.namespace for obj in view.list(CONFIG_MAP)}
        assert seen == {"n1", "n2"}
        assert view.get(NAMESPACE, "n3") is not None, "a kind of cluster scope is followed whole"
        core.create(CONFIG_MAP, "n2", body("b"))
        core.create(CONFIG_MAP, "n3", body("b"))
        await settle()
        assert view.get(CONFIG_MAP, "n2/b") is not None
        told = [change for batch in iter(subscription.take, ()) for change in batch]
        assert {change.key.namespace for change in told} == {"n1", "n2"}
        assert [change.key for change in told if not change.initial] == [Key("n2", "b")]


async def test_a_selector_is_applied_by_the_server() -> None:
    core = server()
    core.create(CONFIG_MAP, "ns", body("a", app="x"))
    core.create(CONFIG_MAP, "ns", body("b", app="y"))
    cache = Cache(MemoryEngine(core), clock=LoopClock())
    informer = cache.informer(CONFIG_MAP, "app=x")
    view = cache.view({CONFIG_MAP: informer})
    async with running(cache):
        assert [obj.key.name for obj in view.list(CONFIG_MAP)] == ["a"]
        core.patch(CONFIG_MAP, Key("ns", "a"), Patch.merge({"metadata": {"labels": {"app": "y"}}}))
        core.patch(CONFIG_MAP, Key("ns", "b"), Patch.merge({"metadata": {"labels": {"app": "x"}}}))
        await settle()
        assert [obj.key.name for obj in view.list(CONFIG_MAP)] == ["b"]


async def test_history_that_was_compacted_is_listed_anew() -> None:
    core = server()
    core.create(CONFIG_MAP, "ns", body("a"))
    engine = Faulty(core)
    cache = Cache(engine, clock=LoopClock())
    informer = cache.informer(CONFIG_MAP)
    async with running(cache):
        await asyncio.sleep(2)
        engine.refusals = [TooManyRequests("busy")]
        engine.cut()
        await settle()
        core.create(CONFIG_MAP, "ns", body("b"))
        core.delete(CONFIG_MAP, Key("ns", "a"))
        core.compact()
        await asyncio.sleep(60)
        await settle()
        assert {obj.key: obj.metadata.resource_version for obj in informer.shared.store.list()} == on_server(core)
        assert informer.counts().lists == 2
        assert informer.state.phase is Phase.LIVE


async def test_a_quiet_collection_stays_live_for_hours_without_a_list() -> None:
    core = server()
    core.create(CONFIG_MAP, "ns", body("a"))
    cache = Cache(MemoryEngine(core), clock=LoopClock())
    informer = cache.informer(CONFIG_MAP)
    phases: list[Phase] = []
    informer.watch_state(lambda state: phases.append(state.phase))
    async with running(cache):
        await asyncio.sleep(6 * 3600)
        assert phases == [Phase.LIVE]
        counts = informer.counts()
        assert (counts.lists, counts.failures) == (1, 0)
        assert counts.watches > 30


DEFINITION = {
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


async def test_r4_49_a_definition_that_comes_late_is_picked_up_and_its_removal_is_noticed() -> None:
    core = server()
    cache = Cache(MemoryEngine(core), clock=LoopClock())
    informer = cache.informer(GADGET, optional=True)
    view = cache.view({GADGET: informer})
    subscription = informer.subscribe()
    async with running(cache):
        assert informer.state.phase is Phase.ABSENT
        assert not view.serves(GADGET)
        assert list(view.list(GADGET)) == []
        assert informer.ready
        definition = CUSTOM_RESOURCE_DEFINITION.object(DEFINITION)
        core.create(CUSTOM_RESOURCE_DEFINITION, "", definition.raw)
        core.create(GADGET, "ns", GADGET.object({"metadata": {"name": "g"}, "spec": {"x": 1}}).raw)
        await asyncio.sleep(30)
        await settle()
        assert view.serves(GADGET)
        assert [obj.spec["x"] for obj in view.list(GADGET)] == [1]
        core.delete(CUSTOM_RESOURCE_DEFINITION, Key("", "gadgets.example.com"))
        await asyncio.sleep(700)
        await settle()
        assert informer.state.phase is Phase.ABSENT
        assert list(view.list(GADGET)) == []
        told = [change for batch in iter(subscription.take, ()) for change in batch]
        assert told[-1].new is None


@settings(max_examples=25, deadline=None)
@given(st.data())
async def test_after_any_faults_the_cache_and_the_reader_have_what_the_server_has(data: st.DataObject) -> None:
    core = server("n1", "n2")
    engine = Faulty(core)
    scoped = data.draw(st.booleans())
    options = CacheOptions(namespaces=("n1", "n2") if scoped else (), watcher=WatcherOptions(page_size=2), batch=3)
    cache = Cache(engine, clock=LoopClock(), random=Random(data.draw(st.integers(0, 9))), options=options)
    informer = cache.informer(CONFIG_MAP)
    informer.add_index(BY_VALUE)
    subscription = informer.subscribe()
    mirror: dict[Key, ConfigMap] = {}

    async with running(cache):
        for _ in range(data.draw(st.integers(1, 25))):
            await step(data, core, engine)
            if data.draw(st.booleans()):
                await asyncio.sleep(data.draw(st.sampled_from([0.0, 0.5, 3.0, 400.0])))
            if data.draw(st.booleans()):
                take(subscription, mirror)
        engine.refusals.clear()
        await asyncio.sleep(700)
        await settle()
        expected = {key: version for key, version in on_server(core).items() if not scoped or key.namespace[0] == "n"}
        cached = {obj.key: obj.metadata.resource_version for obj in informer.shared.store.list()}
        assert cached == expected
        found = [obj.key for value in "vwx" for obj in informer.shared.store.by_index("value", value)]
        assert sorted(found) == sorted(key for key in expected if key.namespace in ("n1", "n2"))
        while len(subscription):
            take(subscription, mirror)
        assert {key: obj.metadata.resource_version for key, obj in mirror.items()} == expected
        assert informer.state.phase is Phase.LIVE


def take(subscription: Subscription[ConfigMap], mirror: dict[Key, ConfigMap]) -> None:
    change: Change[ConfigMap]
    for change in subscription.take():
        if change.new is None:
            mirror.pop(change.key, None)
        else:
            mirror[change.key] = change.new


async def step(data: st.DataObject, core: Core, engine: Faulty) -> None:
    namespace, name = data.draw(st.sampled_from(["n1", "n2"])), data.draw(st.sampled_from("abc"))
    match data.draw(st.sampled_from(["create", "change", "change", "delete", "cut", "compact", "refuse"])):
        case "create":
            with suppress(AlreadyExists):
                core.create(CONFIG_MAP, namespace, body(name, data.draw(st.sampled_from("vwx"))))
        case "change":
            patch = Patch.merge({"data": {"k": data.draw(st.sampled_from("vwx"))}})
            with suppress(NotFound):
                core.patch(CONFIG_MAP, Key(namespace, name), patch)
        case "delete":
            with suppress(NotFound):
                core.delete(CONFIG_MAP, Key(namespace, name))
        case "cut":
            engine.cut()
        case "compact":
            core.compact()
        case _:
            engine.refusals = [TooManyRequests("busy"), Unanswered("lost")][: data.draw(st.integers(1, 2))]


@pytest.mark.parametrize("seed", range(3))
async def test_two_caches_over_one_server_agree(seed: int) -> None:
    core = server()
    caches = [Cache(MemoryEngine(core), clock=LoopClock(), random=Random(seed + number)) for number in range(2)]
    informers = [cache.informer(CONFIG_MAP) for cache in caches]
    async with running(caches[0]), running(caches[1]):
        for number in range(20):
            core.create(CONFIG_MAP, "ns", body(f"n{number}"))
        await settle()
        contents = [{obj.key for obj in informer.shared.store.list()} for informer in informers]
        assert contents[0] == contents[1] == set(on_server(core))
