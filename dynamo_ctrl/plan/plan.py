"""`Plan`: what programs would do to a cluster. A value: it can be compared, kept and shown, and it holds no secret.

What only a server knows beforehand (the uids of new objects, the time of a write) stands in it as `KNOWN_LATER`; the values of
Secrets stand in it as hashes (`dynamo_ctrl.objects.disclosure`), and of a generated secret there is nothing but its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dynamo_ctrl.objects.difference import Difference
from dynamo_ctrl.objects.frozen import EMPTY, JsonMap
from dynamo_ctrl.objects.key import Ref

KNOWN_LATER: Final = "(known after the write)"
"""Stands for what a plan cannot know."""


class Action(StrEnum):
    """What happens to an object."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who writes an object: an effect of a program's step, for one of its primaries."""

    controller: str
    primary: Ref
    step: str
    effect: str

    def __str__(self) -> str:
        return f"{self.controller} for {self.primary}, step {self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """What becomes of one object, all writes to it together.

    Attributes:
        action: what happens.
        object: to which object.
        content: of a new object, what it will be; empty otherwise, and for a generated secret.
        differences: of a changed one, what changes; its status is not among them.
        authors: who writes; nobody for an object that goes because its owner does.
        held: the finalizers that keep a deleted object for now.
    """

    action: Action
    object: Ref
    content: JsonMap = field(default_factory=lambda: EMPTY)
    differences: tuple[Difference, ...] = ()
    authors: tuple[Author, ...] = ()
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStatus:
    """A status that changes.

    Attributes:
        object: whose.
        status: what it will be.
        differences: what changes.
    """

    object: Ref
    status: JsonMap
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFailure:
    """Something that would fail, or that a program refuses.

    Attributes:
        controller, primary: whose attempt.
        step: in which step; empty where it is the attempt as a whole.
        reason: what a failure in that step means, where the step says so.
        message: what the program, or the server, says.
        fatal: it ends the attempt.
        terminal: trying again would not help.
    """

    controller: str
    primary: Ref
    step: str = ""
    reason: str = ""
    message: str
    fatal: bool = True
    terminal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """A primary that would run again by itself after that many seconds."""

    controller: str
    primary: Ref
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would happen.

    Attributes:
        writes: by object, in the order in which they are first written; what goes with its owner comes last.
        statuses: of the primaries.
        failures: of the last attempt at each primary.
        later: which primaries would run again by themselves.
        passes: how often all primaries ran until nothing changed.
        restless: what the last pass still wrote, if it never came to rest.
    """

    writes: tuple[PlannedWrite, ...] = ()
    statuses: tuple[PlannedStatus, ...] = ()
    failures: tuple[PlannedFailure, ...] = ()
    later: tuple[Later, ...] = ()
    passes: int = 0
    restless: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether the programs came to rest."""
        return not self.restless

    @property
    def empty(self) -> bool:
        """Whether nothing would be written at all."""
        return not self.writes and not self.statuses and self.settled

    @property
    def counts(self) -> Mapping[Action, int]:
        """How many objects are created, changed and deleted."""
        actions = [write.action for write in self.writes]
        return {action: actions.count(action) for action in Action}
