"""`Change`: what a cache tells its subscribers about one object."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Struct

from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object

O_co = TypeVar("O_co", bound=Object[Any, Any], covariant=True)


class Change(Struct, Generic[O_co], frozen=True, gc=False):
    """One object before and after.

    `old is None` is a creation, `new is None` a deletion. Several events on one key may have been merged into one change:
    `old` is then the first state that the subscriber had not seen replaced, `new` the last. A deletion and a re-creation
    stay two changes (their uids differ).

    Attributes:
        initial: the object was there when the subscriber came; nothing happened to it just now.
        inferred: a deletion that was found missing in a relist; `old` is the last state that was known.
    """

    old: O_co | None
    new: O_co | None
    initial: bool = False
    inferred: bool = False

    @property
    def latest(self) -> O_co:
        """The newest state that is known: `new`, or the last one of a deleted object."""
        latest = self.new if self.new is not None else self.old
        assert latest is not None, "a change has at least one side"  # noqa: S101
        return latest

    @property
    def sides(self) -> tuple[O_co, ...]:
        """Old and new, as far as they exist."""
        return tuple(side for side in (self.old, self.new) if side is not None)

    @property
    def key(self) -> Key:
        """The key of the object."""
        return self.latest.key
