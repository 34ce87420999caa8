"""Three candidates with clocks of different rates, cut lines, lost answers and pauses: never two that may write (R 4, 40)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.engine.errors import AlreadyExists, Conflict, EngineError, NotFound, Unanswered
from dynamo_ctrl.manager.election import Create, Election, End, Read, Role, Sleep, Update
from dynamo_ctrl.manager.lease import Claim
from dynamo_ctrl.manager.options import LeaderElectionOptions
from dynamo_ctrl.objects.key import Key

KEY = Key("ns", "lease")
OPTIONS = LeaderElectionOptions(enabled=True, name="lease")
WALL = datetime(2026, 1, 1, tzinfo=UTC)

FASTEST = 1.6
"""Up to this ratio of two clocks the defaults are safe: (10 - 1) * 1.6 < 15. Without the margin they are not."""

HEALED, OVER = 150.0, 300.0


class World:
    """A server with one lease, and real time."""

    def __init__(self, rates: list[float], cuts: list[tuple[int, float, float]], seed: int) -> None:
        self.now = 0.0
        self.random = Random(seed)
        self.cuts = cuts
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self.candidates = [Candidate(self, number, rate) for number, rate in enumerate(rates)]
        for candidate in self.candidates:
            self.at(self.random.uniform(0, 3), candidate.step)

    def at(self, moment: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, len(self._events) + self.random.getrandbits(40), happens))

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, happens = heapq.heappop(self._events)
            happens()

    def cut(self, number: int) -> bool:
        return any(who == number and since <= self.now < until for who, since, until in self.cuts)

    def serve(self, action: Read | Create | Update) -> Claim | EngineError:
        if isinstance(action, Read):
            return self.claim() or NotFound("no lease")
        sent = msgspec.json.decode(action.body)
        if isinstance(action, Create):
            if self.lease is not None:
                return AlreadyExists("there is one")
        elif self.lease is None or sent["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            return Conflict("changed")
        self.version += 1
        self.lease = {**sent, "metadata": {**sent["metadata"], "resourceVersion": str(self.version)}}
        claim = self.claim()
        assert claim is not None
        return claim

    def claim(self) -> Claim | None:
        return None if self.lease is None else Claim.read(msgspec.json.encode(self.lease))

    def permitted(self) -> list[int]:
        return [candidate.number for candidate in self.candidates if candidate.until > self.now]


class Candidate:
    """An election with a clock that runs at its own rate, and a line to the server."""

    def __init__(self, world: World, number: int, rate: float) -> None:
        self.world, self.number, self.rate = world, number, rate
        self.election = Election(KEY, f"c{number}", OPTIONS, Random(number), self.clock())
        self.until = -math.inf  # in real time
        self._request = 0

    def clock(self) -> float:
        return self.world.now * self.rate

    def after(self, seconds: float, happens: Callable[[], None]) -> None:
        self.world.at(self.world.now + seconds / self.rate, happens)

    def step(self) -> None:
        world, random = self.world, self.world.random
        action = self.election.next(self.clock(), WALL + timedelta(seconds=world.now))
        self.look()
        match action:
            case End():
                return
            case Sleep(seconds):
                pause = random.choice([0, 0, 0, 0, 0, random.uniform(0, 20)]) if world.now < HEALED else 0
                self.after(seconds + pause, self.step)
                return
        self._request += 1
        number = self._request
        slow = world.now < HEALED and random.random() < 0.2
        there, back = random.uniform(0, 8 if slow else 0.1), random.uniform(0, 8 if slow else 0.1)

        def arrives() -> None:
            if not world.cut(self.number):
                answer = world.serve(action)
                world.at(world.now + back, lambda: None if world.cut(self.number) else self.told(number, answer))

        world.at(world.now + there, arrives)
        self.after(action.timeout, lambda: self.told(number, Unanswered("too late")))

    def told(self, number: int, answer: Claim | EngineError) -> None:
        if number != self._request:  # given up before
            return
        self._request += 1
        pending = self.election._pending
        match answer:
            case NotFound() if isinstance(pending, Read):
                self.election.found(None, self.clock())
            case Claim() if isinstance(pending, Read):
                self.election.found(answer, self.clock())
            case Claim():
                self.election.wrote(answer, self.clock())
            case _:
                self.election.failed(answer, self.clock())
        self.look()
        self.step()

    def look(self) -> None:
        """What is permitted from now on; nobody else may write when a permission begins."""
        until = self.election.standing.writes_until / self.rate
        if until > self.world.now and self.until <= self.world.now:
            others = [other for other in self.world.permitted() if other != self.number]
            assert others == [], f"at {self.world.now:.2f} c{self.number} may write, and so may {others}"
        self.until = until


cuts = st.lists(
    st.tuples(st.integers(0, 2), st.floats(0, HEALED), st.floats(1, 40)).map(
        lambda cut: (cut[0], cut[1], min(HEALED, cut[1] + cut[2]))
    ),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(
    rates=st.lists(st.sampled_from([1.0, 1.1, 1.3, FASTEST]), min_size=3, max_size=3),
    cuts=cuts,
    leave=st.lists(st.tuples(st.integers(0, 2), st.floats(5, HEALED)), max_size=2),
    seed=st.integers(0, 2**32),
)
def test_r4_40_never_two_may_write_and_somebody_leads_when_all_has_healed(
    rates: list[float], cuts: list[tuple[int, float, float]], leave: list[tuple[int, float]], seed: int
) -> None:
    world = World(rates, cuts, seed)
    for number, moment in sorted(leave, key=lambda one: one[1]):
        world.run(moment)
        candidate = world.candidates[number]
        candidate.election.release()
        candidate.look()
        candidate._request += 1
        candidate.step()
    world.run(OVER)
    roles = [candidate.election.standing.role for candidate in world.candidates]
    assert roles.count(Role.LEADER) == (1 if Role.CANDIDATE in roles or Role.LEADER in roles else 0)
    assert len(world.permitted()) <= 1


def test_r4_40_the_margin_keeps_a_fast_clock_from_overtaking_a_leader_that_is_cut_off() -> None:
    world = World([1.0, FASTEST], [], seed=0)
    leader, candidate = world.candidates

    def carry_out(one: Candidate) -> None:
        while isinstance(action := one.election.next(one.clock(), WALL), Read | Create | Update):
            answer = world.serve(action)
            if isinstance(answer, NotFound):
                one.election.found(None, one.clock())
            elif isinstance(action, Read):
                assert isinstance(answer, Claim)
                one.election.found(answer, one.clock())
            else:
                assert isinstance(answer, Claim)
                one.election.wrote(answer, one.clock())
        one.look()

    carry_out(leader)
    carry_out(candidate)
    assert world.permitted() == [0]
    world.now = OPTIONS.lease_duration / FASTEST  # 15 s have passed for the candidate, 9.4 s for the leader
    carry_out(candidate)
    assert world.permitted() == [1]
