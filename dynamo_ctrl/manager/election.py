"""`Election`: decides when to read and write a Lease, and whether we lead. A state machine without I/O.

    role        what it does                                                   ends by
    CANDIDATE   reads every retry period (times 1 to 2.2), takes what is free  winning; `resign`, `release`
    LEADER      renews every retry period                                      losing; `release`
    RELEASING   reads, then writes an empty holder                             its answer
    ENDED       nothing                                                        -

Contract (R 3.8):

- `next` says what to do; its result is told by `found`, `wrote` or `failed` before `next` is asked again. A role never goes
  back: who lost, resigned or released does not campaign again (R 4, 41).
- A lease is free if nobody holds it, or if its record has not changed for as long as it says, **by our own monotonic clock and
  since we first saw that record**. Its times are not read. A lease that vanished is free when its last holder would have lost it.
- A leader writes without reading first; on any failure it reads and writes in the same try. It counts from the moment in which
  a renewal was *sent*: nobody can have seen it earlier.
- The leadership ends when no renewal succeeded for the renew deadline, when somebody else is seen to hold the lease, or when
  the main loop has given no sign of life for the renew deadline. A failed try alone ends nothing.
- Writes are permitted until the renew deadline less the margin (`Standing.writes_until`), and not at all in any other role.
- `resign` ends a candidacy at once, and lets a leader go on renewing while its work is stopped; `release` ends both. The lease
  is read first, and given back only if it is ours; a conflict is tried again a few times. A claim whose answer was lost may be
  ours, and is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from random import Random
from typing import TypeAlias

from dynamo_ctrl.engine.errors import Conflict, EngineError
from dynamo_ctrl.manager.lease import Claim, first
from dynamo_ctrl.manager.options import JITTER, LeaderElectionOptions
from dynamo_ctrl.objects.key import Key

RELEASE_TRIES = 5
"""How often a conflict is tried again when a lease is given back."""


class Role(Enum):
    """What we are to the lease."""

    CANDIDATE = "candidate"
    LEADER = "leader"
    RELEASING = "releasing"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where an election stands. Immutable, so that it can be handed to another thread.

    Attributes:
        role: ours.
        holder: who holds the lease, as far as we know.
        renewed_at: when the last successful renewal was sent (monotonic).
        writes_until: until when writes are permitted (monotonic); minus infinity for not at all.
        lost: why a leadership was lost; empty if it was not.
        slow_paths: how often a leader had to read before it could renew.
    """

    role: Role = Role.CANDIDATE
    holder: str = ""
    renewed_at: float = -math.inf
    writes_until: float = -math.inf
    lost: str = ""
    slow_paths: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """Read the lease, within so many seconds."""

    timeout: float


@dataclass(frozen=True, slots=True)
class Create:
    """Create the lease, within so many seconds."""

    body: bytes
    timeout: float


@dataclass(frozen=True, slots=True)
class Update:
    """Replace the lease, within so many seconds."""

    body: bytes
    timeout: float


@dataclass(frozen=True, slots=True)
class Sleep:
    """Ask again after so many seconds, or when something was told."""

    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """It is over."""


Action: TypeAlias = Read | Create | Update | Sleep | End


class Election:
    """One candidate for one lease.

    Args:
        key: of the Lease.
        identity: ours; unique among all candidates, also over restarts.
        options: durations, labels, whether to release.
        random: jitter.
        now: the monotonic time at which everything begins.
        heartbeat: whether the main loop gives signs of life by `beat`, and has to.
    """

    def __init__(
        self,
        key: Key,
        identity: str,
        options: LeaderElectionOptions,
        random: Random,
        now: float,
        *,
        heartbeat: bool = False,
    ) -> None:
        self.key = key
        self.identity = identity
        self.standing = Standing()
        self._options = options
        self._random = random
        self._beat = now if heartbeat else math.inf
        self._claim: Claim | None = None
        self._seen_at = -math.inf
        self._due = now
        self._reading = True
        self._pending: Action | None = None
        self._sent_at = now
        self._slow = False
        self._perhaps_ours = False
        self._releases = 0

    # -- what to do

    def next(self, now: float, wall: datetime) -> Action:
        """What to do now. `wall` is only written down."""
        match self.standing.role:
            case Role.ENDED:
                return End()
            case Role.LEADER:
                if over := self._over(now):
                    self._lose(over)
                    return End()
                if now < self._due:
                    return Sleep(min(self._due, self._ends_at()) - now)
                timeout = min(self._options.request_timeout, self._ends_at() - now)
            case Role.CANDIDATE:
                if now < self._due:
                    return Sleep(self._due - now)
                if now > self._beat + self._options.renew_deadline:  # who hangs must not win
                    self._again(now)
                    return Sleep(self._due - now)
                timeout = self._options.request_timeout
            case Role.RELEASING:
                timeout = self._options.request_timeout
        self._sent_at = now
        self._pending = self._request(timeout, wall)
        return self._pending

    def _request(self, timeout: float, wall: datetime) -> Action:
        options, claim = self._options, self._claim
        if self._reading:
            return Read(timeout)
        if self.standing.role is Role.RELEASING:
            assert claim is not None, "it was read before"  # noqa: S101
            return Update(claim.released(wall), timeout)
        if claim is None:
            return Create(first(self.key, self.identity, options.lease_duration, options.labels, wall), timeout)
        return Update(claim.taken(self.identity, options.lease_duration, options.labels, wall), timeout)

    # -- what came of it

    def found(self, claim: Claim | None, now: float) -> None:
        """The answer to `Read`: the lease, or `None` if there is none."""
        if self._taken() is None:
            return
        role = self.standing.role
        before, others = self._claim, bool(self._holder()) and not self._ours()
        if claim is None:
            if role is Role.RELEASING:
                self._move(Role.ENDED)
            elif others and not self._expired(now):
                self._again(now)
            else:
                self._claim = None
                self._write(slow=role is Role.LEADER)
            return
        if before is None or claim.renewed_since(before):
            self._seen_at = now
        self._claim = claim
        self.standing = replace(self.standing, holder=claim.holder)
        if role is Role.RELEASING:
            self._reading = False
            if not self._ours():
                self._move(Role.ENDED)
        elif not claim.holder or self._ours():
            self._write(slow=role is Role.LEADER)
        elif role is Role.LEADER:
            self._lose(f"{claim.holder} holds the lease")
        elif self._expired(now):
            self._write(slow=False)
        else:
            self._again(now)

    def wrote(self, claim: Claim, now: float) -> None:
        """The answer to `Create` and `Update`: the lease as it is now."""
        if self._taken() is None:
            return
        self._claim, self._seen_at = claim, self._sent_at
        if self.standing.role is Role.RELEASING:
            self.standing = replace(self.standing, holder=claim.holder)
            self._move(Role.ENDED)
            return
        self._perhaps_ours = True
        self.standing = replace(self.standing, holder=self.identity, renewed_at=self._sent_at)
        if now < self._ends_at():
            self._move(Role.LEADER)
            self._due, self._reading, self._slow = now + self._options.retry_period, False, False
        else:  # the answer took so long that the time is over: renew before anything else
            self._due = now

    def failed(self, error: EngineError, now: float) -> None:
        """What was to be done failed, or may have been done without an answer."""
        pending = self._taken()
        if pending is None:
            return
        if isinstance(pending, Create | Update) and error.maybe_done:
            self._perhaps_ours = True
        if self.standing.role is Role.RELEASING:
            self._releases += 1
            if not isinstance(error, Conflict) or self._releases >= RELEASE_TRIES:
                self._move(Role.ENDED)
            self._reading = True
        elif self.standing.role is Role.LEADER and isinstance(pending, Create | Update) and not self._slow:
            self._reading, self._due = True, now
        else:
            self._again(now)

    # -- what the owner says

    def beat(self, at: float) -> None:
        """The main loop was alive at that moment."""
        self._beat = max(self._beat, at)

    def resign(self) -> None:
        """Campaign no longer. A leader goes on renewing until `release`."""
        if self.standing.role is Role.CANDIDATE:
            self.release()

    def release(self) -> None:
        """Everything that the lease protects has ended: give it back, if the options say so and it is, or may be, ours."""
        role, pending = self.standing.role, self._pending
        if role not in (Role.CANDIDATE, Role.LEADER):
            return
        ours = role is Role.LEADER or self._perhaps_ours or isinstance(pending, Create | Update)
        self._pending, self._reading = None, True
        self._move(Role.RELEASING if ours and self._options.release else Role.ENDED)

    # -- rules

    def _ends_at(self) -> float:
        return self.standing.renewed_at + self._options.renew_deadline

    def _over(self, now: float) -> str:
        deadline = self._options.renew_deadline
        if now >= self._ends_at():
            return f"it could not be renewed for {deadline:g} s"
        if now > self._beat + deadline:
            return f"the main loop gave no sign of life for {deadline:g} s"
        return ""

    def _holder(self) -> str:
        return self._claim.holder if self._claim is not None else ""

    def _ours(self) -> bool:
        return self._holder() == self.identity

    def _expired(self, now: float) -> bool:
        seconds = self._claim.seconds if self._claim is not None else 0
        return now >= self._seen_at + (seconds or self._options.lease_duration)

    def _taken(self) -> Action | None:
        pending, self._pending = self._pending, None
        return pending

    def _write(self, *, slow: bool) -> None:
        self._reading, self._slow = False, slow
        if slow:
            self.standing = replace(self.standing, slow_paths=self.standing.slow_paths + 1)

    def _again(self, now: float) -> None:
        period = self._options.retry_period
        if self.standing.role is Role.CANDIDATE:
            period *= 1 + JITTER * self._random.random()
        self._due, self._reading, self._slow = now + period, True, False

    def _lose(self, reason: str) -> None:
        self.standing = replace(self.standing, lost=reason)
        self._move(Role.ENDED)

    def _move(self, role: Role) -> None:
        until = self._ends_at() - self._options.guard_margin if role is Role.LEADER else -math.inf
        self.standing = replace(self.standing, role=role, writes_until=until)
