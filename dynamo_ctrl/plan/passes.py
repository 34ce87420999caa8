"""`Passes`: the controllers of some programs, run over all their primaries again and again: no queue, no loop, no waiting.

The attempts themselves are those of a manager, by the same code (`Outer`). The order is fixed: controllers as their programs were
given, primaries by key.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.answer import Answer
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.program.definition import Definition
from dynamo_ctrl.program.outer import Outer
from dynamo_ctrl.program.ports import Ports
from dynamo_ctrl.program.recorder import Recorder
from dynamo_ctrl.program.trace import History, Trace

T = TypeVar("T")


class Suspended(RuntimeError):
    """A program awaited something that only a running loop can bring; give it a port that answers at once."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One attempt: whose, at what, with which answer, and what came of its effects."""

    controller: str
    primary: Ref
    answer: Answer
    trace: Trace


class Passes:
    """Runs programs on one engine, whose verbs should answer at once.

    Args:
        engine: what is written through.
        view: what a definition reads from.
        clock: the only time.
        written, recorder: who is told about writes and events.
        ports: how what is outside of the cluster is asked; the programs' own ports by default.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        view: Callable[[Definition], View],
        clock: Clock,
        written: Written,
        recorder: Recorder,
        ports: Ports | None = None,
    ) -> None:
        self._engine = engine
        self._view = view
        self._clock = clock
        self._written = written
        self._recorder = recorder
        self._ports = ports
        self._outers: dict[int, tuple[object, Outer, View]] = {}

    async def run(self, definition: Definition, key: Key) -> Ran:
        """One attempt at one key."""
        outer, _ = self._of(definition)
        answer = await outer.attempt(key)
        history = self.history(definition, key)
        assert history is not None, "every attempt is kept"  # noqa: S101
        return Ran(definition.name, definition.kind.ref(key), answer, history.last)

    async def over(self, definitions: Iterable[Definition]) -> list[Ran]:
        """One attempt at every primary of every definition, as they are when its turn comes."""
        return [await self.run(definition, key) for definition in definitions for key in self.keys(definition)]

    def history(self, definition: Definition, key: Key) -> History | None:
        """What is kept of the attempts at that key; `None` without any."""
        outer, _ = self._of(definition)
        return outer.traces.of(key)

    def keys(self, definition: Definition) -> list[Key]:
        """The primaries of a definition; none where they cannot be read."""
        _, view = self._of(definition)
        with suppress(SourceUnavailable):
            return [obj.key for obj in view.list(definition.kind)]
        return []

    def _of(self, definition: Definition) -> tuple[Outer, View]:
        owner = definition.program or definition.selector
        kept = self._outers.get(id(owner))
        if kept is None:
            view = self._view(definition)
            outer = Outer(
                definition,
                engine=self._engine,
                view=view,
                written=self._written,
                recorder=self._recorder,
                clock=self._clock,
                ports=self._ports,
            )
            kept = self._outers[id(owner)] = (owner, outer, view)
        return kept[1:]


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits. Raises `Suspended` if it does."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise Suspended("the program awaited something that does not answer at once")
