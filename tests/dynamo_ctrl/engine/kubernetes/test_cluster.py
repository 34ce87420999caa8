"""The engine against a real kube-apiserver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine import errors
from dynamo_ctrl.engine.kubernetes.credentials import TokenFile
from dynamo_ctrl.engine.kubernetes.engine import KubernetesEngine
from dynamo_ctrl.engine.kubernetes.locate import Locator
from dynamo_ctrl.engine.port import ListOptions, Preconditions, WatchOptions
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from envtest import Cluster

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit


@asynccontextmanager
async def opened(kubeconfig: Path) -> AsyncIterator[KubernetesEngine]:
    async with open_engine(
        "kubernetes", EngineConfig(kubeconfig=kubeconfig, user_agent="dynamo-ctrl-test/1")
    ) as engine:
        assert isinstance(engine, KubernetesEngine)
        yield engine


def config_map(name: str, **data: str) -> bytes:
    return json.dumps({"metadata": {"name": name, "labels": {"test": "yes"}}, "data": data}).encode()


def read(raw: bytes) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(raw)
    return content


def version(raw: bytes) -> str:
    return str(read(raw)["metadata"]["resourceVersion"])


def test_an_object_lives_its_life(kit: Kit, cluster: Cluster, namespace: str) -> None:
    async def main() -> None:
        async with opened(cluster.kubeconfig) as engine:
            key = Key(namespace, "a")
            created = await engine.create(CONFIG_MAP, namespace, config_map("a", x="1"))
            assert read(await engine.get(CONFIG_MAP, key))["data"] == {"x": "1"}
            with pytest.raises(errors.AlreadyExists):
                await engine.create(CONFIG_MAP, namespace, config_map("a"))
            updated = await engine.update(CONFIG_MAP, key, created.replace(b'"x":"1"', b'"x":"2"'))
            with pytest.raises(errors.Conflict):
                await engine.update(CONFIG_MAP, key, created.replace(b'"x":"1"', b'"x":"3"'))
            merged = await engine.patch(CONFIG_MAP, key, Patch.merge({"data": {"x": None, "y": "4"}}))
            assert read(merged)["data"] == {"y": "4"}
            assert version(updated) != version(merged)
            tested = Patch.json(
                [{"op": "test", "path": "/data/y", "value": "4"}, {"op": "replace", "path": "/data/y", "value": "5"}]
            )
            assert read(await engine.patch(CONFIG_MAP, key, tested))["data"] == {"y": "5"}
            with pytest.raises(errors.Conflict, match="test of the patch failed"):
                await engine.patch(CONFIG_MAP, key, tested)
            wrong = Patch.json(
                [{"op": "test", "path": "/data/y", "value": "5"}, {"op": "add", "path": "/data/~1", "value": "no key"}]
            )
            with pytest.raises(errors.Invalid):
                await engine.patch(CONFIG_MAP, key, wrong)
            with pytest.raises(errors.Conflict):
                await engine.delete(CONFIG_MAP, key, preconditions=Preconditions(uid="another"))
            uid = read(created)["metadata"]["uid"]
            await engine.delete(CONFIG_MAP, key, preconditions=Preconditions(uid=uid))
            with pytest.raises(errors.NotFound) as raised:
                await engine.get(CONFIG_MAP, key)
            assert raised.value.details == {"name": "a", "kind": "configmaps"}

    kit.run(main())


def test_pages_join_to_the_whole_and_tell_what_is_left(kit: Kit, cluster: Cluster, namespace: str) -> None:
    async def main() -> None:
        async with opened(cluster.kubeconfig) as engine:
            await asyncio.gather(*(engine.create(CONFIG_MAP, namespace, config_map(f"c{n}")) for n in range(7)))
            options = ListOptions(namespace=namespace, limit=3, label_selector="test=yes")
            names: list[str] = []
            pages = []
            while True:
                page = await engine.list(CONFIG_MAP, options)
                pages.append(len(page.items))
                names += [read(item)["metadata"]["name"] for item in page.items]
                if not page.continue_token:
                    break
                options = replace(options, continue_token=page.continue_token)
            assert (pages, names) == ([3, 3, 1], [f"c{n}" for n in range(7)])

    kit.run(main())


def test_a_watch_tells_what_happens_after_its_version_and_ends_when_the_server_says(
    kit: Kit, cluster: Cluster, namespace: str
) -> None:
    async def main() -> None:
        async with opened(cluster.kubeconfig) as engine:
            key = Key(namespace, "w")
            start = (await engine.list(CONFIG_MAP, ListOptions(namespace=namespace))).resource_version
            await engine.create(CONFIG_MAP, namespace, config_map("w"))
            await engine.patch(CONFIG_MAP, key, Patch.merge({"data": {"x": "1"}}))
            await engine.delete(CONFIG_MAP, key)
            options = WatchOptions(
                namespace=namespace, resource_version=start, timeout=2, idle=30, label_selector="test=yes"
            )
            async with engine.watch(CONFIG_MAP, options) as events:
                seen = [(event.type, read(event.object)["metadata"].get("name")) async for event in events]
            assert [event for event in seen if event[0] != "BOOKMARK"] == [
                ("ADDED", "w"),
                ("MODIFIED", "w"),
                ("DELETED", "w"),
            ]

    kit.run(main())


def test_a_streaming_list_ends_with_a_marked_bookmark(kit: Kit, cluster: Cluster, namespace: str) -> None:
    async def main() -> None:
        async with opened(cluster.kubeconfig) as engine:
            await engine.create(CONFIG_MAP, namespace, config_map("s"))
            options = WatchOptions(namespace=namespace, send_initial=True, timeout=20, label_selector="test=yes")
            async with engine.watch(CONFIG_MAP, options) as events:
                first, bookmark = await anext(events), await anext(events)
            assert (first.type, read(first.object)["metadata"]["name"]) == ("ADDED", "s")
            assert read(bookmark.object)["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    kit.run(main())


def test_a_version_that_the_server_has_not_reached_is_told_by_its_type(kit: Kit, cluster: Cluster) -> None:
    async def main() -> None:
        async with opened(cluster.kubeconfig) as engine:
            with pytest.raises(errors.TooLargeResourceVersion):
                await engine.list(CONFIG_MAP, ListOptions(resource_version="1000000000"))

    kit.run(main())


def test_scale_is_read_and_written(kit: Kit, cluster: Cluster, namespace: str) -> None:
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    body = json.dumps({"metadata": {"name": "d"}, "spec": spec}).encode()

    async def main() -> None:
        async with opened(cluster.kubeconfig) as engine:
            key = Key(namespace, "d")
            await engine.create(DEPLOYMENT, namespace, body)
            scale = await engine.get(DEPLOYMENT, key, subresource="scale")
            assert read(scale)["spec"] == {}
            content = read(scale) | {"spec": {"replicas": 2}}
            del content["metadata"]["resourceVersion"]  # the Deployment's controller writes as well
            await engine.update(DEPLOYMENT, key, json.dumps(content).encode(), subresource="scale")
            patched = await engine.patch(DEPLOYMENT, key, Patch.merge({"spec": {"replicas": 1}}), subresource="scale")
            assert read(patched)["spec"] == {"replicas": 1}
            assert read(await engine.get(DEPLOYMENT, key))["spec"]["replicas"] == 1
            held = await engine.delete(DEPLOYMENT, key, propagation="Foreground")
            assert read(held)["metadata"]["finalizers"] == ["foregroundDeletion"]

    kit.run(main())


def test_discovery_tells_what_is_served(kit: Kit, cluster: Cluster) -> None:
    async def main() -> None:
        async with opened(cluster.kubeconfig) as engine:
            apps = {resource.plural: resource for resource in await engine.discover("apps", "v1")}
            deployments = apps["deployments"]
            assert (deployments.kind, deployments.namespaced) == ("Deployment", True)
            assert {"status", "scale"} <= set(deployments.subresources)
            assert {"create", "delete", "list", "watch"} <= set(deployments.verbs)
            with pytest.raises(errors.NotFound):
                await engine.discover("nope.example.com", "v1")

    kit.run(main())


def test_a_client_certificate_is_a_user_with_its_rights(kit: Kit, cluster: Cluster, namespace: str) -> None:
    async def main() -> None:
        async with opened(cluster.user("nobody-special")) as engine:
            with pytest.raises(errors.Forbidden, match="nobody-special"):
                await engine.list(CONFIG_MAP, ListOptions(namespace=namespace))
            with pytest.raises(errors.Forbidden):
                async with engine.watch(CONFIG_MAP, WatchOptions(namespace=namespace)):
                    pytest.fail("opened")

    kit.run(main())


def test_a_token_that_is_refused_is_read_again_and_then_believed(kit: Kit, cluster: Cluster, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(cluster.token)

    async def main() -> None:
        config = Locator(kubeconfig=cluster.kubeconfig).find()
        clock = ManualClock()
        settings = {"tls": config.tls, "credentials": TokenFile(token, clock), "clock": clock}
        async with kit.connected(config.server, **settings) as engine:  # type: ignore[arg-type]
            await engine.list(CONFIG_MAP, ListOptions(limit=1))
            token.write_text("revoked")
            clock.advance(60)
            with pytest.raises(errors.Unauthorized):
                await engine.get(CONFIG_MAP, Key("default", "x"))
            token.write_text(cluster.token)
            await engine.list(CONFIG_MAP, ListOptions(limit=1))

    kit.run(main())
