"""The same random requests to both servers: whatever the answers are, they are the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from tests.conformance.kinds import GADGET, SHAPE, WIDGET, body
from tests.conformance.outcome import Events, Outcome
from tests.conformance.world import World

STEPS = 120
BRIEFLY = 0.05
"""Seconds for a watch of the memory engine, which has everything to deliver from the start."""

NAMES = "abc"
KINDS: tuple[Kind[Any], ...] = (WIDGET, GADGET, CONFIG_MAP, SHAPE)
FINALIZERS = ("x.y/one", "x.y/two")
VALUES: tuple[Any, ...] = (None, 0, 1, -1, 2.5, "", "a", "red", True, [], ["a"], ["a", "a"], {}, {"a": 1}, {"a": "b"})
FIELDS = {
    WIDGET: ("size", "color", "selector", "unknown"),
    GADGET: ("size", "anything"),
    CONFIG_MAP: ("k", "other"),
    SHAPE: ("text", "choice", "count", "either", "nullable", "section", "lazy", "texts", "list", "set", "loose", "one"),
}

Step = Callable[[World], object]


class Plan:
    """Draws requests. What depends on earlier answers (a resourceVersion) is looked up in each world when it is sent."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def one_of(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def some(self, *choices: Any) -> list[Any]:
        return [choice for choice in choices if self._random.random() < 0.4]

    def content(self, kind: Kind[Any]) -> dict[str, Any]:
        fields = {name: self.one_of(*VALUES) for name in self.some(*FIELDS[kind])}
        if kind is CONFIG_MAP:
            return {"data": {name: str(value) for name, value in fields.items()}}
        content: dict[str, Any] = {"spec": fields} if self._random.random() < 0.9 else {}
        if self._random.random() < 0.3:
            content["status"] = {"note": self.one_of("x", "y"), "size": self.one_of(0, 1, 2)}
        return content

    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {}
        if self._random.random() < 0.3:
            metadata["labels"] = {self.one_of("l", "m"): self.one_of("1", "2", "", "no value!")}
        if self._random.random() < 0.3:
            metadata["annotations"] = {"n": self.one_of("1", "2")}
        if self._random.random() < 0.3:
            metadata["finalizers"] = self.some(*FINALIZERS)
        return metadata

    def step(self) -> Step:
        kind, name = self.one_of(*KINDS), self.one_of(*NAMES)
        draw = self.one_of(
            self._create, self._create, self._merge, self._merge, self._update, self._json, self._status, self._delete,
            self._delete, self._release, self._list, self._scale,
        )  # fmt: skip
        step: Step = draw(kind, name)
        return step

    def _create(self, kind: Kind[Any], name: str) -> Step:
        sent = body(kind, name, metadata=self.metadata(), **self.content(kind))
        return lambda world: world.create(kind, sent)

    def _merge(self, kind: Kind[Any], name: str) -> Step:
        patch = {**self.content(kind), "metadata": self.metadata()}
        return lambda world: world.merge(kind, name, patch)

    def _status(self, kind: Kind[Any], name: str) -> Step:
        patch = {"status": {"note": self.one_of(None, "x", 5, "much too long"), "size": self.one_of(0, 1, "x")}}
        return lambda world: world.merge(kind, name, patch, subresource="status")

    def _scale(self, kind: Kind[Any], name: str) -> Step:
        patch = {"spec": {"replicas": self.one_of(0, 1, 5, -1)}}
        return lambda world: world.merge(kind, name, patch, subresource="scale")

    def _update(self, kind: Kind[Any], name: str) -> Step:
        content, metadata, given = self.content(kind), self.metadata(), self.one_of("current", "current", "none", "old")

        def step(world: World) -> object:
            found = world.get(kind, name)
            version = "1" if given == "old" else "" if given == "none" or found.refused else found.version
            sent = body(kind, name, metadata={**metadata, "resourceVersion": version}, **content)
            return world.update(kind, name, sent)

        return step

    def _json(self, kind: Kind[Any], name: str) -> Step:
        section = "data" if kind is CONFIG_MAP else "spec"
        path = f"/{section}/{self.one_of(*FIELDS[kind])}"
        value = "x" if kind is CONFIG_MAP else self.one_of(*VALUES)
        operations = self.one_of(
            [{"op": "add", "path": path, "value": value}],
            [{"op": "replace", "path": path, "value": value}],
            [{"op": "remove", "path": path}],
            [{"op": "test", "path": path, "value": value}, {"op": "remove", "path": path}],
            [{"op": "add", "path": "/metadata/labels", "value": {"l": "1"}}],
        )
        return lambda world: world.patch(kind, name, Patch.json(operations))

    def _delete(self, kind: Kind[Any], name: str) -> Step:
        return lambda world: world.delete(kind, name)

    def _release(self, kind: Kind[Any], name: str) -> Step:
        patch = {"metadata": {"finalizers": self.some(*FINALIZERS) or None}}
        return lambda world: world.merge(kind, name, patch)

    def _list(self, kind: Kind[Any], name: str) -> Step:
        if kind is CONFIG_MAP:  # a real cluster puts one of its own into every namespace
            kind = WIDGET
        selector, limit = self.one_of("", "l=1", "l", "!l", "l in (1,2),m notin (1)"), self.one_of(0, 1, 2)

        def step(world: World) -> object:
            found = world.list(kind, label_selector=selector, limit=limit)
            return found if found.refused else (found.objects, bool(found.token), found.remaining)

        return step


def shown(answer: object) -> object:
    """What of an answer is compared."""
    if isinstance(answer, Outcome) and answer.refused:
        return answer.refusal
    return answer.content if isinstance(answer, Outcome) else answer


@pytest.mark.cluster
@pytest.mark.parametrize("seed", range(12))
def test_both_servers_answer_alike(open_world: Callable[[str], AbstractContextManager[World]], seed: int) -> None:
    plan = Plan(seed)
    steps = [plan.step() for _ in range(STEPS)]
    with open_world("memory") as memory, open_world("kubernetes") as real:
        starts = {kind: (memory.version(kind), real.version(kind)) for kind in KINDS}
        for number, step in enumerate(steps):
            assert (number, shown(step(memory))) == (number, shown(step(real)))
        for kind, (ours, theirs) in starts.items():
            expected = memory.watch(kind, resource_version=ours, timeout=BRIEFLY).events
            assert _history(real, kind, theirs, len(expected)) == expected


def _history(world: World, kind: Kind[Any], start: str, count: int) -> Events:
    """As many events as there should be, or all of them for the kinds of which a real server has more to tell.

    Those are the ConfigMap that it puts into every namespace, and scale writes that change nothing but managedFields.
    """
    if not count:
        return []
    if kind not in (CONFIG_MAP, WIDGET):
        return world.watch(kind, count, resource_version=start).events
    events: Events = []
    last: dict[str, Any] = {}
    for type_, each in world.watch(kind, resource_version=start).events:
        name = each["metadata"]["name"]
        if name != "kube-root-ca.crt" and (type_ != "MODIFIED" or last.get(name) != each):
            events.append((type_, each))
        last[name] = each
    return events
