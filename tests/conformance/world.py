"""`World`: one namespace of one server, driven by plain calls, and what is observed there.

An observation is a whole answer without what two servers can never have in common: `VOLATILE` names those fields. Names
that a world makes up are told as constants: its namespace as `NS`, its token as `TOKEN`, uids as `UID`, resourceVersions in
texts as `RV`, the moment of a deletion as `TIME`. Causes of a 422 are sorted, since a real server tells them in any order.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.port import Engine, ListOptions, Preconditions, Propagation, WatchEvent, WatchOptions
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch

T = TypeVar("T")
Tree = dict[str, Any]

VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink")
"""Metadata fields that differ between two servers by nature."""

PATIENCE = 75.0
"""Seconds that a controller of a real server gets for what the memory engine does at once (its garbage collector looks for
new resources every 30 s)."""

WATCH_LIMIT = 20.0
"""Seconds after which a watch that should have delivered fails the test."""


@dataclass(frozen=True)
class Refused:
    """An error answer."""

    code: int
    reason: str
    message: str
    details: Tree = field(default_factory=dict)

    @property
    def object(self) -> Tree:
        """There is none."""
        raise AssertionError(f"refused: {self}")

    @property
    def raw(self) -> Tree:
        """There is none."""
        raise AssertionError(f"refused: {self}")


@dataclass(frozen=True)
class Answer:
    """A success: the object as it is observed, and as it came."""

    object: Tree
    raw: Tree

    @property
    def version(self) -> str:
        """Its resourceVersion."""
        version: str = self.raw["metadata"]["resourceVersion"]
        return version

    @property
    def uid(self) -> str:
        """Its uid."""
        uid: str = self.raw["metadata"]["uid"]
        return uid


@dataclass(frozen=True)
class Listed:
    """One page."""

    objects: list[Tree]
    version: str
    token: str
    remaining: int | None

    @property
    def names(self) -> list[str]:
        """The names of its objects."""
        return [each["metadata"]["name"] for each in self.objects]


Event = tuple[str, Tree]


class World:
    """One namespace of one server. Every verb returns what came of it and raises nothing that the server said."""

    def __init__(
        self,
        engine: Engine,
        namespace: str,
        token: str,
        run: Callable[[Awaitable[Any]], Any],
        compact: Callable[[], None],
    ) -> None:
        self.engine = engine
        self.namespace = namespace
        self.token = token
        self.compact = compact
        self._run = run
        self._uids: set[str] = set()
        self._versions: set[str] = set()

    def name(self, stem: str) -> str:
        """A name for an object of cluster scope; it is observed as `stem-TOKEN`."""
        return f"{stem}-{self.token}"

    def key(self, kind: Kind[Any], name: str) -> Key:
        """The key of an object in this world."""
        return Key(self.namespace if kind.namespaced else "", name)

    def get(self, kind: Kind[Any], name: str, *, subresource: str = "") -> Answer | Refused:
        """Read an object."""
        return self._answer(self.engine.get(kind, self.key(kind, name), subresource=subresource))

    def create(self, kind: Kind[Any], content: Tree | bytes) -> Answer | Refused:
        """Create an object."""
        return self._answer(self.engine.create(kind, self.namespace if kind.namespaced else "", _bytes(content)))

    def update(self, kind: Kind[Any], name: str, content: Tree | bytes, *, subresource: str = "") -> Answer | Refused:
        """Replace an object or a subresource."""
        return self._answer(self.engine.update(kind, self.key(kind, name), _bytes(content), subresource=subresource))

    def merge(
        self, kind: Kind[Any], name: str, content: Mapping[str, Any], *, subresource: str = ""
    ) -> Answer | Refused:
        """Merge-patch an object or a subresource."""
        return self.patch(kind, name, Patch.merge(content), subresource=subresource)

    def patch(self, kind: Kind[Any], name: str, patch: Patch, *, subresource: str = "") -> Answer | Refused:
        """Patch an object or a subresource."""
        return self._answer(self.engine.patch(kind, self.key(kind, name), patch, subresource=subresource))

    def delete(
        self, kind: Kind[Any], name: str, *, propagation: Propagation = "Background", uid: str = "", version: str = "",
        grace: int | None = None,
    ) -> Answer | Refused:  # fmt: skip
        """Delete an object."""
        wanted = Preconditions(uid=uid, resource_version=version)
        return self._answer(
            self.engine.delete(
                kind, self.key(kind, name), preconditions=wanted, propagation=propagation, grace_seconds=grace
            )
        )

    def list(self, kind: Kind[Any], **options: Any) -> Listed | Refused:
        """List the objects of this world (or as `namespace` says)."""
        try:
            wanted = ListOptions(**{"namespace": self.namespace if kind.namespaced else "", **options})
            page = self._run(self.engine.list(kind, wanted))
        except EngineError as error:
            return self.refusal(error)
        envelope = {"apiVersion": kind.api_version, "kind": kind.kind}
        objects = [self.observe({**envelope, **json.loads(raw)}) for raw in page.items]
        return Listed(objects, page.resource_version, page.continue_token, page.remaining)

    def pages(self, kind: Kind[Any], limit: int, **options: Any) -> list[list[str]]:
        """The names on every page of a list."""
        pages, token = [], ""
        while True:
            page = self.list(kind, limit=limit, continue_token=token, **options)
            assert isinstance(page, Listed), page
            pages.append(page.names)
            token = page.token
            if not token:
                return pages

    def version(self, kind: Kind[Any]) -> str:
        """The resourceVersion of a fresh list."""
        page = self.list(kind)
        assert isinstance(page, Listed), page
        return page.version

    def watch(self, kind: Kind[Any], count: int | None = None, **options: Any) -> list[Event] | Refused:
        """The events of a watch: the first `count`, or all until the server ends it (`timeout`, one second)."""
        wanted = WatchOptions(
            **{
                "namespace": self.namespace if kind.namespaced else "",
                "timeout": WATCH_LIMIT if count else 1.0,
                "bookmarks": False,
                **options,
            }
        )

        async def collect() -> list[WatchEvent]:
            found: list[WatchEvent] = []
            async with asyncio.timeout(WATCH_LIMIT), self.engine.watch(kind, wanted) as events:
                async for event in events:
                    found.append(event)
                    if count and len(found) == count:
                        break
            return found

        try:
            found: list[WatchEvent] = self._run(collect())
        except EngineError as error:
            return self.refusal(error)
        return [(event.type, self.observe(json.loads(event.object))) for event in found]

    def during(self, kind: Kind[Any], act: Callable[[], Awaitable[object]], count: int, **options: Any) -> list[Event]:
        """The first `count` events of a watch that is open while `act` happens."""
        wanted = WatchOptions(**{"namespace": self.namespace, "timeout": WATCH_LIMIT, "bookmarks": False, **options})

        async def collect() -> list[WatchEvent]:
            async with asyncio.timeout(WATCH_LIMIT), self.engine.watch(kind, wanted) as events:
                stream: AsyncIterator[WatchEvent] = aiter(events)
                waiting = asyncio.ensure_future(anext(stream))
                await asyncio.sleep(0)
                await act()
                found = [await waiting]
                while len(found) < count:
                    found.append(await anext(stream))
                return found

        found: list[WatchEvent] = self._run(collect())
        return [(event.type, self.observe(json.loads(event.object))) for event in found]

    def discover(self, group: str, version: str) -> Any:
        """The resources of a group version."""
        try:
            return self._run(self.engine.discover(group, version))
        except EngineError as error:
            return self.refusal(error)

    def eventually(self, observe: Callable[[], T], expected: T) -> None:
        """Wait until an observation is as expected: what a controller does, it does in its own time."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = observe()
            if found == expected or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        assert found == expected

    def gone(self, kind: Kind[Any], name: str) -> bool:
        """Whether an object does not exist."""
        found = self.get(kind, name)
        return isinstance(found, Refused) and found.code == 404

    def observe(self, tree: Tree) -> Tree:
        """An object without what is volatile."""
        tree = dict(tree)
        metadata = dict(tree.get("metadata") or {})
        self._note(metadata)
        if "deletionTimestamp" in metadata:
            metadata["deletionTimestamp"] = "TIME"
        tree["metadata"] = {
            name: value for name, value in metadata.items() if name not in VOLATILE and value is not None
        }
        if tree.get("kind") == "Status":
            self._note(tree.get("details") or {})
        told: Tree = self._tell(tree)
        return told

    def refusal(self, error: EngineError) -> Refused:
        """An error without what is volatile."""
        details = json.loads(json.dumps(error.details))
        message = error.message
        causes = details.get("causes")
        if causes:
            details["causes"] = sorted(causes, key=lambda cause: (cause.get("field", ""), cause.get("message", "")))
            if len(causes) > 1:
                message = f"{message.partition(' is invalid: ')[0]} is invalid"
        return Refused(error.code, error.reason, self._tell(message), self._tell(details))

    def _note(self, metadata: Mapping[str, Any]) -> None:
        if metadata.get("uid"):
            self._uids.add(metadata["uid"])
        if metadata.get("resourceVersion"):
            self._versions.add(metadata["resourceVersion"])

    def _answer(self, call: Awaitable[bytes]) -> Answer | Refused:
        try:
            raw: bytes = self._run(call)
        except EngineError as error:
            return self.refusal(error)
        tree = json.loads(raw)
        return Answer(self.observe(tree), tree)

    def _tell(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._tell(key): self._tell(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._tell(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        for uid in self._uids:
            text = text.replace(uid, "UID")
        text = text.replace(self.namespace, "NS").replace(self.token, "TOKEN")
        return re.sub(r"\d{3,}", lambda found: "RV" if found[0] in self._versions else found[0], text)


def _bytes(content: Tree | bytes) -> bytes:
    return content if isinstance(content, bytes) else json.dumps(content).encode()


def refused(code: int, reason: str, message: str, **details: Any) -> Refused:
    """What a refusal should look like."""
    return Refused(code, reason, message, details)


def invalid(kind: Kind[Any], name: str, *causes: tuple[str, str, str]) -> Refused:
    """What a 422 with those causes (field, reason without `FieldValue`, message) should look like."""
    typed = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    told = [{"reason": f"FieldValue{reason}", "message": message, "field": path} for path, reason, message in causes]
    told.sort(key=lambda cause: (cause["field"], cause["message"]))
    message = f'{typed} "{name}" is invalid'
    if len(causes) == 1:
        message += f": {causes[0][0]}: {causes[0][2]}"
    details = {"name": name} if name else {}
    details |= {"group": kind.group} if kind.group else {}
    return Refused(422, "Invalid", message, {**details, "kind": kind.kind, "causes": told})


def about(kind: Kind[Any], name: str) -> dict[str, str]:
    """The details of an error about one object."""
    return {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural}


def not_found(kind: Kind[Any], name: str) -> Refused:
    """What a 404 for an object should look like."""
    return Refused(404, "NotFound", f'{kind} "{name}" not found', about(kind, name))


def namespace_body(name: str) -> Tree:
    """A namespace as a client sends it."""
    return {"apiVersion": "v1", "kind": NAMESPACE.kind, "metadata": {"name": name}}
