"""`Index`: a declared way to find objects of one kind by a value that a function takes from them; and how it is kept.

An `IndexTable` remembers the values under which it filed an object, so that it never asks the function about an old object
again: an extractor that changes its mind, or fails, cannot leave an entry behind.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

import structlog

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

log = structlog.get_logger()

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741
K = TypeVar("K", str, tuple[str, str])

Where: TypeAlias = tuple[str, str]
"""Namespace and name as a plain tuple: equal to the `Key`, cheaper to make, and invisible to the garbage collector."""


STEP: Final = 50
"""Objects that are dealt with in one step of a long work: well under a millisecond, whatever extractors do. The clock is asked
after each step."""

NAMES: Final = 1_000
"""Entries that are only compared, or forgotten, in one step."""


def where(obj: Object[Any, Any]) -> Where:
    """Namespace and name of `obj`."""
    metadata = obj.metadata
    return metadata.namespace, metadata.name


@dataclass(frozen=True, slots=True)
class Index(Generic[O]):
    """An index over the objects of `kind`.

    Attributes:
        name: unique in its kind; it names the index in logs and metrics.
        kind: what is indexed.
        values: the values of one object: none, one or several; duplicates collapse. It must be pure. If it raises, or yields
            something else than strings, the object is indexed under no value, and the failure is logged and counted.
    """

    name: str
    kind: Kind[O]
    values: Callable[[O], Iterable[str]]

    def __repr__(self) -> str:
        return f"Index({self.name} of {self.kind})"


class Buckets(Generic[K, O]):
    """From a value to the objects filed under it, each by its key. A bucket of one is the object itself: no dictionary for it.

    The objects themselves are filed, so that a look-up touches nothing but its bucket; whoever changes an object files it anew.
    A bucket is brought into the order of keys when it is read, and stays in it until another key comes.

    Args:
        key: the key of an object.

    Attributes:
        size: how many entries there are, over all values.
    """

    __slots__ = ("_buckets", "_key", "_ordered", "size")

    def __init__(self, key: Callable[[O], K]) -> None:
        self._key: Callable[[O], K] = key
        self._buckets: dict[str, O | dict[K, O]] = {}
        self._ordered: set[str] = set()
        self.size = 0

    def put(self, value: str, at: K, obj: O) -> None:
        """File `obj`, whose key is `at`, under `value`; it takes the place of an older state."""
        found = self._buckets.get(value)
        if found is None:
            self._buckets[value] = obj
            self.size += 1
        elif isinstance(found, dict):
            if at not in found:
                self.size += 1
                if self._ordered:
                    self._ordered.discard(value)
            found[at] = obj
        elif (other := self._key(found)) == at:
            self._buckets[value] = obj
        else:
            self._buckets[value] = {other: found, at: obj}
            self.size += 1

    def drop(self, value: str, at: K) -> None:
        """Take what has the key `at` away from `value`; nothing happens if it is not there."""
        found = self._buckets.get(value)
        if isinstance(found, dict):
            if at not in found:
                return
            del found[at]
            if len(found) == 1:
                (self._buckets[value],) = found.values()
                self._ordered.discard(value)
        elif found is not None and self._key(found) == at:
            del self._buckets[value]
        else:
            return
        self.size -= 1

    def count(self, value: str) -> int:
        """How many objects are filed under `value`."""
        found = self._buckets.get(value)
        return 0 if found is None else len(found) if isinstance(found, dict) else 1

    def list(self, value: str) -> list[O]:
        """The objects filed under `value`, in the order of their keys."""
        found = self._buckets.get(value)
        if found is None:
            return []
        if not isinstance(found, dict):
            return [found]
        bucket: dict[K, O] = found
        if value not in self._ordered:
            keys = sorted(bucket)
            if keys != [*bucket]:
                bucket = self._buckets[value] = {key: bucket[key] for key in keys}
            self._ordered.add(value)
        return [*bucket.values()]

    def keys(self, value: str) -> Set[K]:
        """The keys of the objects filed under `value`, to be read at once and not kept."""
        found = self._buckets.get(value)
        if isinstance(found, dict):
            return found.keys()
        return frozenset() if found is None else frozenset((self._key(found),))

    def values(self) -> Iterable[str]:
        """The values that something is filed under."""
        return self._buckets.keys()

    def release(self) -> Iterator[None]:
        """Forget everything, a bounded piece in each step."""
        yield from popped(self._buckets)


def popped(mapping: dict[Any, Any], step: int = NAMES) -> Iterator[None]:
    """Empty `mapping`, a bounded piece in each step: giving back the memory of many entries at once takes long."""
    while mapping:
        for _ in range(min(step, len(mapping))):
            mapping.popitem()
        yield


class IndexTable(Generic[O]):
    """One declared index over one body of objects.

    Attributes:
        index: what is kept.
        buckets: the objects by value.
        failures: how often the extractor raised.
    """

    __slots__ = ("_values", "buckets", "failures", "index")

    def __init__(self, index: Index[O]) -> None:
        self.index = index
        self.buckets: Buckets[Where, O] = Buckets(where)
        self.failures = 0
        self._values: dict[Where, tuple[str, ...]] = {}

    def put(self, at: Where, obj: O) -> None:
        """File a new state of the object at `at`, and take its old values away."""
        new = self._extract(obj)
        old = self._values.get(at, ())
        for value in new:
            self.buckets.put(value, at, obj)
        if new == old:
            return
        for value in old:
            if value not in new:
                self.buckets.drop(value, at)
        if new:
            self._values[at] = new
        else:
            del self._values[at]

    def remove(self, at: Where) -> None:
        """Forget the object at `at`."""
        for value in self._values.pop(at, ()):
            self.buckets.drop(value, at)

    def release(self) -> Iterator[None]:
        """Forget everything, a bounded piece in each step."""
        yield from popped(self._values)
        yield from self.buckets.release()

    def _extract(self, obj: O) -> tuple[str, ...]:
        try:
            values = self.index.values(obj)
            if isinstance(values, str):
                raise TypeError(f"the values must be an iterable of strings, not the string {values!r}")
            found = tuple(dict.fromkeys(values))
            for value in found:
                if not isinstance(value, str):
                    raise TypeError(f"the values must be strings, not {value!r}")
            return found
        except (
            Exception,
            CancelledError,
            GeneratorExit,
        ):  # foreign code, which does not await: it must not stop the watch
            self.failures += 1
            if self.failures == 1:
                log.warning(
                    "index extractor failed; the object has no value in it",
                    index=self.index.name, kind=str(obj.kind), key=str(obj.key), exc_info=True,
                )  # fmt: skip
            return ()
