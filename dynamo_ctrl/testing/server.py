"""`Server`: a core as several clients reach it: it can be down, answer from an old cache, and knows who wrote what and when.

    server.down(60)                       connections are refused for a minute, and streams are cut
    server.restart(behind=10, for_=30)    every stream ends; its watch cache is ten versions old for thirty seconds

As with a real kube-apiserver whose cache is behind, consistent reads are as ever; a list that takes any version gets the old
state; one that asks for a version which the cache has not reached is refused (`TooLargeResourceVersion`); watches tell nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dynamo_ctrl.engine.errors import EngineError, Expired, NotFound, TooLargeResourceVersion
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.history import Feed
from dynamo_ctrl.engine.port import AnyKind, ListOptions, Page, WatchOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.testing.weather import Asked, Break


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One write that reached the server.

    Attributes:
        who: the process that sent it.
        asked: what it was, and when it was sent.
        at: when it arrived.
        awaited: whether its sender still waited for an answer.
        moved: whether anything changed.
        error: why it was refused.
        holder: who held the lease that matters when it arrived, before it was carried out.
    """

    who: str
    asked: Asked
    at: float
    awaited: bool
    moved: bool
    error: EngineError | None
    holder: str

    def __str__(self) -> str:
        outcome = type(self.error).__name__ if self.error else "done" if self.moved else "no change"
        return f"{self.at:.3f} {self.who} {self.asked} (sent {self.asked.at:.3f}): {outcome}, lease of {self.holder!r}"


class Server:
    """See the module.

    Args:
        core: the state.
        lease: the Lease whose holder is noted with each write.

    Attributes:
        arrivals: every write that arrived, in order.
    """

    def __init__(self, core: Core, *, lease: Key) -> None:
        self.core = core
        self.arrivals: list[Arrival] = []
        self._lease = lease
        self._down_until = -math.inf
        self._cached: int | None = None
        self._behind_until = -math.inf
        self._streams: dict[Callable[[Break], None], None] = {}

    # -- what befalls it

    def down(self, seconds: float) -> None:
        """Nobody listens for so long."""
        self._down_until = _now() + seconds
        self._break(Break.CUT)

    def restart(self, *, behind: int, for_: float) -> None:
        """Every stream ends, and the watch cache is `behind` versions old for so many seconds."""
        self._cached = max(1, self.core.version - behind)
        self._behind_until = _now() + for_
        self._break(Break.CUT)

    def heal(self) -> None:
        """Everything is well from now on."""
        self._down_until = self._behind_until = -math.inf

    def _break(self, how: Break) -> None:
        for stream in tuple(self._streams):
            stream(how)

    # -- what it says of itself

    @property
    def listens(self) -> bool:
        """Whether connections are accepted."""
        return _now() >= self._down_until

    @property
    def behind_for(self) -> float:
        """Seconds for which its cache will be old."""
        return max(0.0, self._behind_until - _now())

    def holder(self) -> str:
        """Who holds the lease."""
        try:
            return LEASE.decode(self.core.get(LEASE, self._lease)).spec.holder_identity or ""
        except NotFound:
            return ""

    # -- requests

    def write(self, who: str, asked: Asked, carry_out: Callable[[], bytes], *, awaited: bool) -> bytes:
        """Carry out a write that has arrived, and note it."""
        before, holder = self.core.version, self.holder()
        error: EngineError | None = None
        try:
            return carry_out()
        except EngineError as refused:
            error = refused
            raise
        finally:
            moved = self.core.version != before
            self.arrivals.append(
                Arrival(who=who, asked=asked, at=_now(), awaited=awaited, moved=moved, error=error, holder=holder)
            )

    def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""
        version = options.resource_version
        if not self.behind_for or self._cached is None or not version or options.continue_token:
            return self.core.list(kind, options)
        self._check(version)
        return self._old(kind, options)

    def _check(self, version: str) -> None:
        if version not in ("", "0") and int(version) > (self._cached or 0):
            raise TooLargeResourceVersion(f"Too large resource version: {version}, current: {self._cached}")

    def _old(self, kind: AnyKind, options: ListOptions) -> Page:
        """The objects as the old cache has them; what history does not tell any more is read anew."""
        try:
            return self.core.list(kind, replace(options, resource_version=str(self._cached), match="Exact"))
        except Expired:
            return self.core.list(kind, replace(options, resource_version="", match=""))

    def watch(self, kind: AnyKind, options: WatchOptions) -> Feed:
        """A feed of events, to be pulled; while the cache is behind nobody should pull."""
        if self.behind_for and options.send_initial:
            self._check(options.resource_version)
        return self.core.watch(kind, options)

    def attach(self, stream: Callable[[Break], None]) -> None:
        """Tell `stream` how it breaks."""
        self._streams[stream] = None

    def detach(self, stream: Callable[[Break], None]) -> None:
        """Tell it no more."""
        self._streams.pop(stream, None)

    @property
    def streams(self) -> int:
        """How many watches are open."""
        return len(self._streams)


def _now() -> float:
    return asyncio.get_running_loop().time()
