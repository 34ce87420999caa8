"""Filling a scratch cluster from a real one: what programs watch and read, in some namespaces.

Only lists, gets and discovery are sent; a `Reader` has nothing that writes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

from dynamo_ctrl.cache.state import forbidden
from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.builder import Watch, Watches
from dynamo_ctrl.engine.errors import Forbidden, NotFound
from dynamo_ctrl.engine.port import AnyKind, ListOptions, Page, Resource
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.plan.scratch import Scratch

PAGE: Final = 500
"""Objects of one request."""


class Reader(Protocol):
    """The part of an engine that changes nothing."""

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object."""

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version. Raises `NotFound` where it is not served."""


class Seed:
    """Copies from one cluster into a scratch cluster.

    Args:
        reader: where objects come from.
        scratch: where they go, as they are.
        namespaces: which ones are copied; kinds of cluster scope are copied whole.
    """

    def __init__(self, reader: Reader, scratch: Scratch, namespaces: Iterable[str]) -> None:
        self._reader = reader
        self._scratch = scratch
        self._namespaces = tuple(dict.fromkeys(namespaces))
        self._served: dict[tuple[str, str], tuple[Resource, ...]] = {}

    async def copy(self, watches: Sequence[Watches[Any]]) -> int:
        """Copy what those programs watch and read; the number of objects.

        What the cluster does not serve has no objects, and an optional kind is absent from the scratch cluster as well. One of
        cluster scope that may not be listed has none either: who works in namespaces need not see it.

        Raises:
            SourceUnavailable: the right to list a kind is missing; the error carries the rule that grants it.
            EngineError: the cluster cannot be asked.
        """
        for name in self._namespaces:
            await self._namespace(name)
        count = 0
        needed = {watch.kind for watch in _every(watches) if watch.kind.namespaced or not watch.optional}
        for kind, selectors in _kinds(watches).items():
            if await self.resource(kind.group, kind.version, kind.kind) is None:
                continue
            self._scratch.serve([kind])
            try:
                for selector in selectors:
                    count += await self._objects(kind, selector)
            except SourceUnavailable:
                if kind in needed:
                    raise
        return count

    async def copy_object(self, kind: Kind[Any], key: Key) -> bool:
        """Copy one object; whether it is there. Raises as `copy`."""
        try:
            raw = await self._reader.get(kind, key)
        except NotFound:
            return False
        except Forbidden as error:
            raise _unavailable(kind, key.namespace, error) from error
        self._scratch.restore(kind.decode(raw))
        return True

    async def resource(self, group: str, version: str, kind: str) -> Resource | None:
        """What the cluster serves under that name, if it does."""
        if (group, version) not in self._served:
            try:
                self._served[group, version] = await self._reader.discover(group, version)
            except NotFound:
                self._served[group, version] = ()
        return next((resource for resource in self._served[group, version] if resource.kind == kind), None)

    async def _namespace(self, name: str) -> None:
        try:
            raw = await self._reader.get(NAMESPACE, Key("", name))
        except NotFound:
            return
        except Forbidden:  # it takes no right on namespaces to work in one: believe that it is there
            self._scratch.namespace(name)
            return
        self._scratch.restore(NAMESPACE.decode(raw))

    async def _objects(self, kind: Kind[Any], selector: str) -> int:
        count = 0
        for namespace in self._namespaces if kind.namespaced else ("",):
            try:
                async for raw in _pages(self._reader, kind, namespace, selector):
                    self._scratch.restore(kind.decode(raw))
                    count += 1
            except Forbidden as error:
                raise _unavailable(kind, namespace, error) from error
        return count


async def _pages(reader: Reader, kind: Kind[Any], namespace: str, selector: str) -> AsyncIterator[bytes]:
    token = ""
    while True:
        options = ListOptions(namespace=namespace, label_selector=selector, limit=PAGE, continue_token=token)
        page = await reader.list(kind, options)
        for raw in page.items:
            yield raw
        token = page.continue_token
        if not token:
            return


def _kinds(watches: Iterable[Watches[Any]]) -> dict[Kind[Any], tuple[str, ...]]:
    """Every kind with the selectors that it is watched with; the empty one takes in all others."""
    found: dict[Kind[Any], dict[str, None]] = {}
    for watch in _every(watches):
        found.setdefault(watch.kind, {})[watch.label_selector] = None
    return {kind: ("",) if "" in selectors else tuple(selectors) for kind, selectors in found.items()}


def _every(watches: Iterable[Watches[Any]]) -> Iterator[Watch[Any]]:
    for one in watches:
        yield from one.all


def _unavailable(kind: Kind[Any], namespace: str, error: Forbidden) -> SourceUnavailable:
    return SourceUnavailable(kind, forbidden(kind, namespace, error).reason)
