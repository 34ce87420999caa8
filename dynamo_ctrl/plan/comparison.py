"""What became of a scratch cluster between two moments, by object, as it may be shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.builtin.core import SERVICE
from dynamo_ctrl.objects.conditions import rfc3339
from dynamo_ctrl.objects.difference import Difference, differences
from dynamo_ctrl.objects.disclosure import disclosed
from dynamo_ctrl.objects.frozen import EMPTY, JsonMap, freeze
from dynamo_ctrl.objects.key import Ref
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.plan.plan import KNOWN_LATER, Action
from dynamo_ctrl.plan.scratch import Scratch

_OF_THE_SERVER: Final = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"}
)

_UID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

AnyObject = Object[Any, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """One object before and after; at least one of them is there."""

    before: AnyObject | None
    after: AnyObject | None

    @property
    def ref(self) -> Ref:
        """Which object."""
        present = self.after if self.after is not None else self.before
        assert present is not None, "a pair has at least one side"  # noqa: S101
        return present.ref

    @property
    def action(self) -> Action:
        """What happened to it, if anything did."""
        if self.before is None:
            return Action.CREATE
        if self.after is None or (
            self.after.metadata.deletion_timestamp is not None and self.before.metadata.deletion_timestamp is None
        ):
            return Action.DELETE
        return Action.UPDATE


class Comparison:
    """The objects of some kinds, at a version of a scratch cluster and now.

    Args:
        scratch: where they are.
        since: the version that is compared with. Raises `Expired` if history does not reach back to it.
        kinds: which ones; those that are not served are left out.
        times: moments that only stand for "then": what was written at one of them is known after the write.
    """

    def __init__(self, scratch: Scratch, since: int, kinds: Iterable[Kind[Any]], times: Iterable[datetime]) -> None:
        self._pairs: dict[Ref, Pair] = {}
        self._invented: set[str] = set()
        for kind in dict.fromkeys(kinds):
            if scratch.core.serves(kind):
                self._compare(scratch.core, since, kind)
        self._invented -= scratch.restored
        self._times = {rfc3339(time) for time in times}

    def _compare(self, core: Core, since: int, kind: Kind[Any]) -> None:
        then = core.list(kind, ListOptions(resource_version=str(since), match="Exact"))
        before = {obj.ref: obj for obj in map(kind.decode, then.items)}
        after = {obj.ref: obj for obj in map(kind.decode, core.list(kind, ListOptions()).items)}
        self._invented |= {obj.metadata.uid for obj in after.values()}
        for ref in (*before, *(ref for ref in after if ref not in before)):
            old, new = before.get(ref), after.get(ref)
            if old is None or new is None or old.metadata.resource_version != new.metadata.resource_version:
                self._pairs[ref] = Pair(old, new)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self._pairs.values())

    def of(self, ref: Ref) -> Pair | None:
        """What became of that object; `None` if nothing did."""
        return self._pairs.get(ref)

    def content(self, obj: AnyObject) -> JsonMap:
        """An object as it may be shown: without what the server adds, and without a status that has a writer of its own."""
        content: JsonMap = freeze(self._masked(_visible(obj)))
        return content

    def changes(self, pair: Pair) -> tuple[Difference, ...]:
        """What changed of an object, apart from such a status."""
        return tuple(differences(self._side(pair.before), self._side(pair.after)))

    def status(self, pair: Pair) -> tuple[JsonMap, tuple[Difference, ...]]:
        """The status of an object now, and what changed of it."""
        old, new = (freeze(self._masked(_status(side))) for side in (pair.before, pair.after))
        return new or EMPTY, tuple(differences(old, new, "status"))

    def _side(self, obj: AnyObject | None) -> JsonMap:
        return EMPTY if obj is None else self.content(obj)

    def _masked(self, tree: Any) -> Any:
        if isinstance(tree, Mapping):
            return {key: self._masked(value) for key, value in tree.items()}
        if isinstance(tree, str):
            if tree in self._times:
                return KNOWN_LATER
            return _UID.sub(self._known, tree)
        if isinstance(tree, Sequence):
            return [self._masked(value) for value in tree]
        return tree

    def _known(self, found: re.Match[str]) -> str:
        return KNOWN_LATER if found[0] in self._invented else found[0]


def _visible(obj: AnyObject) -> dict[str, Any]:
    content = disclosed(obj.kind, obj.content())
    if obj.kind.status_subresource:
        content.pop("status", None)
    content["metadata"] = {name: value for name, value in content["metadata"].items() if name not in _OF_THE_SERVER}
    if obj.kind == SERVICE and "spec" in content:
        content["spec"] = {name: value for name, value in content["spec"].items() if not _is_assigned(name, value)}
    return content


def _is_assigned(name: str, value: Any) -> bool:
    """Whether it is an address that the server gave a Service; that it has none is for its author to say."""
    return name in ("clusterIP", "clusterIPs") and value not in ("None", ["None"])


def _status(obj: AnyObject | None) -> Any:
    return {} if obj is None else msgspec.json.decode(obj.section("status") or b"null") or {}
