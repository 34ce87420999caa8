"""`Weather`: what befalls the requests and the events of one client on their way. It decides; `dynamo_ctrl.testing.wire` acts.

    Weather()                      calm: everything arrives at once
    AtRequest(7, Fate(lost=True))  one request is struck
    AtEvent(12, Break.GONE)        one event of all watches is struck
    ToldAgain(12)                  with one event comes everything again that the client was told before
    While(10, 30, Fate(lost=True)) every request of that time is struck
    Storm(seed, until=60)          everything is, at random, until that moment

Weather depends on its arguments and on what it was asked before: the same seed and questions give the same answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final, TypeAlias

import msgspec

from dynamo_ctrl.engine.errors import (
    EngineError,
    ServerError,
    ServerTimeout,
    TooManyRequests,
    Unanswered,
    Unavailable,
    Unreachable,
)
from dynamo_ctrl.engine.forwarding import Verb
from dynamo_ctrl.engine.port import AnyKind, WatchEvent
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.key import Key

WRITES: Final = frozenset({"create", "update", "patch", "delete"})
"""The verbs that change something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request.

    Attributes:
        number: which of its client's requests, counted from 1.
        at: when it was sent.
        key: of the object; for lists, watches and creates only its namespace means something.
    """

    number: int
    at: float
    verb: Verb
    kind: AnyKind
    key: Key
    subresource: str = ""

    def __str__(self) -> str:
        return f"request {self.number}: {self.verb} {self.kind} {self.key} {self.subresource}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of one request.

    Attributes:
        there: seconds to the server.
        back: seconds of the answer's way.
        instead: the answer, in place of being carried out.
        lost: it is carried out, and the answer never comes.
    """

    there: float = 0.0
    back: float = 0.0
    instead: EngineError | None = None
    lost: bool = False


class Break(Enum):
    """How a stream of events is struck. What was to come after it is lost."""

    END = "a normal end"
    CUT = "the connection breaks"
    GONE = "410: history was compacted meanwhile"
    SILENT = "half open: nothing comes any more, and nobody says so"


FINE: Final = Fate()

Told: TypeAlias = WatchEvent | Break


class Weather:
    """Calm weather; the others change what they are about."""

    def request(self, asked: Asked) -> Fate:
        """What becomes of that request; of a watch: of its opening."""
        del asked
        return FINE

    def late(self, asked: Asked, now: float) -> float:
        """Seconds that the next events of that watch take."""
        del asked, now
        return 0.0

    def events(self, asked: Asked, now: float, first: int, events: Sequence[WatchEvent]) -> Sequence[Told]:
        """What the client is told of `events`; `first` is the number of the first one among all that this client was told."""
        del asked, now, first
        return events


class AtRequest(Weather):
    """One request is struck; those to Leases, which come by the clock, are not counted.

    Attributes:
        seen: how many there were so far.
        struck: the one that was.
    """

    def __init__(self, number: int, fate: Fate = FINE) -> None:
        self.seen = 0
        self.struck: Asked | None = None
        self._number = number
        self._fate = fate

    def request(self, asked: Asked) -> Fate:
        """The fate, when the turn has come."""
        if asked.kind == LEASE:
            return FINE
        self.seen += 1
        if self.seen != self._number:
            return FINE
        self.struck = asked
        return self._fate


class AtEvent(Weather):
    """One event is struck: right before it reaches the client, or right after."""

    def __init__(self, number: int, how: Break, *, before: bool = False) -> None:
        self._number = number
        self._how = how
        self._before = before

    def events(self, asked: Asked, now: float, first: int, events: Sequence[WatchEvent]) -> Sequence[Told]:
        """The events, and the break among them."""
        del asked, now
        at = self._number - first
        if not 0 <= at < len(events):
            return events
        return [*events[: at if self._before else at + 1], self._how]


class ToldAgain(Weather):
    """With one event comes everything again that its watch has told before; then that event once more."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._told: dict[Asked, list[WatchEvent]] = {}

    def events(self, asked: Asked, now: float, first: int, events: Sequence[WatchEvent]) -> Sequence[Told]:
        """The events, with the old ones among them."""
        del now
        known = self._told.setdefault(asked, [])
        at = self._number - first
        before = [*known, *events[: at + 1]] if 0 <= at < len(events) else []
        known += events
        return [*events[: at + 1], *before, *events[at + 1 :]] if before else events


class While(Weather):
    """Every request of a time is struck, those to Leases included."""

    def __init__(self, begin: float, end: float, fate: Fate) -> None:
        self._begin = begin
        self._end = end
        self._fate = fate

    def request(self, asked: Asked) -> Fate:
        """The fate, within the time."""
        return self._fate if self._begin <= asked.at < self._end else FINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """How often what happens in a storm; of requests, of batches of events. Each is a probability.

    Attributes:
        throttled, failed, refused, lost, slow: of a request.
        ended, cut, gone, silent: of a batch: the stream breaks somewhere in it.
        late, twice, again, mixed: of a batch: it comes late, an event comes twice, the batch is told a second time in order,
            events of different objects change places.
    """

    throttled: float = 0.05
    failed: float = 0.05
    refused: float = 0.02
    lost: float = 0.05
    slow: float = 0.1
    ended: float = 0.03
    cut: float = 0.03
    gone: float = 0.03
    silent: float = 0.01
    late: float = 0.3
    twice: float = 0.1
    again: float = 0.05
    mixed: float = 0.1


class Storm(Weather):
    """Everything at random until a moment, then calm.

    Args:
        seed: of everything.
        until: seconds of the loop's time.
        odds: how bad it is.
        slowest: seconds that one way takes at most.
    """

    def __init__(self, seed: int | str, *, until: float, odds: Odds | None = None, slowest: float = 3.0) -> None:
        self._random = Random(seed)  # noqa: S311  (weather, not a secret)
        self._until = until
        self._odds = odds if odds is not None else Odds()
        self._slowest = slowest

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def _while(self) -> float:
        """A short time, rarely a long one."""
        return self._slowest * self._random.random() ** 3

    def request(self, asked: Asked) -> Fate:
        """A fate at random."""
        odds, random = self._odds, self._random
        if asked.at >= self._until:
            return FINE
        there, back = (self._while(), self._while()) if self._happens(odds.slow) else (0.0, 0.0)
        if self._happens(odds.throttled):
            return Fate(instead=TooManyRequests("storm", retry_after=float(random.randint(1, 5))), back=back)
        if self._happens(odds.failed):
            kind = random.choice([ServerError, Unavailable, ServerTimeout, Unanswered])
            return Fate(instead=kind("storm"), there=there, back=back)
        if self._happens(odds.refused):
            return Fate(instead=Unreachable("storm: connection refused"))
        return Fate(there=there, back=back, lost=self._happens(odds.lost))

    def late(self, asked: Asked, now: float) -> float:
        """A short time, now and then."""
        return self._while() if now < self._until and self._happens(self._odds.late) else 0.0

    def events(self, asked: Asked, now: float, first: int, events: Sequence[WatchEvent]) -> Sequence[Told]:
        """The events in another shape, or the end of the stream among them."""
        if now >= self._until:
            return events
        odds, random = self._odds, self._random
        told: list[Told] = list(events)
        whole = not self._happens(odds.mixed)
        if not whole:
            told = list(mixed(events, random))
        if told and self._happens(odds.twice):
            at = random.randrange(len(told))
            told.insert(at, told[at])
        if self._happens(odds.again):
            told += events
        breaks = ((Break.END, odds.ended), (Break.CUT, odds.cut), (Break.GONE, odds.gone), (Break.SILENT, odds.silent))
        for how, probability in breaks:
            if self._happens(probability):
                # Between two events that changed places nobody could resume: the later version was told first.
                return [*told[: random.randint(0, len(told)) if whole else len(told)], how]
        return told


def mixed(events: Sequence[WatchEvent], random: Random) -> Sequence[WatchEvent]:
    """The events in an order in which those of each object keep theirs; nothing passes a bookmark or an error."""
    parts: list[list[WatchEvent]] = [[]]
    for event in events:
        if event.type in ("BOOKMARK", "ERROR"):
            parts += [[event], []]
        else:
            parts[-1].append(event)
    return [event for part in parts for event in (_shuffled(part, random) if len(part) > 1 else part)]


def _shuffled(part: Sequence[WatchEvent], random: Random) -> Sequence[WatchEvent]:
    order = [_object(event) for event in part]
    lines = {one: deque(event for event in part if _object(event) == one) for one in order}
    random.shuffle(order)
    return [lines[one].popleft() for one in order]


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata


_NAMED: Final = msgspec.json.Decoder(_Named)


def _object(event: WatchEvent) -> tuple[str, str]:
    metadata = _NAMED.decode(event.object).metadata
    return metadata.namespace, metadata.name
