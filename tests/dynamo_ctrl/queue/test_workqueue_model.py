"""The queue against a model, under every order of calls that hypothesis can think of, with virtual time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dynamo_ctrl.queue.causes import MAX_CAUSES, Cause
from dynamo_ctrl.queue.entry import Entry
from dynamo_ctrl.queue.workqueue import WorkQueue

KEYS = st.sampled_from("abcd")
DELAYS = st.sampled_from([-1.0, 0.0, 0.001, 0.5, 3.0, 60.0])
CAUSES = st.one_of(st.none(), st.integers(0, 20).map(lambda n: Cause("pods", "updated", None, str(n))))


@dataclass
class Model:
    """One key, described the slow and obvious way."""

    due: float = math.inf
    """When it should run (again); infinite for never. Of a ready key: when it became ready."""
    arrival: int = 0
    run: Entry[str] | None = None
    dirty: bool = False
    failures: int = 0
    conflicts: int = 0
    progress: int = 0
    floor: float = -math.inf
    causes: list[Cause] = field(default_factory=list)

    def because(self, cause: Cause | None) -> None:
        if cause is not None and cause not in self.causes and len(self.causes) < MAX_CAUSES:
            self.causes.append(cause)

    def succeed(self) -> None:
        self.failures = self.conflicts = self.progress = 0
        self.floor = -math.inf


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.queue: WorkQueue[str] = WorkQueue()
        self.keys = {key: Model() for key in "abcd"}
        self.ready: list[str] = []
        self.now = 0.0
        self.arrivals = 0
        self.closed = False

    def running(self) -> list[str]:
        return [key for key, model in self.keys.items() if model.run is not None]

    def put(self, key: str, at: float) -> None:
        """An idle key is ready now or waits."""
        model = self.keys[key]
        self.arrivals += 1
        model.due, model.arrival = at, self.arrivals
        if at <= self.now:
            self.ready.append(key)

    def want(self, key: str, at: float, cause: Cause | None) -> None:
        if self.closed:
            return
        model = self.keys[key]
        at = max(at, model.floor)
        model.because(cause)
        if model.run is not None:
            model.dirty = model.dirty or at <= self.now
            model.due = min(model.due, at)
        elif key not in self.ready and at < model.due:
            self.put(key, at)

    def end(self, model: Model, after: float, cause: Cause | None) -> None:
        assert model.run is not None
        key = model.run.key
        at = self.now if model.dirty else min(model.due, self.now + after)
        gone = at == math.inf or (self.closed and not (model.dirty and model.floor <= self.now))
        model.run, model.dirty, model.due = None, False, math.inf
        if gone:
            model.causes = []
            return
        model.because(cause)
        self.put(key, max(at, model.floor))

    @rule(seconds=st.sampled_from([0.0001, 0.005, 0.3, 5.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(key=KEYS, cause=CAUSES)
    def add(self, key: str, cause: Cause | None) -> None:
        self.queue.add(key, self.now, cause=cause)
        self.want(key, self.now, cause)

    @rule(key=KEYS, delay=DELAYS, cause=CAUSES)
    def add_after(self, key: str, delay: float, cause: Cause | None) -> None:
        self.queue.add_after(key, delay, self.now, cause=cause)
        self.want(key, self.now + max(delay, 0), cause)

    @rule()
    def get(self) -> None:
        idle = [k for k, m in self.keys.items() if m.run is None and m.due <= self.now and k not in self.ready]
        self.ready += sorted(idle, key=lambda k: (self.keys[k].due, self.keys[k].arrival))
        entry = self.queue.get(self.now)
        if entry is None:
            assert not self.ready, "a ready key is withheld"
            return
        assert entry.key == self.ready.pop(0)
        model = self.keys[entry.key]
        assert model.run is None, "two runs of one key"
        assert self.now >= model.floor, "a run inside the back-off"
        assert list(entry.causes) == model.causes
        model.run, model.due, model.causes = entry, math.inf, []

    def pick(self, data: st.DataObject) -> Model:
        return self.keys[data.draw(st.sampled_from(self.running()))]

    @precondition(lambda self: self.running())
    @rule(data=st.data(), after=st.one_of(st.none(), DELAYS))
    def done(self, data: st.DataObject, after: float | None) -> None:
        model = self.pick(data)
        assert model.run is not None
        model.succeed()
        self.queue.done(model.run, self.now, after=after)
        if after is None:
            self.end(model, math.inf, None)
        else:
            self.end(model, max(after, 0), Cause("requeue", "after"))

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def failed(self, data: st.DataObject) -> None:
        model = self.pick(data)
        assert model.run is not None
        model.failures += 1
        model.conflicts = model.progress = 0
        delay = min(1000.0, 0.005 * 2 ** (model.failures - 1))
        model.floor = self.now + delay
        assert self.queue.failed(model.run, self.now) == delay
        self.end(model, delay, Cause("retry", "failed"))

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def conflicted(self, data: st.DataObject) -> None:
        model = self.pick(data)
        assert model.run is not None
        model.conflicts += 1
        delay = min(1.0, 0.01 * 2 ** (model.conflicts - 1))
        model.floor = self.now + delay
        assert self.queue.conflicted(model.run, self.now) == model.conflicts
        self.end(model, delay, Cause("retry", "conflict"))

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def progressed(self, data: st.DataObject) -> None:
        model = self.pick(data)
        assert model.run is not None
        progress = model.progress + 1
        model.succeed()
        model.progress = progress
        delay = 0.0 if progress <= 10 else min(1000.0, 0.005 * 2 ** (progress - 11))
        model.floor = self.now + delay
        assert self.queue.progressed(model.run, self.now) is (delay == 0)
        self.end(model, delay, Cause("requeue", "progress"))

    @precondition(lambda self: self.running())
    @rule(data=st.data())
    def released(self, data: st.DataObject) -> None:
        model = self.pick(data)
        assert model.run is not None
        self.queue.released(model.run, self.now)
        self.end(model, math.inf, None)

    @rule(drain=st.booleans(), rarely=st.integers(0, 30))
    def shut_down(self, drain: bool, rarely: int) -> None:
        if rarely:
            return
        self.closed = True
        self.queue.shut_down(drain=drain)
        for key, model in self.keys.items():
            if model.run is None and key not in self.ready:
                model.due, model.causes = math.inf, []
        assert self.queue.finished == (not self.ready and not (drain and self.running()))

    @invariant()
    def both_know_the_same(self) -> None:
        assert self.queue.processing == len(self.running())
        assert self.queue.closed == self.closed
        for key, model in self.keys.items():
            assert (key in self.queue) == (model.run is not None or model.due < math.inf)
            assert self.queue.failures(key) == model.failures


QueueMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
test_the_queue_behaves_as_its_model = QueueMachine.TestCase
