"""The core against a model: what a list shows, what a watch replays, and what versions do."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.errors import AlreadyExists, Expired, NotFound
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.engine.memory.history import Feed
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch

NAMES = st.sampled_from(["a", "b", "c", "d"])
NAMESPACES = st.sampled_from(["default", "kube-system"])
NUMBERS = st.integers(0, 3)


class Thing(Object[Mapping[str, Any], Mapping[str, Any]]):
    """An object of the test's own kind."""


THING = Kind(Thing, group="x.io", version="v1", kind="Thing", plural="things")


class Model(RuleBasedStateMachine):
    """Writes to a core, the same writes to a dictionary, and watches that follow."""

    feeds = Bundle("feeds")
    snapshots = Bundle("snapshots")

    def __init__(self) -> None:
        super().__init__()
        self.core = Core(clock=ManualClock(), random=random.Random(1), window=15)
        self.core.register(THING)
        self.model: dict[Key, int] = {}
        self.version = self.core.version
        self.replicas: dict[Feed, dict[Key, int]] = {}

    def moved(self, changed: bool) -> None:
        """Versions move with every change, and only then."""
        assert (self.core.version > self.version) is changed
        self.version = self.core.version

    @rule(namespace=NAMESPACES, name=NAMES, n=NUMBERS)
    def create(self, namespace: str, name: str, n: int) -> None:
        key = Key(namespace, name)
        body = {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": name}, "n": n}
        if key in self.model:
            with pytest.raises(AlreadyExists):
                self.core.create(THING, namespace, json.dumps(body).encode())
            return self.moved(False)
        self.core.create(THING, namespace, json.dumps(body).encode())
        self.model[key] = n
        return self.moved(True)

    @rule(namespace=NAMESPACES, name=NAMES, n=NUMBERS)
    def patch(self, namespace: str, name: str, n: int) -> None:
        key = Key(namespace, name)
        if key not in self.model:
            with pytest.raises(NotFound):
                self.core.patch(THING, key, Patch.merge({"n": n}))
            return self.moved(False)
        self.core.patch(THING, key, Patch.merge({"n": n}))
        changed, self.model[key] = self.model[key] != n, n
        return self.moved(changed)

    @rule(namespace=NAMESPACES, name=NAMES)
    def delete(self, namespace: str, name: str) -> None:
        key = Key(namespace, name)
        if key not in self.model:
            with pytest.raises(NotFound):
                self.core.delete(THING, key)
            return self.moved(False)
        self.core.delete(THING, key)
        del self.model[key]
        return self.moved(True)

    @rule(target=feeds)
    def watch(self) -> Feed:
        page = self.core.list(THING, ListOptions())
        feed = self.core.watch(THING, WatchOptions(resource_version=page.resource_version, timeout=0))
        self.replicas[feed] = _read(page.items)
        return feed

    @rule(target=feeds)
    def watch_from_nothing(self) -> Feed:
        feed = self.core.watch(THING, WatchOptions(timeout=0))
        self.replicas[feed] = {}
        return feed

    @rule(feed=feeds)
    def take(self, feed: Feed) -> None:
        open_before = not feed.closed
        replica = self.replicas[feed]
        events = feed.take()
        assert open_before or not events
        for event in events:
            if event.type == "BOOKMARK":
                continue
            ((key, n),) = _read([event.object]).items()
            assert (key in replica) is (event.type != "ADDED")
            if event.type == "DELETED":
                assert replica.pop(key) == n
            else:
                replica[key] = n
        assert feed.closed or replica == self.model

    @rule(target=snapshots)
    def snapshot(self) -> tuple[str, dict[Key, int]]:
        return str(self.core.version), dict(self.model)

    @rule(snapshot=snapshots)
    def look_back(self, snapshot: tuple[str, dict[Key, int]]) -> None:
        version, model = snapshot
        try:
            page = self.core.list(THING, ListOptions(resource_version=version, match="Exact"))
        except Expired:
            assert int(version) < self.core.version
            return
        assert _read(page.items) == model
        assert page.resource_version == version

    @rule(snapshot=consumes(snapshots), limit=st.integers(1, 3))
    def look_back_in_pages(self, snapshot: tuple[str, dict[Key, int]], limit: int) -> None:
        version, model = snapshot
        found: dict[Key, int] = {}
        options = ListOptions(resource_version=version, limit=limit)
        try:
            while True:
                page = self.core.list(THING, options)
                assert not found.keys() & _read(page.items).keys()
                found |= _read(page.items)
                if not page.continue_token:
                    break
                options = ListOptions(continue_token=page.continue_token, limit=limit)
        except Expired:
            return
        assert found == model

    @rule()
    def compact(self) -> None:
        self.core.compact()

    @invariant()
    def a_list_shows_the_model(self) -> None:
        page = self.core.list(THING, ListOptions())
        assert _read(page.items) == self.model
        assert [_key(raw) for raw in page.items] == sorted(self.model)
        assert page.resource_version == str(self.core.version)


def _key(raw: bytes) -> Key:
    metadata = json.loads(raw)["metadata"]
    return Key(metadata["namespace"], metadata["name"])


def _read(items: Any) -> dict[Key, int]:
    return {_key(raw): json.loads(raw).get("n", -1) for raw in items}


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
