"""Which objects are followed: namespaces, labels and fields, what the server is asked for, and what a write may be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions, KindOptions
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.selection import Selection
from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, ConfigMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.objects.selector import FieldSelector, LabelSelector
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

Make = Callable[..., ConfigMap]


def selection(labels: str = "", fields: str = "", **namespaces: Any) -> Selection:
    return Selection(LabelSelector.parse(labels), FieldSelector.parse(fields), **namespaces)


@pytest.mark.parametrize(
    ("chosen", "scopes", "query", "follows"),
    [
        (selection(), ("",), "", {"a", "b", "c"}),
        (selection(namespaces=("a",)), ("a",), "", {"a"}),
        (selection(namespaces=("b", "a")), ("b", "a"), "", {"a", "b"}),
        (selection(excluded=("a", "b")), ("",), "metadata.namespace!=a,metadata.namespace!=b", {"c"}),
        (
            selection(fields="metadata.name=x", excluded=("a",)),
            ("",),
            "metadata.name=x,metadata.namespace!=a",
            {"b", "c"},
        ),
    ],
)
def test_what_the_server_is_asked_for(
    chosen: Selection, scopes: tuple[str, ...], query: str, follows: set[str]
) -> None:
    assert chosen.scopes == scopes
    assert chosen.field_query == query
    assert {namespace for namespace in "abc" if chosen.follows(namespace)} == follows
    assert chosen.everything is (chosen == Selection())


@pytest.mark.parametrize(
    ("chosen", "matches", "refusal"),
    [
        (selection(), True, ""),
        (selection("app=x,tier"), True, ""),
        (selection("app=y"), False, "its labels do not match 'app=y', by which the cache selects configmaps"),
        (selection(namespaces=("other",)), False, "the cache does not follow namespace 'ns'"),
        (selection(excluded=("ns",)), False, "the cache does not follow namespace 'ns'"),
        (selection(fields="metadata.name=a"), True, ""),
        (selection(fields="metadata.name!=b"), True, ""),
        (
            selection(fields="metadata.name=a,metadata.name!=a"),
            False,
            "its fields do not match 'metadata.name!=a', by which the cache selects configmaps",
        ),
        (selection(fields="status.phase=Running"), False, ""),
    ],
)
def test_whether_an_object_is_followed_and_why_it_would_not_be(
    config_map: Make, chosen: Selection, matches: bool, refusal: str
) -> None:
    obj = config_map("a", labels={"app": "x", "tier": "t"})
    assert chosen.matches(obj) is matches
    assert chosen.refusal(obj) == refusal, "what the server may still fill in is no reason"


# --- on a server


@asynccontextmanager
async def followed(field_selector: str = "", label_selector: str = "", **options: Any) -> AsyncIterator[Place]:
    place = Place(CacheOptions(**options), label_selector, field_selector)
    task = asyncio.create_task(place.cache.run())
    try:
        await settle()
        yield place
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Place:
    """Three namespaces with the ConfigMaps `one` (app=x) and `two` (app=y) each, and a cache that follows some of them."""

    def __init__(self, options: CacheOptions, label_selector: str, field_selector: str) -> None:
        self.core = Core(clock=LoopClock(), random=Random(5))
        for namespace in "abc":
            self.core.create(NAMESPACE, "", msgspec.json.encode({"metadata": {"name": namespace}}))
            self.create(namespace, "one", app="x")
            self.create(namespace, "two", app="y")
        self.cache = Cache(MemoryEngine(self.core), clock=LoopClock(), random=Random(3), options=options)
        self.informer: Informer[ConfigMap] = self.cache.informer(
            CONFIG_MAP, label_selector, field_selector=field_selector
        )
        self.view = self.cache.view({CONFIG_MAP: self.informer})

    def create(self, namespace: str, name: str, **labels: str) -> None:
        body = {"metadata": {"name": name, "labels": labels}}
        self.core.create(CONFIG_MAP, namespace, msgspec.json.encode(body))

    def server(self, key: str) -> ConfigMap:
        return CONFIG_MAP.decode(self.core.get(CONFIG_MAP, Key.parse(key)))

    @property
    def found(self) -> str:
        return " ".join(str(obj.key) for obj in self.view.list(CONFIG_MAP))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, "a/one a/two b/one b/two c/one c/two"),
        ({"namespaces": ("b",)}, "b/one b/two"),
        ({"namespaces": ("c", "a")}, "a/one a/two c/one c/two"),
        ({"except_namespaces": ("b",)}, "a/one a/two c/one c/two"),
        ({"label_selector": "app=x"}, "a/one b/one c/one"),
        ({"label_selector": "app!=x", "except_namespaces": ("a", "b")}, "c/two"),
        ({"field_selector": "metadata.name=two"}, "a/two b/two c/two"),
        ({"field_selector": "metadata.name!=two", "namespaces": ("a",)}, "a/one"),
        ({"kinds": {"configmaps": KindOptions(label_selector="app=y")}}, "a/two b/two c/two"),
        ({"kinds": {"configmaps": KindOptions(label_selector="app")}, "label_selector": "app=x"}, "a/one b/one c/one"),
        ({"kinds": {"configmaps": KindOptions(field_selector="metadata.name=one", namespaces=("c",))}}, "c/one"),
        ({"kinds": {"configmaps": KindOptions(except_namespaces=("a",))}, "namespaces": ("a",)}, "b/one b/two c/one c/two"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("initial", ["list", "stream"])
async def test_what_is_selected_is_followed_and_nothing_else(options: dict[str, Any], found: str, initial: Any) -> None:
    kinds = {"configmaps": KindOptions(initial=initial), **options.get("kinds", {})}
    async with followed(**{**options, "kinds": kinds}) as it:
        assert it.found == found
        for namespace in "abc":
            it.create(namespace, "three", app="z")
        await settle()
        selected = [key for key in ("a/three", "b/three", "c/three") if it.informer.selection.matches(it.server(key))]
        assert [str(obj.key) for obj in it.view.list(CONFIG_MAP) if obj.key.name == "three"] == selected


async def test_an_object_that_leaves_the_selection_leaves_the_cache_and_comes_back() -> None:
    async with followed(label_selector="app=x", namespaces=("a",)) as it:
        subscription = it.informer.subscribe()
        subscription.take()
        for app, expected in (("y", ""), ("x", "a/one")):
            it.core.patch(CONFIG_MAP, Key("a", "one"), Patch.merge({"metadata": {"labels": {"app": app}}}))
            await settle()
            assert it.found == expected
        changes = [change for batch in iter(subscription.take, ()) for change in batch]
        assert [(change.old is None, change.new is None) for change in changes] == [(False, True), (True, False)]


async def test_an_excluded_namespace_cannot_be_read() -> None:
    async with followed(except_namespaces=("b",)) as it:
        with pytest.raises(SourceUnavailable, match="does not follow namespace 'b'"):
            it.view.get(CONFIG_MAP, "b/one")
        with pytest.raises(SourceUnavailable, match="does not follow namespace 'b'"):
            it.view.list(CONFIG_MAP, namespace="b")
        assert it.view.get(CONFIG_MAP, "c/one") is not None
