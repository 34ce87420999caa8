"""The summary of a run: time, reconciles, requests, writes for each object, and what ten further passes wrote."""

from __future__ import annotations

from collections import Counter

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.manager.manager import Manager
from dynamo_manager.counting import CountingEngine
from dynamo_manager.display import Display
from dynamo_manager.passes import PASSES


class Summary:
    """Counts from its construction on."""

    def __init__(self, engine: CountingEngine, manager: Manager, clock: Clock) -> None:
        self._engine = engine
        self._manager = manager
        self._clock = clock
        self._start = clock.monotonic()
        self._stages: list[float] = []
        self._writes: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._reconciles = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self._clock.monotonic() - self._start

    def stage(self, number: int) -> None:
        """A stage has become ready."""
        del number
        self._stages.append(self.seconds)

    def converged(self) -> None:
        """Nothing is left to do: what is written from here on is too much."""
        self._writes = self._engine.writes.copy()
        self._requests = self._engine.requests.copy()
        self._reconciles = self._runs()

    def tell(self, display: Display) -> int:
        """Say it. Returns 0, or 1 when the further passes wrote something."""
        extra = self._engine.writes - self._writes
        ready = ", then ".join(f"{seconds:.1f} s" for seconds in self._stages)
        display.say("")
        display.say(f"ready after {ready}; {self._reconciles} reconciles")
        display.say(
            f"requests of the programs: {', '.join(f'{n} {verb}' for verb, n in sorted(self._requests.items()))}"
        )
        display.say(f"writes: {self._writes.total()} on {len(self._writes)} objects")
        for name, count in sorted(self._writes.items()):
            display.say(f"  {count:3d}  {name}")
        if extra:
            display.say(f"{PASSES} further passes wrote {extra.total()}: {', '.join(sorted(extra))}")
            return 1
        display.say(f"{PASSES} further passes ({self._runs() - self._reconciles} reconciles) wrote nothing")
        return 0

    def _runs(self) -> int:
        return sum(
            numbers.success + numbers.error + numbers.requeue + numbers.requeue_after
            for numbers in (controller.numbers for controller in self._manager.controllers)
        )
