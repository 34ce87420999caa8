"""`Result`: what a program answers. It describes every write and does none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, Literal, TypeVar

import msgspec

from dynamo_ctrl.program.effect import Effect, Event
from dynamo_ctrl.program.report import Report

S = TypeVar("S")

PROGRESS = timedelta(0)
"""`requeue_after=PROGRESS`: run again at once; at most ten times in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Effects that are carried out together, in the order given; they may not depend on each other's answers.

    Attributes:
        name: unique in the result.
        effects: at most one for each object (finalizers aside); a step that breaks this is refused when it would write.
        reason: what an error in this step means, for the status (G 2.5).
        prefix: put before the text of an error.
        on_error: `stop` ends the attempt as failed; `report` lets it go on, and the status function may ask.
        when: run the step only if this holds for the report so far.
    """

    name: str
    effects: tuple[Effect, ...] = ()
    reason: str | None = None
    prefix: str = ""
    on_error: Literal["stop", "report"] = "stop"
    when: Callable[[Report], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A log line about the attempt, told after it."""

    level: Literal["debug", "info", "warning"]
    message: str


class Result(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """The answer of a program.

    Attributes:
        steps: what to do, in order.
        status: `None` leaves the status; a plain value is written only if every step succeeded; a function is asked with the
            report in any case (and may answer `None`: leave it).
        requeue_after: when to run again without an event; ignored when the attempt failed. `PROGRESS` means at once.
        notes: told after the attempt.
        events: told after an attempt that did not fail, each time; the recorder makes a series of repeats. What is
            about a write hangs on its effect, what is about the status on its transition: this is for what is only seen.
        transitions: events for the status write, besides those of the program's own `transitions`, where they need more than
            the two statuses. Told, like those, only with the pair that was really written.
    """

    steps: tuple[Step, ...] = ()
    status: S | Callable[[Report], S | None] | None = None
    requeue_after: timedelta | Callable[[Report], timedelta | None] | None = None
    notes: tuple[Note, ...] = ()
    events: tuple[Event, ...] = ()
    transitions: Callable[[S | None, S], tuple[Event, ...]] | None = None
