"""`World`: one namespace of one server, driven by plain calls, and what is observed there.

An observation is a whole answer without what two servers can never have in common: `VOLATILE` names those fields. Names
that a world makes up are told as constants: its namespace as `NS`, its token as `TOKEN`, uids as `UID`, resourceVersions in
texts as `RV`, the moment of a deletion as `TIME`. Causes of a 422 are sorted and told once, since a real server tells them in
any order, and some of them as often as it comes by them.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.port import Engine, ListOptions, Preconditions, Propagation, WatchEvent, WatchOptions
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from tests.conformance.outcome import Listed, Outcome, Pages, Tree, Watched

VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink")
"""Metadata fields that differ between two servers by nature."""

WATCH_LIMIT = 20.0
"""Seconds after which a watch that should have delivered fails the test."""


class World:
    """One namespace of one server. Every verb returns what came of it and raises nothing that the server said."""

    def __init__(
        self,
        engine: Engine,
        namespace: str,
        token: str,
        run: Callable[[Awaitable[Any]], Any],
        compact: Callable[[], None],
        patience: float,
    ) -> None:
        self.engine = engine
        self.namespace = namespace
        self.token = token
        self.compact = compact
        self._patience = patience
        self._run = run
        self._uids: set[str] = set()
        self._versions: set[str] = set()

    def elsewhere(self, namespace: str) -> World:
        """Another namespace of the same server, which may or may not be there."""
        return World(self.engine, namespace, self.token, self._run, self.compact, self._patience)

    def name(self, stem: str) -> str:
        """A name for an object of cluster scope; it is observed as `stem-TOKEN`."""
        return f"{stem}-{self.token}"

    def key(self, kind: Kind[Any], name: str) -> Key:
        """The key of an object in this world."""
        return Key(self.namespace if kind.namespaced else "", name)

    def get(self, kind: Kind[Any], name: str, *, subresource: str = "") -> Outcome:
        """Read an object."""
        return self._answer(self.engine.get(kind, self.key(kind, name), subresource=subresource))

    def create(self, kind: Kind[Any], content: Tree | bytes, *, strict: bool = False) -> Outcome:
        """Create an object."""
        namespace = self.namespace if kind.namespaced else ""
        return self._answer(self.engine.create(kind, namespace, _bytes(content), strict=strict))

    def update(self, kind: Kind[Any], name: str, content: Tree | bytes, *, subresource: str = "") -> Outcome:
        """Replace an object or a subresource."""
        return self._answer(self.engine.update(kind, self.key(kind, name), _bytes(content), subresource=subresource))

    def merge(self, kind: Kind[Any], name: str, content: Mapping[str, Any], *, subresource: str = "") -> Outcome:
        """Merge-patch an object or a subresource."""
        return self.patch(kind, name, Patch.merge(content), subresource=subresource)

    def patch(
        self, kind: Kind[Any], name: str, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> Outcome:
        """Patch an object or a subresource."""
        return self._answer(
            self.engine.patch(kind, self.key(kind, name), patch, subresource=subresource, strict=strict)
        )

    def delete(
        self, kind: Kind[Any], name: str, *, propagation: Propagation = "Background", uid: str = "", version: str = "",
        grace: int | None = None,
    ) -> Outcome:  # fmt: skip
        """Delete an object."""
        wanted = Preconditions(uid=uid, resource_version=version)
        return self._answer(
            self.engine.delete(
                kind, self.key(kind, name), preconditions=wanted, propagation=propagation, grace_seconds=grace
            )
        )

    def list(self, kind: Kind[Any], **options: Any) -> Listed:
        """List the objects of this world (or as `namespace` says)."""
        try:
            wanted = ListOptions(**{"namespace": self.namespace if kind.namespaced else "", **options})
            page = self._run(self.engine.list(kind, wanted))
        except EngineError as error:
            return Listed(**self._refusal(error))
        envelope = {"apiVersion": kind.api_version, "kind": kind.kind}
        objects = [self.observe({**envelope, **json.loads(raw)}) for raw in page.items]
        return Listed(
            objects=objects,
            list_version=page.resource_version,
            token=page.continue_token,
            remaining=page.remaining,
        )

    def pages(self, kind: Kind[Any], limit: int, **options: Any) -> Pages:
        """The names on every page of a list."""
        pages, token = [], ""
        while True:
            page = self.list(kind, limit=limit, continue_token=token, **options)
            pages.append(page.names)
            token = page.token
            if not token:
                return pages

    def version(self, kind: Kind[Any]) -> str:
        """The resourceVersion of a fresh list."""
        return self.list(kind).version

    def watch(self, kind: Kind[Any], count: int | None = None, **options: Any) -> Watched:
        """The events of a watch: the first `count`, or all until the server ends it (`timeout`, one second)."""
        wanted = WatchOptions(
            **{
                "namespace": self.namespace if kind.namespaced else "",
                "timeout": WATCH_LIMIT if count else 1.0,
                "bookmarks": False,
                **options,
            }
        )

        async def collect() -> Sequence[WatchEvent]:
            found = []
            async with asyncio.timeout(WATCH_LIMIT), self.engine.watch(kind, wanted) as events:
                async for event in events:
                    found.append(event)
                    if count and len(found) == count:
                        break
            return found

        try:
            found: Sequence[WatchEvent] = self._run(collect())
        except EngineError as error:
            return Watched(**self._refusal(error))
        return Watched(found=[(event.type, self.observe(json.loads(event.object))) for event in found])

    def during(self, kind: Kind[Any], act: Callable[[], Awaitable[object]], count: int, **options: Any) -> Watched:
        """The first `count` events of a watch that is open while `act` happens."""
        wanted = WatchOptions(**{"namespace": self.namespace, "timeout": WATCH_LIMIT, "bookmarks": False, **options})

        async def collect() -> Sequence[WatchEvent]:
            async with asyncio.timeout(WATCH_LIMIT), self.engine.watch(kind, wanted) as events:
                stream: AsyncIterator[WatchEvent] = aiter(events)
                waiting = asyncio.ensure_future(anext(stream))
                await asyncio.sleep(0)
                await act()
                found = [await waiting]
                while len(found) < count:
                    found.append(await anext(stream))
                return found

        seen: Sequence[WatchEvent] = self._run(collect())
        return Watched(found=[(event.type, self.observe(json.loads(event.object))) for event in seen])

    def discover(self, group: str, version: str) -> Any:
        """The resources of a group version."""
        try:
            return self._run(self.engine.discover(group, version))
        except EngineError as error:
            return Outcome(**self._refusal(error))

    def eventually(self, observe: Callable[[], object], expected: object) -> None:
        """Wait until an observation is as expected: what a controller does, it does in its own time."""
        deadline = time.monotonic() + self._patience
        while True:
            found = observe()
            if found == expected or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        assert found == expected

    def accepted(self, act: Callable[[], Outcome]) -> Outcome:
        """The first success of a write that a server may refuse at first (a new namespace gets its ServiceAccount late)."""
        deadline = time.monotonic() + self._patience
        found = act()
        while found.refused and time.monotonic() < deadline:
            time.sleep(0.05)
            found = act()
        assert not found.refused, found
        return found

    def gone(self, kind: Kind[Any], name: str) -> bool:
        """Whether an object does not exist."""
        return self.get(kind, name).code == 404

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

    def _refusal(self, error: EngineError) -> dict[str, Any]:
        details = json.loads(json.dumps(error.details))
        message = error.message
        causes = details.get("causes")
        if causes:
            once = {(cause.get("field", ""), cause.get("message", "")): cause for cause in causes}
            details["causes"] = [once[key] for key in sorted(once)]
            if len(once) > 1:
                message = f"{message.partition(' is invalid: ')[0]} is invalid"
        return {
            "code": error.code,
            "reason": error.reason,
            "message": self._tell(message),
            "details": self._tell(details),
        }

    def _note(self, metadata: Mapping[str, Any]) -> None:
        if metadata.get("uid"):
            self._uids.add(metadata["uid"])
        if metadata.get("resourceVersion"):
            self._versions.add(metadata["resourceVersion"])

    def _answer(self, call: Awaitable[bytes]) -> Outcome:
        try:
            raw: bytes = self._run(call)
        except EngineError as error:
            return Outcome(**self._refusal(error))
        tree = json.loads(raw)
        return Outcome(content=self.observe(tree), origin=tree)

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


def namespace_body(name: str) -> Tree:
    """A namespace as a client sends it."""
    return {"apiVersion": "v1", "kind": NAMESPACE.kind, "metadata": {"name": name}}
