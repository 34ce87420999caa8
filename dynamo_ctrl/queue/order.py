"""`Order`: which of the ready keys goes next. `Fifo` and `Priorities` are the two there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from dynamo_ctrl.queue.entry import Entry

K = TypeVar("K")


class Order(Protocol[K]):
    """Holds the entries that are ready. Entries whose key runs have a place in it or get one later, as the order sees fit."""

    def push(self, entry: Entry[K]) -> None:
        """The entry became ready (state `QUEUED`), at the end of its class."""

    def pop(self, now: float) -> Entry[K] | None:
        """Take out the next entry that is not locked."""

    def reserve(self, entry: Entry[K]) -> None:
        """The entry is wanted while its key runs (state `LOCKED`)."""

    def release(self, entry: Entry[K]) -> None:
        """The run of its key has ended: the locked entry is ready."""

    def withdraw(self, entry: Entry[K]) -> Entry[K]:
        """Give up the place of a locked entry. What comes back, that entry or one instead of it, has no place."""

    def promote(self, entry: Entry[K], priority: int) -> Entry[K]:
        """A ready or locked entry gets a higher priority. Returns that entry, or one instead of it."""

    def more(self) -> bool:
        """Whether something is ready; cheap, and `True` may be wrong in favour of one more look."""

    def depths(self) -> Iterable[tuple[str, int]]:
        """How many entries are ready, by the label of their class; locked ones do not count."""

    def __len__(self) -> int: ...
