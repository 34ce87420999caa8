"""Which failed requests are sent again, and when.

The rule has one line: **a read is repeated after any passing failure, a write only when it is certain that nothing was done.**

| failure | read | write (create, update, patch, delete) |
| --- | --- | --- |
| no connection (`Unreachable`) | again | again |
| a certificate that is not trusted (`Untrusted`) | raised: it does not get better by itself |
| 429, with Retry-After or without | again | again: the server turned it away before looking at it |
| 503 with Retry-After | again | again: overload protection or shutdown, turned away as well |
| other 5xx, 502 and 503 without Retry-After | again | raised: it may have been carried out |
| connection lost after sending (`Unanswered`) | again | raised: as above |
| `TooLargeResourceVersion` | raised: the watcher has a better answer than waiting |

An update that carries a resourceVersion, or a patch with a test, could be repeated without harm, but its second answer would be a
`Conflict` with ourselves; the truth, "maybe done", is what the caller can work with. Waits are exponential with full jitter; a
Retry-After is a lower bound, up to a cap. A wait that would pass the call's deadline is not begun: the error is raised at once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from dynamo_ctrl.engine.errors import (
    EngineError,
    MalformedAnswer,
    ServerError,
    ServerTimeout,
    TooLargeResourceVersion,
    TooManyRequests,
    Unanswered,
    Unavailable,
    Unreachable,
    Untrusted,
)
from dynamo_ctrl.engine.kubernetes.calls import Remaining
from dynamo_ctrl.engine.kubernetes.credentials import CredentialsUnavailable

T = TypeVar("T")

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryOptions:
    """The bounds.

    Attributes:
        attempts: times that a request is sent, at most.
        first: seconds of the first wait, before jitter; doubles each time.
        longest: seconds of the longest wait, whatever the server asks for.
    """

    attempts: int = 6
    first: float = 0.25
    longest: float = 10.0


def passing(error: BaseException, *, read: bool) -> bool:
    """Whether the same request may be sent again after `error`: the table above."""
    match error:
        case CredentialsUnavailable() | MalformedAnswer() | TooLargeResourceVersion() | Untrusted():
            return False
        case Unreachable() | TooManyRequests():
            return True
        case Unavailable(code=503, retry_after=after) if after is not None:
            return True
        case Unavailable() | ServerError() | ServerTimeout() | Unanswered():
            return read
        case _:
            return False


class Retry:
    """Sends requests again, with injected randomness and sleep."""

    def __init__(self, options: RetryOptions, rng: random.Random, sleep: Sleep = asyncio.sleep) -> None:
        self._options = options
        self._random = rng
        self._sleep = sleep

    async def run(
        self,
        send: Callable[[], Awaitable[T]],
        *,
        read: bool,
        remaining: Remaining,
        retried: Callable[[int], None] | None = None,
    ) -> T:
        """The answer of the first attempt that has one. Raises the error of the last.

        `retried` is told the status of each attempt (0 for no answer) after which the request is sent again.
        """
        try:
            return await send()
        except EngineError as error:
            if not passing(error, read=read):
                raise
            failed: list[EngineError] = [error]

        # Only now tenacity comes in: its bookkeeping costs 22 us a call, a tenth of a whole request.
        async def attempt() -> T:
            if failed:
                raise failed.pop()
            return await send()

        def tell(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if retried is not None and isinstance(error, EngineError):
                retried(error.code)

        def stop(state: RetryCallState) -> bool:
            return state.attempt_number >= self._options.attempts or state.upcoming_sleep >= remaining()

        retrying = AsyncRetrying(
            sleep=self._sleep,
            stop=stop,
            wait=self._wait,
            retry=retry_if_exception(lambda error: passing(error, read=read)),
            before_sleep=tell,
            reraise=True,
        )
        return await retrying(attempt)

    def _wait(self, state: RetryCallState) -> float:
        options = self._options
        ceiling = min(options.longest, options.first * 2 ** (state.attempt_number - 1))
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, EngineError) and error.retry_after else 0.0
        return min(options.longest, asked) + self._random.uniform(0, ceiling)
