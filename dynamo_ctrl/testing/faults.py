"""`FaultyEngine`: an engine that fails, or lets something happen in between, where a test says so.

    engine = FaultyEngine(MemoryEngine(core))
    engine.fail(Unanswered("lost"), "create", DEPLOYMENT, after=True)      # done, but the answer is lost
    engine.interleave(lambda: cache.edit(...), "patch", subresource="status")

Faults are used up in the order in which they were planned; what no fault matches goes through.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeVar

from dynamo_ctrl.engine.forwarding import Call, ForwardingEngine, Verb
from dynamo_ctrl.engine.port import AnyKind, Engine, WatchEvent, WatchOptions

T = TypeVar("T")


@dataclass(slots=True)
class _Fault:
    verb: Verb
    kind: AnyKind | None
    subresource: str | None
    left: int
    happens: Callable[[], object]
    after: bool

    def matches(self, verb: Verb, kind: AnyKind, subresource: str) -> bool:
        return (
            self.left > 0
            and self.verb == verb
            and (self.kind is None or self.kind == kind)
            and (self.subresource is None or self.subresource == subresource)
        )


class FaultyEngine(ForwardingEngine):
    """Hands everything on to `engine`, except for what was planned."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._faults: list[_Fault] = []

    def fail(
        self,
        error: Exception,
        verb: Verb,
        kind: AnyKind | None = None,
        *,
        subresource: str | None = None,
        times: int = 1,
        after: bool = False,
    ) -> None:
        """Raise `error` in place of the next `times` matching requests; with `after` the request is carried out all the same."""

        def raises() -> None:
            raise error

        self._faults.append(_Fault(verb, kind, subresource, times, raises, after))

    def interleave(
        self,
        happens: Callable[[], object],
        verb: Verb,
        kind: AnyKind | None = None,
        *,
        subresource: str | None = None,
        times: int = 1,
        after: bool = False,
    ) -> None:
        """Let something happen right before (or after) the next `times` matching requests."""
        self._faults.append(_Fault(verb, kind, subresource, times, happens, after))

    @property
    def pending(self) -> int:
        """How many planned faults have not come yet."""
        return sum(fault.left for fault in self._faults)

    async def around(self, call: Call, send: Callable[[], Awaitable[T]]) -> T:
        """Meets the fault that is planned for the call."""
        fault = self._before(call.verb, call.kind, call.subresource)
        answer = await send()
        self._after(fault)
        return answer

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Meets the fault that is planned for the opening of the stream."""
        self._after(self._before("watch", kind))
        return super().watch(kind, options)

    def _before(self, verb: Verb, kind: AnyKind, subresource: str = "") -> _Fault | None:
        """The fault that this request meets, used up; what is to happen before it has happened."""
        fault = next((fault for fault in self._faults if fault.matches(verb, kind, subresource)), None)
        if fault is None:
            return None
        fault.left -= 1
        if fault.after:
            return fault
        fault.happens()
        return None

    def _after(self, fault: _Fault | None) -> None:
        if fault is not None:
            fault.happens()
