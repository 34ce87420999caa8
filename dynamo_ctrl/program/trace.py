"""`Traces`: what the last attempts at each key did, and why. For people who ask; nothing is decided with it.

Contract:

- A `Trace` takes down what came of each effect of an attempt, in order, and of the status write. What a program raised or the
  server refused is taken down as text; no object, error or patch is kept alive by it.
- A Secret's values never get in, not even into a text of differences (`dynamo_ctrl.objects.disclosure`).
- Bounded: the last attempt of at most `KEYS` keys (and of at least half as many, those that ran last), and of `KEYS` keys the
  last `NOTABLE` attempts that wrote or failed; of each write `PATHS` differences, of each value `VALUE` characters.
- One that does nothing costs a fraction of a microsecond.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.objects.difference import ABSENT, Difference
from dynamo_ctrl.objects.disclosure import disclosed_difference
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.program.effect import Effect
from dynamo_ctrl.program.report import Failure

KEYS: Final = 1_000
NOTABLE: Final = 4
PATHS: Final = 20
VALUE: Final = 120
MESSAGE: Final = 1_000
"""Characters that are kept of an error's text."""


class Did(StrEnum):
    """What came of an effect."""

    UNCHANGED = "unchanged"
    """It was so already."""
    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    FAILED = "failed"
    """The program refused, or the server, or the world."""


class Told(NamedTuple):
    """A difference as it may be shown and kept: values as JSON, cut; `None` where there is none."""

    path: str
    old: str | None
    new: str | None


class Line(NamedTuple):
    """What came of one effect.

    Attributes:
        step: the step that it belongs to.
        effect: its type, as `Sync`.
        did: what came of it.
        object: what it is about, if that is known.
        differences: what a write changed, the first ones.
        more: how many further differences there were.
        edited: the write undid what somebody had changed by hand.
        reason: what a failure in the step means, where the step says so.
        message: why it failed.
        fatal: the failure ended the attempt.
    """

    step: str
    effect: str
    did: Did
    object: Ref | None
    differences: tuple[Told, ...] = ()
    more: int = 0
    edited: bool = False
    reason: str = ""
    message: str = ""
    fatal: bool = False


class Trace(msgspec.Struct, eq=False):
    """One attempt at one key.

    Attributes:
        at: when it began.
        lines: what came of its effects.
        status: what the status write changed; empty when nothing was written.
        answer: what it told the controller. The error of a kept one is replaced by `error`.
        error: the type and the text of its error; of a conflict what it was about.
    """

    at: datetime
    lines: list[Line] = []
    status: tuple[Told, ...] = ()
    answer: Answer = DONE
    error: str = ""

    def unchanged(self, step: str, effect: Effect, object_: Ref | None) -> None:
        """Nothing had to be sent, or what was sent changed nothing."""
        self.lines.append(Line(step, type(effect).__name__, Did.UNCHANGED, object_))

    def wrote(
        self,
        step: str,
        effect: Effect,
        did: Did,
        object_: Ref,
        differences: Sequence[Difference] = (),
        *,
        edited: bool = False,
    ) -> None:
        """A write changed something."""
        told = shown(object_.kind, differences)
        more = max(0, len(differences) - PATHS)
        self.lines.append(Line(step, type(effect).__name__, did, object_, told, more, edited))

    def failed(self, effect: Effect, object_: Ref | None, failure: Failure) -> None:
        """The effect came to nothing."""
        line = Line(
            failure.step, type(effect).__name__, Did.FAILED, object_,
            reason=failure.reason or "", message=failure.message[:MESSAGE], fatal=failure.fatal,
        )  # fmt: skip
        self.lines.append(line)

    def status_written(self, kind: Kind[Any], differences: Sequence[Difference]) -> None:
        """The status write changed something."""
        self.status = shown(kind, differences)

    @property
    def notable(self) -> bool:
        """Whether it did anything: a write, or a failure."""
        if self.status or self.error:
            return True
        return any(line.did is not Did.UNCHANGED for line in self.lines)


class History(NamedTuple):
    """What is kept of one key.

    Attributes:
        last: the last attempt.
        notable: the last attempts that wrote or failed, the oldest first; the last one may be among them.
    """

    last: Trace
    notable: tuple[Trace, ...]


class Traces:
    """The attempts of one controller.

    Args:
        keys: of how many keys they are kept at most.
    """

    def __init__(self, keys: int = KEYS) -> None:
        self._keys = keys
        self._half = (keys + 1) // 2
        self._young: dict[Key, Trace] = {}
        self._old: dict[Key, Trace] = {}
        self._notable: OrderedDict[Key, deque[Trace]] = OrderedDict()

    def keep(self, key: Key, trace: Trace, answer: Answer) -> None:
        """The attempt is over, with that answer."""
        self.calm(key, trace)
        if answer is not DONE:
            if answer.error is not None:
                trace.error = f"{type(answer.error).__name__}: {answer.error}"[:MESSAGE]
                answer = Answer(terminal=answer.terminal, panic=answer.panic)
            trace.answer = answer
        if (trace.lines or trace.status or trace.error) and trace.notable:
            self._note(key, trace)

    def calm(self, key: Key, trace: Trace) -> None:
        """An attempt did nothing and is done. Many of them may share a trace."""
        young = self._young
        young[key] = trace
        if len(young) >= self._half:
            self._old, self._young = young, {}

    def again(self, key: Key, calm: Trace) -> None:
        """An attempt found everything as the last one had left it: that one stays the last; `calm` if it is forgotten."""
        self.calm(key, self._young.get(key) or self._old.get(key) or calm)

    def _note(self, key: Key, trace: Trace) -> None:
        notable = self._notable.get(key)
        if notable is None:
            notable = self._notable[key] = deque(maxlen=NOTABLE)
            if len(self._notable) > self._keys:
                self._notable.popitem(last=False)
        else:
            self._notable.move_to_end(key)
        notable.append(trace)

    def of(self, key: Key) -> History | None:
        """What is known of that key; `None` if it never ran, or too long ago."""
        notable = tuple(self._notable.get(key, ()))
        last = self._young.get(key) or self._old.get(key) or (notable[-1] if notable else None)
        return None if last is None else History(last, notable)

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys() | self._notable.keys())


def shown(kind: Kind[Any], differences: Iterable[Difference]) -> tuple[Told, ...]:
    """The first `PATHS` differences between two objects of that kind, as they may be shown."""
    told = []
    for difference, _ in zip(differences, range(PATHS), strict=False):
        path, old, new = disclosed_difference(kind, difference)
        told.append(Told(path, text(old), text(new)))
    return tuple(told)


def text(value: Any) -> str | None:
    """A JSON value in one line, cut; `None` for nothing."""
    if value is ABSENT:
        return None
    whole = msgspec.json.encode(value).decode()
    return whole if len(whole) <= VALUE else f"{whole[: VALUE - 3]}..."
