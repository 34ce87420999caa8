"""Whatever stands where something else should: an object is taken, or refused as a server refuses it, and never half."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.engine.errors import BadRequest, EngineError, NotFound
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.engine.memory.builtins import registered
from dynamo_ctrl.engine.memory.crds import served_by
from dynamo_ctrl.engine.memory.served import Served
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from tests.dynamo_ctrl.engine.memory import samples
from tests.dynamo_ctrl.engine.memory.samples import BUILTIN, CUSTOM, DEFINITION, Tree

VALUES: tuple[Any, ...] = (None, 7, -1.5, "text", True, [], ["text"], [None], [{}], {}, {"text": 1})
"""One of each type, and lists and maps that hold what they should not."""

REFUSED = (400, 409, 422)
"""The codes of a refusal; 409 tells of a uid that is another one."""

WIDGET = served_by({"spec": {**DEFINITION, "group": "example.com"}})
GADGET = registered(samples.kind_of(WIDGET))

FREED = Patch.merge({"metadata": {"finalizers": None}})
SCALED = Patch.merge({"spec": {"replicas": 3}})

Path = tuple[Any, ...]
encode = msgspec.json.encode


def paths(tree: Any, at: Path = ()) -> Iterator[Path]:
    """The place of every value in a tree."""
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, value in children:
        yield (*at, name)
        yield from paths(value, (*at, name))


def replaced(tree: Tree, path: Path, value: Any) -> Tree:
    """The tree with another value at that place."""
    tree = copy.deepcopy(tree)
    place: Any = tree
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return tree


class Server:
    """A server with one object, which is there again after every write that is taken."""

    def __init__(self, served: Served, content: Tree) -> None:
        self.core = Core(random=random.Random(1))
        self.kind = samples.kind_of(served)
        self.served = served
        self.core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
        if served is WIDGET:
            definition = {"metadata": {"name": "widgets.example.com"}, "spec": {**DEFINITION, "group": "example.com"}}
            self.core.create(
                samples.kind_of(BUILTIN["customresourcedefinitions.apiextensions.k8s.io"]),
                "",
                encode({"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", **definition}),
            )
        self.core.register(self.kind)
        self.number = 0
        self.content = content
        self.renew()

    def renew(self) -> None:
        """Leave the object behind and make another one."""
        self.number += 1
        self.body = self.fresh(f"a{self.number}")
        self.key = Key("ns" if self.kind.namespaced else "", self.body["metadata"]["name"])
        made = msgspec.json.decode(self.core.create(self.kind, self.key.namespace, encode(self.body)))
        self.body["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]

    def fresh(self, name: str) -> Tree:
        """A valid object of that name."""
        content = copy.deepcopy(self.content)
        if self.kind.kind == "CustomResourceDefinition":
            content["spec"]["group"] = f"{name}.dev"
            name = f"widgets.{name}.dev"
        metadata = {**samples.METADATA, "name": name, "namespace": "ns" if self.kind.namespaced else ""}
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": metadata, **content}

    def takes(self, write: Callable[[], bytes]) -> Key | None:
        """The object that a write left, if it is taken; one that is refused is refused properly."""
        version = self.core.version
        try:
            raw = write()
        except EngineError as error:
            assert error.code in REFUSED, error  # noqa: PT017  (any other error is let through)
            assert self.core.version == version
            return None
        metadata = msgspec.json.decode(raw)["metadata"]
        return Key(metadata.get("namespace", ""), metadata["name"])

    def consequences(self, key: Key) -> None:
        """Look at an object that was written in every way, and delete it."""
        for path in ("metadata.name", *self.served.selectable):
            self.core.list(self.kind, ListOptions(field_selector=f"{path}!=x"))
        if self.served.scale is not None:
            self.core.get(self.kind, key, subresource="scale")
            self.takes(lambda: self.core.patch(self.kind, key, SCALED, subresource="scale"))
        self.core.delete(self.kind, key, grace_seconds=0)
        with suppress(NotFound):
            self.core.patch(self.kind, key, FREED)


SERVED = [*BUILTIN.values(), WIDGET, GADGET]
NAMES = [*BUILTIN, "custom", "registered"]


def tried(served: Served, body: Tree) -> Iterator[tuple[Path, Any]]:
    """Every place and every value; the metadata of all kinds is read in one place, so that a few of them stand for it."""
    whole = served in (WIDGET, GADGET, BUILTIN["deployments.apps"])
    for path in paths(body):
        for value in VALUES:
            if path == ("metadata", "resourceVersion") and value == "text":
                continue  # the server itself says 500
            if whole or path[0] != "metadata" or len(path) == 1 or value == "text":
                yield path, value


@pytest.mark.parametrize("served", SERVED, ids=NAMES)
def test_a_value_of_a_wrong_type_is_taken_or_refused(served: Served) -> None:
    server = Server(served, CUSTOM if served in (WIDGET, GADGET) else samples.content_of(served))
    core, kind = server.core, server.kind
    for path, value in tried(served, server.body):
        changed = replaced(server.fresh("other"), path, value)
        made = server.takes(lambda: core.create(kind, server.key.namespace, encode(changed)))  # noqa: B023
        if made is not None:
            server.consequences(made)
        changed = replaced(server.body, path, value)
        if server.takes(lambda: core.update(kind, server.key, encode(changed))):  # noqa: B023
            server.consequences(server.key)
            server.renew()
        if served.status and server.takes(
            lambda: core.update(kind, server.key, encode(changed), subresource="status")  # noqa: B023
        ):
            server.consequences(server.key)
            server.renew()
        if path[0] in ("apiVersion", "kind") or not isinstance(path[-1], str):
            continue
        patch: Any = value
        for name in reversed(path[:1] if any(isinstance(each, int) for each in path) else path):
            patch = {name: patch}
        for subresource in ("", "status") if served.status else ("",):
            if server.takes(lambda: core.patch(kind, server.key, Patch.merge(patch), subresource=subresource)):  # noqa: B023
                server.consequences(server.key)
                server.renew()


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'"\xff"', b"1", b"null", b"[]", b'"text"', b"[" * 100_000], ids=repr
)
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    server = Server(BUILTIN["deployments.apps"], samples.content_of(BUILTIN["deployments.apps"]))
    core, kind, key = server.core, server.kind, server.key
    assert server.takes(lambda: core.create(kind, "ns", body)) is None
    for subresource in ("", "status", "scale"):
        assert server.takes(lambda: core.update(kind, key, body, subresource=subresource)) is None  # noqa: B023
        assert server.takes(lambda: core.patch(kind, key, Patch("merge", body), subresource=subresource)) is None  # noqa: B023
        if body != b"[]":  # no operations, no change
            assert server.takes(lambda: core.patch(kind, key, Patch("json", body), subresource=subresource)) is None  # noqa: B023


@pytest.mark.parametrize("served", [BUILTIN["deployments.apps"], WIDGET, GADGET], ids=str)
@pytest.mark.parametrize("path", [("spec",), ("spec", "replicas"), ("metadata",), ("metadata", "labels"), ("kind",)])
def test_a_scale_of_a_wrong_type_is_refused(served: Served, path: Path) -> None:
    server = Server(served, samples.content_of(served) if served.shape else CUSTOM)
    core, kind, key = server.core, server.kind, server.key
    scale = msgspec.json.decode(core.get(kind, key, subresource="scale"))
    scale.setdefault("spec", {}).setdefault("replicas", 2)
    for value in ("text", ["text"], {"text": 1}, True):
        if (path, value) in ((("spec",), {"text": 1}), (("metadata",), {"text": 1})):
            continue
        changed = replaced({**scale, "metadata": {"labels": {}, **scale["metadata"]}}, path, value)
        assert server.takes(lambda: core.update(kind, key, encode(changed), subresource="scale")) is None  # noqa: B023
        patch = Patch.merge({path[0]: changed[path[0]]})
        assert server.takes(lambda: core.patch(kind, key, patch, subresource="scale")) is None or value == {"text": 1}  # noqa: B023


@pytest.mark.parametrize("field", ["op", "path", "value", "from"])
def test_an_operation_of_a_wrong_type_is_refused_or_applied(field: str) -> None:
    server = Server(BUILTIN["configmaps"], samples.content_of(BUILTIN["configmaps"]))
    for operation in ("add", "replace", "remove", "test", "move", "copy"):
        for value in (*VALUES, "/data", "/data/0", "/metadata/finalizers/-1", ""):
            whole = {"op": operation, "path": "/data/a", "value": "x", "from": "/data/a", field: value}
            for sent in ([whole], [value], [whole, whole]):
                patch = Patch("json", encode(sent))
                if server.takes(lambda: server.core.patch(server.kind, server.key, patch)):  # noqa: B023
                    server.renew()


@pytest.mark.parametrize(
    "labels", ["a b c", "a in (b", "a in b", "!", "=", "a==b==c", ",,", "a=é", "a/b/c", "(", "a in ()"]
)
def test_a_malformed_label_selector_is_refused(labels: str) -> None:
    core = Core()
    for ask in (
        lambda: core.list(CONFIG_MAP, ListOptions(label_selector=labels)),
        lambda: core.watch(CONFIG_MAP, WatchOptions(label_selector=labels)),
    ):
        with pytest.raises(BadRequest, match="unable to parse requirement"):
            ask()


@pytest.mark.parametrize("fields", ["metadata.name", "a=b", "=", "metadata.name==,x", "!=x"])
def test_a_malformed_field_selector_is_refused(fields: str) -> None:
    core = Core()
    for ask in (
        lambda: core.list(CONFIG_MAP, ListOptions(field_selector=fields)),
        lambda: core.watch(CONFIG_MAP, WatchOptions(field_selector=fields)),
    ):
        with pytest.raises(BadRequest):
            ask()


@pytest.mark.parametrize("option", ["resource_version", "continue_token", "match"])
@pytest.mark.parametrize("text", ["x", "-1", "1.5", "é", "²", "e30", "bnVsbA", "MQ", "W10", "eyJ2IjoxfQ"])
def test_a_malformed_option_of_a_list_is_refused(option: str, text: str) -> None:
    options: dict[str, Any] = {option: text}
    with pytest.raises(EngineError) as found:
        Core().list(CONFIG_MAP, ListOptions(**options))
    assert found.value.code in REFUSED
