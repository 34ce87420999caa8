"""The queue against a model, under every order of calls that hypothesis can think of, with virtual time.

One model serves both orders. Which key comes next is checked against the rules of R 3.6; where ageing leaves a choice, the choice
is checked (`test_priority.py` proves the bound).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dynamo_ctrl.queue.causes import MAX_CAUSES, Cause
from dynamo_ctrl.queue.entry import Entry
from dynamo_ctrl.queue.fifo import Fifo
from dynamo_ctrl.queue.order import Order
from dynamo_ctrl.queue.priority import Ageing, Priorities
from dynamo_ctrl.queue.workqueue import WorkQueue

KEYS = st.sampled_from("abcde")
DELAYS = st.sampled_from([-1.0, 0.0, 0.001, 0.5, 3.0, 60.0])
WINDOWS = st.sampled_from([0.0, 0.0, 0.0, 0.01, 1.0])
PRIORITIES = st.sampled_from([-100, 0, 0, 0, 7])
OVERRIDES = st.sampled_from([None, None, -100, 0, 9])
CAUSES = st.one_of(st.none(), st.integers(0, 20).map(lambda n: Cause("pods", "updated", None, str(n))))
PATIENCE = 5.0


@dataclass
class Wish:
    """What a key wants next."""

    due: float
    """When it should run; of a ready one, when it became ready."""
    arrival: int
    priority: int
    ready: bool
    fresh: bool = False
    causes: list[Cause] = field(default_factory=list)

    def because(self, cause: Cause | None) -> None:
        if cause is not None and cause not in self.causes and len(self.causes) < MAX_CAUSES:
            self.causes.append(cause)


@dataclass
class Model:
    """One key, described the slow and obvious way."""

    wish: Wish | None = None
    run: Entry[str] | None = None
    failures: int = 0
    conflicts: int = 0
    progress: int = 0
    floor: float = -math.inf
    spent: bool = False

    def forget(self) -> None:
        self.failures = self.conflicts = self.progress = 0
        self.floor = -math.inf
        self.spent = False

    def wait(self, until: float) -> None:
        self.floor, self.spent = until, False


class QueueMachine(RuleBasedStateMachine):
    keeps_place = True

    def order(self) -> Order[str]:
        return Priorities(Ageing(patience=PATIENCE, share=3))

    def __init__(self) -> None:
        super().__init__()
        self.queue: WorkQueue[str] = WorkQueue(order=self.order())
        self.keys = {key: Model() for key in "abcde"}
        self.now = 0.0
        self.arrivals = 0
        self.closed = False

    def running(self) -> list[str]:
        return [key for key, model in self.keys.items() if model.run is not None]

    def arrive(self) -> int:
        self.arrivals += 1
        return self.arrivals

    def allowed(self, model: Model, at: float, fresh: bool) -> float:
        if at >= model.floor:
            return at
        if fresh and not model.spent:
            model.spent = True
            return at
        return model.floor

    def want(self, key: str, at: float, cause: Cause | None, priority: int, fresh: bool = False) -> None:
        if self.closed:
            return
        model = self.keys[key]
        if model.run is None:
            at = self.allowed(model, at, fresh)
        self.wish(model, at, cause, priority, fresh)

    def wish(self, model: Model, at: float, cause: Cause | None, priority: int, fresh: bool = False) -> None:
        wish = model.wish
        if wish is None:
            wish = model.wish = Wish(at, self.arrive(), priority, at <= self.now)
        elif at < wish.due and not wish.ready:
            wish.due, wish.ready, wish.arrival = at, at <= self.now, self.arrive()
        if priority > wish.priority:
            wish.priority = priority
            if self.keeps_place and wish.ready:
                wish.arrival = self.arrive()
        wish.fresh = wish.fresh or fresh
        wish.because(cause)

    def end(
        self, model: Model, after: float, cause: Cause | None, override: int | None, *, capped: bool = True
    ) -> None:
        """The run is over; it asked to come back after that delay (infinite: not at all)."""
        assert model.run is not None
        kept = model.run.priority if override is None else override
        model.run = None
        wish = model.wish
        if wish is not None:
            wanted = self.now if wish.ready else wish.due
            at = self.allowed(model, wanted, wish.fresh)
            if at > wanted:
                if wish.ready or at > self.now:
                    wish.arrival = self.arrive()
                wish.due, wish.ready = at, False
            elif wish.ready and not self.keeps_place:
                wish.arrival = self.arrive()
            if self.closed and not wish.ready:
                model.wish = None
        if after < math.inf and not self.closed:
            at = self.now + after
            if not capped:
                at = max(at, model.floor)
            self.wish(model, at, cause, kept)

    @rule(seconds=st.sampled_from([0.0001, 0.005, 0.3, 5.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(key=KEYS, cause=CAUSES, priority=PRIORITIES, window=WINDOWS, fresh=st.booleans())
    def add(self, key: str, cause: Cause | None, priority: int, window: float, fresh: bool) -> None:
        self.queue.add(key, self.now, cause=cause, priority=priority, after=window, fresh=fresh)
        self.want(key, self.now + window, cause, priority, fresh)

    @rule(key=KEYS, delay=DELAYS, cause=CAUSES, priority=PRIORITIES)
    def add_after(self, key: str, delay: float, cause: Cause | None, priority: int) -> None:
        self.queue.add_after(key, delay, self.now, cause=cause, priority=priority)
        self.want(key, self.now + max(delay, 0), cause, priority)

    @rule(times=st.integers(1, 4))
    def get(self, times: int) -> None:
        for _ in range(times):
            self.get_one()

    def get_one(self) -> None:
        waiting = [m.wish for m in self.keys.values() if m.wish is not None and not m.wish.ready]
        for wish in sorted((w for w in waiting if w.due <= self.now), key=lambda w: (w.due, w.arrival)):
            wish.ready, wish.arrival = True, self.arrive()
        free = [(k, m.wish) for k, m in self.keys.items() if m.wish is not None and m.wish.ready and m.run is None]
        entry = self.queue.get(self.now)
        if entry is None:
            assert not free, "a ready key is withheld"
            return
        assert entry.key in self.candidates(free)
        model = self.keys[entry.key]
        assert model.run is None, "two runs of one key"
        assert model.wish is not None
        assert self.now >= model.floor or model.spent or model.conflicts, "a run inside the back-off"
        assert list(entry.causes) == model.wish.causes
        assert entry.priority == model.wish.priority
        model.run, model.wish = entry, None

    def candidates(self, free: list[tuple[str, Wish]]) -> set[str]:
        """Who may come next: the first of the highest priority, or a head that has waited too long."""
        heads: dict[int, tuple[str, Wish]] = {}
        for key, wish in sorted(free, key=lambda item: item[1].arrival):
            heads.setdefault(wish.priority, (key, wish))
        top = heads[max(heads)][0]
        return {top, *(key for key, wish in heads.values() if wish.due <= self.now - PATIENCE)}

    def pick(self, data: st.DataObject) -> Model:
        return self.keys[data.draw(st.sampled_from(self.running()))]

    @precondition(lambda self: self.running())
    @rule(data=st.data(), after=st.one_of(st.none(), DELAYS), override=OVERRIDES)
    def done(self, data: st.DataObject, after: float | None, override: int | None) -> None:
        model = self.pick(data)
        assert model.run is not None
        model.forget()
        self.queue.done(model.run, self.now, after=after, priority=override)
        delay = math.inf if after is None else max(after, 0)
        self.end(model, delay, Cause("requeue", "after"), override)

    @precondition(lambda self: self.running())
    @rule(data=st.data(), after=st.one_of(st.none(), DELAYS), delay=st.sampled_from([0.5, 4.0]))
    def slowed(self, data: st.DataObject, after: float | None, delay: float) -> None:
        model = self.pick(data)
        assert model.run is not None
        model.forget()
        model.wait(self.now + delay)
        self.queue.slowed(model.run, self.now, delay, after=after)
        self.end(model, math.inf if after is None else max(after, delay), Cause("requeue", "after"), None, capped=False)

    @precondition(lambda self: self.running())
    @rule(data=st.data(), override=OVERRIDES)
    def failed(self, data: st.DataObject, override: int | None) -> None:
        model = self.pick(data)
        assert model.run is not None
        model.conflicts = model.progress = 0
        delay = model.floor - self.now
        if delay <= 0:
            model.failures += 1
            delay = min(1000.0, 0.005 * 2 ** (model.failures - 1))
            model.wait(self.now + delay)
        assert self.queue.failed(model.run, self.now, priority=override) == delay
        self.end(model, delay, Cause("retry", "failed"), override, capped=False)

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def conflicted(self, data: st.DataObject) -> None:
        model = self.pick(data)
        assert model.run is not None
        model.conflicts += 1
        delay = min(1.0, 0.01 * 2 ** (model.conflicts - 1))
        if self.now >= model.floor:
            model.wait(self.now + delay)
        assert self.queue.conflicted(model.run, self.now) == model.conflicts
        self.end(model, delay, Cause("retry", "conflict"), None)

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def progressed(self, data: st.DataObject) -> None:
        model = self.pick(data)
        assert model.run is not None
        progress = model.progress + 1
        model.forget()
        model.progress = progress
        delay = 0.0 if progress <= 10 else min(1000.0, 0.005 * 2 ** (progress - 11))
        model.wait(self.now + delay)
        assert self.queue.progressed(model.run, self.now) is (delay == 0)
        self.end(model, delay, Cause("requeue", "progress"), None)

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def released(self, data: st.DataObject) -> None:
        model = self.pick(data)
        assert model.run is not None
        self.queue.released(model.run, self.now)
        self.end(model, math.inf, None, None)

    @rule(drain=st.booleans(), rarely=st.integers(0, 30))
    def shut_down(self, drain: bool, rarely: int) -> None:
        if rarely:
            return
        self.closed = True
        self.queue.shut_down(drain=drain)
        for model in self.keys.values():
            if model.wish is not None and not model.wish.ready:
                model.wish = None
        ready = any(m.wish is not None and m.run is None for m in self.keys.values())
        assert self.queue.finished == (not ready and not (drain and self.running()))

    @invariant()
    def both_know_the_same(self) -> None:
        assert self.queue.processing == len(self.running())
        assert self.queue.closed == self.closed
        wishes = [model for model in self.keys.values() if model.wish is not None]
        assert len(self.queue) == sum(m.wish.ready and m.run is None for m in wishes if m.wish is not None)
        assert self.queue.waiting == sum(not m.wish.ready for m in wishes if m.wish is not None)
        assert sum(depth for _, depth in self.queue.depths()) == len(self.queue)
        assert self.queue.more or not len(self.queue)
        for key, model in self.keys.items():
            assert (key in self.queue) == (model.run is not None or model.wish is not None)
            assert self.queue.failures(key) == model.failures


class FifoMachine(QueueMachine):
    keeps_place = False

    def order(self) -> Order[str]:
        return Fifo()

    def candidates(self, free: list[tuple[str, Wish]]) -> set[str]:
        return {min(free, key=lambda item: item[1].arrival)[0]}


QueueMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
FifoMachine.TestCase.settings = settings(max_examples=75, stateful_step_count=50, deadline=None)
test_r4_31_the_queue_behaves_as_its_model = QueueMachine.TestCase
test_r4_31_the_plain_queue_behaves_as_its_model = FifoMachine.TestCase
