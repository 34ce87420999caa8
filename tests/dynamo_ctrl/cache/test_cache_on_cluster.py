"""The cache on a real API server: what its watch cache, its paging and its refusals really do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions, KindOptions
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.engine.port import Engine, ListOptions
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from envtest import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.real_loop]

WAIT = 20.0
"""Seconds for anything here to happen."""


class Gadget(Object[Mapping[str, Any], Mapping[str, Any]]):
    """A kind that the server does not know."""


GADGET = Kind(Gadget, group="cache.example.com", version="v1", kind="Gadget", plural="gadgets")


@asynccontextmanager
async def following(cluster: Cluster, namespace: str, **options: Any) -> AsyncIterator[tuple[Engine, Cache]]:
    async with open_engine("kubernetes", EngineConfig(kubeconfig=cluster.kubeconfig)) as engine:
        watcher = WatcherOptions(page_size=10, **options)
        cache = Cache(engine, clock=SystemClock(), options=CacheOptions(namespaces=(namespace,), watcher=watcher))
        task = asyncio.create_task(cache.run())
        try:
            yield engine, cache
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT):
        while not holds():  # noqa: ASYNC110  (what is waited for happens in another process)
            await asyncio.sleep(0.02)


async def create(engine: Engine, namespace: str, name: str, **data: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "x"}}, "data": data}
    await engine.create(CONFIG_MAP, namespace, json.dumps(body).encode())


async def test_pages_events_and_a_relist_end_with_what_the_server_has(cluster: Cluster, namespace: str) -> None:
    # Each watch ends within a second or two, so that resuming is part of the test.
    async with following(cluster, namespace, watch_timeout=(1.0, 2.0)) as (engine, cache):
        for number in range(25):
            await create(engine, namespace, f"n{number:02}")
        informer = cache.informer(CONFIG_MAP, "app=x")
        view = cache.view({CONFIG_MAP: informer})
        await until(lambda: informer.ready)
        watcher = informer.shared.reflectors[0].watcher
        assert len(view.list(CONFIG_MAP)) == 25
        assert watcher.pages == 3, "the server pages a consistent read"
        await create(engine, namespace, "late")
        await engine.patch(CONFIG_MAP, Key(namespace, "n00"), Patch.merge({"data": {"k": "v"}}))
        await engine.delete(CONFIG_MAP, Key(namespace, "n01"))
        await engine.patch(CONFIG_MAP, Key(namespace, "n02"), Patch.merge({"metadata": {"labels": {"app": None}}}))

        async def on_server() -> dict[str, str]:
            options = ListOptions(namespace=namespace, label_selector="app=x")
            objects = [CONFIG_MAP.decode(item) for item in (await engine.list(CONFIG_MAP, options)).items]
            return {obj.metadata.name: obj.metadata.resource_version for obj in objects}

        def cached() -> dict[str, str]:
            return {obj.metadata.name: obj.metadata.resource_version for obj in view.list(CONFIG_MAP)}

        expected = await on_server()
        await until(lambda: cached() == expected)
        await until(lambda: watcher.watches >= 3)
        assert (watcher.lists, watcher.failures) == (1, 0)
        found = view.get(CONFIG_MAP, f"{namespace}/n00")
        assert found is not None
        assert b"managedFields" not in found.raw
        assert found.data == {"k": "v"}

        watcher.failed(RuntimeError("as if the stream had been lost"), 0.0)
        informer.retry()
        await create(engine, namespace, "later")
        expected = await on_server()
        await until(lambda: cached() == expected and informer.state.phase is Phase.LIVE)


async def test_a_streaming_list_comes_to_its_mark_and_is_followed_on_the_same_connection(
    cluster: Cluster, namespace: str
) -> None:
    async with following(cluster, namespace, initial="stream") as (engine, cache):
        for number in reversed(range(25)):
            await create(engine, namespace, f"n{number:02}")
        informer = cache.informer(CONFIG_MAP, "app=x")
        view = cache.view({CONFIG_MAP: informer})
        await until(lambda: informer.ready)
        assert [obj.metadata.name for obj in view.list(CONFIG_MAP)] == [f"n{number:02}" for number in range(25)]
        await create(engine, namespace, "late")
        await until(lambda: view.get(CONFIG_MAP, f"{namespace}/late") is not None)
        counts = informer.counts()
        assert (counts.lists, counts.watches, counts.fallbacks, counts.failures) == (1, 1, 0, 0)
        watcher = informer.shared.reflectors[0].watcher
        assert watcher.pages == 0
        await engine.delete(CONFIG_MAP, Key(namespace, "n03"))
        watcher.failed(RuntimeError("as if the stream had been lost"), 0.0)
        informer.retry()
        await until(lambda: view.get(CONFIG_MAP, f"{namespace}/n03") is None and informer.state.phase is Phase.LIVE)


@pytest.mark.parametrize("initial", ["list", "stream"])
async def test_all_namespaces_but_one_are_followed(
    cluster: Cluster, namespace: str, initial: Literal["list", "stream"]
) -> None:
    async with open_engine("kubernetes", EngineConfig(kubeconfig=cluster.kubeconfig)) as engine:
        for name in ("a", "b"):
            await create(engine, namespace, name)
        kinds = {"configmaps": KindOptions(except_namespaces=(namespace,))}
        options = CacheOptions(kinds=kinds, watcher=WatcherOptions(initial=initial))
        cache = Cache(engine, clock=SystemClock(), options=options)
        informer = cache.informer(CONFIG_MAP)
        task = asyncio.create_task(cache.run())
        await until(lambda: informer.ready)
        found = {obj.metadata.namespace for obj in cache.view({CONFIG_MAP: informer}).list(CONFIG_MAP)}
        assert "kube-system" in found
        assert namespace not in found
        assert informer.counts().fallbacks == 0
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_list_not_older_than_a_version_is_paged_or_whole_but_never_short(
    cluster: Cluster, namespace: str
) -> None:
    async with open_engine("kubernetes", EngineConfig(kubeconfig=cluster.kubeconfig)) as engine:
        for number in range(25):
            await create(engine, namespace, f"n{number:02}")
        first = await engine.list(CONFIG_MAP, ListOptions(namespace=namespace, label_selector="app=x"))
        options = ListOptions(
            namespace=namespace,
            label_selector="app=x",
            limit=10,
            resource_version=first.resource_version,
            match="NotOlderThan",
        )
        page = await engine.list(CONFIG_MAP, options)
        names = len(page.items)
        while page.continue_token:
            following_page = ListOptions(
                namespace=namespace, label_selector="app=x", limit=10, continue_token=page.continue_token
            )
            page = await engine.list(CONFIG_MAP, following_page)
            names += len(page.items)
        assert names == 25


async def test_an_api_that_the_server_does_not_have_is_absent_until_it_is_installed(
    cluster: Cluster, namespace: str
) -> None:
    async with following(cluster, namespace) as (engine, cache):
        informer = cache.informer(GADGET, optional=True)
        view = cache.view({GADGET: informer})
        await until(lambda: informer.state.phase is Phase.ABSENT)
        assert list(view.list(GADGET)) == []
        versions = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
        names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
        spec = {"group": GADGET.group, "scope": "Namespaced", "names": names, "versions": [versions]}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.cache.example.com"},
            "spec": spec,
        }
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        cluster.api.create(path, definition)
        try:
            await until(lambda: informer.ready and view.serves(GADGET))
            await engine.create(GADGET, namespace, GADGET.object({"metadata": {"name": "g"}, "spec": {"x": 1}}).raw)
            await until(lambda: view.get(GADGET, f"{namespace}/g") is not None)
        finally:
            cluster.api.delete(f"{path}/gadgets.cache.example.com")
        informer.retry()
        await until(lambda: informer.state.phase is not Phase.LIVE)
