"""`Sink`: what a reflector needs of its informer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

from dynamo_ctrl.cache.decisions import Replace
from dynamo_ctrl.cache.replacement import Staging
from dynamo_ctrl.cache.state import SourceState
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Sink(Protocol[O]):
    """Where the answers of a server go. Iterators are the steps of a long work: nobody else's turn comes before all are taken."""

    kind: Kind[O]

    def mark(self) -> int:
        """The last own write so far: a list that is asked for after this holds it, if it is consistent."""

    def stage(self, scope: str, *, comparable: bool, since: int) -> Staging[O]:
        """Begin a replacement that was asked for at that mark."""

    def replace(self, staging: Staging[O], decision: Replace) -> Iterator[None]:
        """Make it visible at once, then tell what changed and give back what was replaced."""

    def clear(self, scope: str, now: SourceState) -> Iterator[None]:
        """The API is gone, and every object of that scope with it."""

    def put(self, scope: str, obj: O) -> None:
        """A created or changed object."""

    def remove(self, scope: str, raw: bytes, obj: O | None) -> None:
        """A deleted object; `None` if its last state cannot be read."""

    def advance(self, scope: str, version: str) -> None:
        """The content stands for that version."""

    def bookmark(self, scope: str, version: str) -> None:
        """Everything up to that version was told."""

    def enter(self, scope: str, now: SourceState) -> None:
        """The state of that scope."""

    def is_complete(self, scope: str) -> bool:
        """Whether that scope was ever complete, and its API not gone since."""
