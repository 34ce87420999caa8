"""Read-your-writes on a server (R 3.13): each verb, each read, before the watch has told anything, and after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions, KindOptions
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.keep import keep_only
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

KEY = Key("ns", "d")
SLIM = keep_only("spec.replicas", "status.replicas")


def replicas(obj: Object[Any, Any]) -> list[str]:
    return [str(obj.spec.replicas)]


BY_REPLICAS = Index("replicas", DEPLOYMENT, replicas)


def body(name: str = "d", *, count: int = 1, tier: str = "web") -> bytes:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    spec = {"replicas": count, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return msgspec.json.encode({"metadata": {"name": name, "labels": {"tier": tier}}, "spec": spec})


class Place:
    """A server with the Deployment ns/d (1 replica, tier=web), and a cache that has caught up so far."""

    def __init__(self, options: CacheOptions, **informer: Any) -> None:
        self.core = Core(clock=LoopClock(), random=Random(5))
        self.core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
        self.core.create(DEPLOYMENT, "ns", body())
        self.engine = MemoryEngine(self.core)
        self.cache = Cache(self.engine, clock=LoopClock(), random=Random(3), options=options)
        self.informer = self.cache.informer(DEPLOYMENT, **informer)
        self.informer.add_index(BY_REPLICAS)
        self.view = self.cache.view({DEPLOYMENT: self.informer})

    def live(self) -> Any:
        return DEPLOYMENT.decode(self.core.get(DEPLOYMENT, KEY))

    def reads(self) -> dict[str, list[tuple[str, int, str]]]:
        """What every read finds: name, replicas, version."""
        one = self.view.get(DEPLOYMENT, KEY)
        found = {
            "get": [] if one is None else [one],
            "list": self.view.list(DEPLOYMENT),
            "list of a namespace": self.view.list(DEPLOYMENT, namespace="ns"),
            "tier=web": self.view.list(DEPLOYMENT, selector={"tier": "web"}),
            "tier in (db)": self.view.list(DEPLOYMENT, selector="tier in (db)"),
            "replicas=1": self.view.by_index(BY_REPLICAS, "1"),
            "replicas=3": self.view.by_index(BY_REPLICAS, "3"),
        }
        return {
            read: [(obj.metadata.name, obj.spec.replicas or 0, obj.metadata.resource_version) for obj in objects]
            for read, objects in found.items()
        }


@asynccontextmanager
async def place(informer: dict[str, Any] | None = None, **options: Any) -> AsyncIterator[Place]:
    it = Place(CacheOptions(**options), **(informer or {}))
    task = asyncio.create_task(it.cache.run())
    try:
        await settle()
        yield it
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


Write = Callable[[Place], Any]


async def create(it: Place) -> None:
    it.cache.wrote(DEPLOYMENT.decode(await it.engine.create(DEPLOYMENT, "ns", body("e", count=3, tier="db"))))


async def update(it: Place) -> None:
    content = it.live().content()
    content["spec"]["replicas"] = 3
    content["metadata"]["labels"] = {"tier": "db"}
    it.cache.wrote(DEPLOYMENT.decode(await it.engine.update(DEPLOYMENT, KEY, msgspec.json.encode(content))))


async def patch(it: Place) -> None:
    change = Patch.merge({"spec": {"replicas": 3}, "metadata": {"labels": {"tier": "db"}}})
    it.cache.wrote(DEPLOYMENT.decode(await it.engine.patch(DEPLOYMENT, KEY, change)))


async def status(it: Place) -> None:
    change = Patch.merge({"status": {"replicas": 1, "observedGeneration": 1}})
    it.cache.wrote(DEPLOYMENT.decode(await it.engine.patch(DEPLOYMENT, KEY, change, subresource="status")))


async def scale(it: Place) -> None:
    """The answer to it is a Scale, so the object is read."""
    await it.engine.patch(DEPLOYMENT, KEY, Patch.merge({"spec": {"replicas": 3}}), subresource="scale")
    it.cache.wrote(DEPLOYMENT.decode(await it.engine.get(DEPLOYMENT, KEY)))


async def delete(it: Place) -> None:
    uid = it.live().metadata.uid
    await it.engine.delete(DEPLOYMENT, KEY)
    it.cache.deleted(DEPLOYMENT, KEY, uid)


async def delete_that_a_finalizer_holds(it: Place) -> None:
    it.core.patch(DEPLOYMENT, KEY, Patch.merge({"metadata": {"finalizers": ["example.com/f"]}}))
    it.cache.wrote(DEPLOYMENT.decode(await it.engine.delete(DEPLOYMENT, KEY)))


WRITES = (create, update, patch, status, scale, delete, delete_that_a_finalizer_holds)


@pytest.mark.parametrize("informer", [{}, {"project": SLIM}], ids=["whole", "projected"])
@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("write", WRITES)
async def test_r4_9_a_write_is_seen_by_every_read_before_the_watch_tells_it(
    write: Write, scoped: bool, informer: dict[str, Any]
) -> None:
    async with place(informer, namespaces=("ns",) if scoped else ()) as it:
        before = it.reads()
        await write(it)
        seen = it.reads()
        assert seen != before
        assert it.informer.counts().own_writes == 1
        await settle()
        assert it.informer.counts().own_writes == 0, "the watch has caught up"
        assert it.reads() == seen, "the server has just that"
        items = [DEPLOYMENT.decode(raw) for raw in it.core.list(DEPLOYMENT, ListOptions()).items]
        assert seen["list"] == [(obj.metadata.name, obj.spec.replicas, obj.metadata.resource_version) for obj in items]


@pytest.mark.parametrize("write", WRITES)
async def test_subscribers_are_told_by_the_watch_alone(write: Write) -> None:
    async with place() as it:
        subscription = it.informer.subscribe()
        subscription.take()
        await write(it)
        assert subscription.take() == ()
        await settle()
        changes = subscription.take()
        assert {change.key for change in changes} == {Key("ns", "e") if write is create else KEY}
        assert len(changes) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"kinds": {"deployments.apps": KindOptions(label_selector="tier=web")}},
        {"kinds": {"deployments.apps": KindOptions(namespaces=("elsewhere",))}},
    ],
    ids=["labels", "namespaces"],
)
async def test_an_object_that_falls_outside_does_not_linger(options: dict[str, Any]) -> None:
    async with place(**options) as it:
        await patch(it)
        assert list(it.view.list(DEPLOYMENT)) == []
        await settle()
        assert list(it.view.list(DEPLOYMENT)) == []
        await create(it)
        assert list(it.view.list(DEPLOYMENT)) == []
        assert it.informer.counts().own_writes == 0, "what never was inside leaves nothing behind"


async def test_r4_11_a_read_can_wait_for_a_version_that_somebody_else_has_seen() -> None:
    async with place() as it:
        version = DEPLOYMENT.decode(it.core.create(DEPLOYMENT, "ns", body("e"))).metadata.resource_version
        assert it.view.get(DEPLOYMENT, "ns/e") is None
        async with asyncio.timeout(5):
            await it.informer.wait_version(version, "ns")
        assert it.view.get(DEPLOYMENT, "ns/e") is not None
        assert it.informer.version("ns") == version
        await it.informer.wait_version(version)  # it has it already
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await it.informer.wait_version(str(int(version) + 1))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await it.informer.wait_version(str(int(version) + 1))


async def test_after_the_end_nothing_is_kept_of_a_write() -> None:
    async with place() as it:
        pass
    await create(it)
    it.cache.deleted(DEPLOYMENT, KEY, it.live().metadata.uid)
    assert it.informer.counts().own_writes == 0
