"""`WriteGuard`: an engine that writes only while it is permitted to.

Contract (R 4, 40):

- Reads pass. A write passes while `left()` is positive, else it raises `WriteRefused` and nothing is sent.
- A write that is under way when the time runs out is given up at that moment: `Unanswered`, for it may have happened.
- Writes to the exempt objects always pass: what prolongs the permission must not need it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from dynamo_ctrl.engine.errors import Unanswered, WriteRefused
from dynamo_ctrl.engine.forwarding import WRITES, Call, ForwardingEngine
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.key import Key, Ref

T = TypeVar("T")


class WriteGuard(ForwardingEngine):
    """Goes around `engine`, which stays its owner's.

    Args:
        engine: carries out what is permitted.
        left: seconds for which writes are still permitted; zero or less refuses them. Asked before each write.
        why: completes "... was not sent: "; for errors.
        exempt: objects that may always be written.
    """

    def __init__(
        self,
        engine: Engine,
        left: Callable[[], float],
        *,
        why: str = "writes are not permitted now",
        exempt: Collection[Ref] = (),
    ) -> None:
        super().__init__(engine)
        self._left = left
        self._why = why
        self._exempt = frozenset(exempt)
        self._kinds = frozenset(ref.kind for ref in self._exempt)

    async def around(self, call: Call, send: Callable[[], Awaitable[T]]) -> T:
        """Sends what is permitted. Raises `WriteRefused`, and `Unanswered` for what had to be given up on its way."""
        if call.verb not in WRITES:
            return await send()
        key = self._key(call)
        if Ref(call.kind, key) in self._exempt:
            return await send()
        left = self._left()
        if not left > 0:
            raise WriteRefused(f"{call.verb} {call.kind} {key} was not sent: {self._why}")
        timeout = asyncio.timeout(left if left < math.inf else None)
        try:
            async with timeout:
                return await send()
        except TimeoutError as error:
            if not timeout.expired():
                raise
            message = f"{call.verb} {call.kind} {key} was given up while it was under way: {self._why}"
            raise Unanswered(message) from error

    def _key(self, call: Call) -> Key:
        """The key of what is written; the name of a new object matters only where such an object may be exempt."""
        if call.verb != "create":
            return call.key
        name = call.kind.decode(call.body).metadata.name if call.kind in self._kinds else "(new)"
        return Key(call.key.namespace, name)
