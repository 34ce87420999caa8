"""`Settled`: primaries that were found as they should be, with everything that was looked at to find that out.

A program that `Settles` answers the same as long as it reads the same. So an attempt at such a primary begins with another look
at what the last one read; if all of it is the very same, nothing is decided, rendered, hashed or validated again.

Contract:

- Kept is an attempt that needed nothing: no write, no failure, no note, no event, and no other run asked for.
- The same is the same object: a cache replaces objects, and never changes one. What is listed must be the same in the same order.
- The lookups that decided about its effects are part of what an attempt read.
- An attempt with a read that failed is not kept, though the program made do without: nobody would see that it can be read again.
- Bounded: one entry for each primary that is there, of at most `READS` answers; who reads more is asked each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, Final, TypeVar

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector
from dynamo_ctrl.program.effect import subject
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.result import Step

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

READS: Final = 1_000
"""Objects that an attempt which is kept has read at most."""


class Reads:
    """A `View` that takes down what is read through it, and can tell whether it would read the same again.

    Args:
        primary: what the attempt is about.
        view: what is read.
    """

    def __init__(self, primary: Object[Any, Any], view: View) -> None:
        self._view = view
        self._single: list[tuple[Callable[..., object], tuple[Any, ...], object]] = []
        self._many: list[tuple[Callable[..., Sequence[Any]], tuple[Any, ...], Sequence[Any]]] = []
        self._asked = 0
        self.primary = primary

    def get(self, kind: Kind[O], key: Key | str) -> O | None:
        """The object with that key, or `None`."""
        self._asked += 1
        found = self._view.get(kind, key)
        self._single.append((self._view.get, (kind, key), found))
        return found

    def list(
        self, kind: Kind[O], *, namespace: str = "", selector: Mapping[str, str] | str | LabelSelector | None = None
    ) -> Sequence[O]:
        """The objects of one namespace (empty: all) that match the label selector (`None`: all)."""
        return self._taken(self._list, kind, namespace, selector)

    def by_index(self, index: Index[O], value: str) -> Sequence[O]:
        """The objects that have `value` in `index`."""
        return self._taken(self._view.by_index, index, value)

    def owned(self, kind: Kind[O], owner: Object[Any, Any]) -> Sequence[O]:
        """The objects of `kind` that `owner` controls."""
        return self._taken(self._view.owned, kind, owner)

    def serves(self, kind: Kind[Any]) -> bool:
        """Whether the cluster has that API."""
        self._asked += 1
        found = self._view.serves(kind)
        self._single.append((self._view.serves, (kind,), found))
        return found

    def _list(
        self, kind: Kind[O], namespace: str, selector: Mapping[str, str] | str | LabelSelector | None
    ) -> Sequence[O]:
        return self._view.list(kind, namespace=namespace, selector=selector)

    def _taken(self, read: Callable[..., Sequence[Any]], *arguments: Any) -> Sequence[Any]:
        self._asked += 1
        found = read(*arguments)
        self._many.append((read, arguments, found))
        return found

    def __len__(self) -> int:
        """How many objects were read."""
        return len(self._single) + sum(len(found) for _, _, found in self._many)

    @property
    def answered(self) -> bool:
        """Whether no read failed."""
        return self._asked == len(self._single) + len(self._many)

    @property
    def unchanged(self) -> bool:
        """Whether every read would be answered as it was."""
        try:
            return all(read(*arguments) is found for read, arguments, found in self._single) and all(
                _same(read(*arguments), found) for read, arguments, found in self._many
            )
        except SourceUnavailable:
            return False

    def with_lookups(self, steps: tuple[Step, ...], report: Report) -> bool:
        """Take down as well what was looked up for the effects; `False` where that cannot be told."""
        for effect in (effect for step in steps for effect in step.effects):
            live = report.live(effect)
            ref = subject(effect, self.primary) if live is None else live.ref
            try:
                if ref is None or self.get(ref.kind, ref.key) is not live:
                    return False
            except SourceUnavailable:
                return False
        return True


class Settled:
    """What was read about each settled primary."""

    def __init__(self) -> None:
        self._reads: dict[Key, Reads] = {}

    def holds(self, key: Key, primary: Object[Any, Any]) -> bool:
        """Whether an attempt at that primary would find again that nothing is to be done."""
        reads = self._reads.get(key)
        return reads is not None and reads.primary is primary and reads.unchanged

    def keep(self, reads: Reads, steps: tuple[Step, ...], report: Report) -> None:
        """An attempt needed nothing."""
        if reads.answered and reads.with_lookups(steps, report) and len(reads) <= READS:
            self._reads[reads.primary.key] = reads

    def forget(self, key: Key) -> None:
        """That primary is gone, or something was done about it."""
        self._reads.pop(key, None)


def _same(now: Sequence[Any], then: Sequence[Any]) -> bool:
    return len(now) == len(then) and all(map(is_, now, then))
