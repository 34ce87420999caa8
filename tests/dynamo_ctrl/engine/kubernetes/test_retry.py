"""What is sent again, what is not, and for how long it is waited."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from dynamo_ctrl.engine import errors
from dynamo_ctrl.engine.kubernetes.credentials import CredentialsUnavailable
from dynamo_ctrl.engine.kubernetes.retry import Retry, RetryOptions, passing

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit

TABLE = [
    # failure, read again, write again
    (errors.Unreachable("x"), True, True),
    (errors.TooManyRequests("x"), True, True),
    (errors.TooManyRequests("x", retry_after=1), True, True),
    (errors.Unavailable("x", code=503, retry_after=1), True, True),
    (errors.Unavailable("x", code=503, retry_after=0), True, True),
    (errors.Unavailable("x", code=503), True, False),
    (errors.Unavailable("x", code=502, retry_after=1), True, False),
    (errors.ServerError("x"), True, False),
    (errors.ServerError("x", retry_after=1), True, False),
    (errors.ServerTimeout("x"), True, False),
    (errors.Unanswered("x"), True, False),
    (errors.TooLargeResourceVersion("x", retry_after=1), False, False),
    (errors.MalformedAnswer("x"), False, False),
    (CredentialsUnavailable("x"), False, False),
    (errors.Untrusted("x"), False, False),
    (errors.Conflict("x"), False, False),
    (errors.NotFound("x"), False, False),
    (errors.Expired("x"), False, False),
    (errors.Invalid("x", retry_after=1), False, False),
    (errors.Unauthorized("x"), False, False),
    (ValueError("x"), False, False),
]


@pytest.mark.parametrize(("error", "read", "write"), TABLE, ids=lambda value: type(value).__name__)
def test_a_read_is_repeated_after_any_passing_failure_and_a_write_only_when_nothing_was_done(
    error: Exception, read: bool, write: bool
) -> None:
    assert (passing(error, read=True), passing(error, read=False)) == (read, write)


def attempts(
    kit: Kit, *outcomes: Exception | str, options: RetryOptions, left: float = 1e9
) -> tuple[object, list[float]]:
    pauses = kit.pauses()
    queue = list(outcomes)

    async def send() -> str:
        outcome = queue.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def main() -> object:
        retry = Retry(options, random.Random(1), pauses)
        try:
            return await retry.run(send, read=True, remaining=lambda: left - sum(pauses.seconds))
        except errors.EngineError as error:
            return error

    return kit.run(main()), pauses.seconds


def test_waits_double_with_full_jitter_up_to_the_cap(kit: Kit) -> None:
    options = RetryOptions(attempts=7, first=1.0, longest=8.0)
    ceilings = [1, 2, 4, 8, 8, 8]
    seen = [attempts(kit, *[errors.ServerError("x")] * 6, "done", options=options)[1]]
    assert all(0 <= wait <= ceiling for wait, ceiling in zip(seen[0], ceilings, strict=True))
    assert len(set(seen[0])) == 6


def test_the_error_of_the_last_attempt_is_raised(kit: Kit) -> None:
    failures = [errors.ServerError(str(number)) for number in range(3)]
    result, waits = attempts(kit, *failures, options=RetryOptions(attempts=3))
    assert (result, len(waits)) == (failures[-1], 2)


def test_retry_after_is_a_lower_bound_and_capped(kit: Kit) -> None:
    options = RetryOptions(attempts=3, first=0.5, longest=10.0)
    long, longer = errors.TooManyRequests("x", retry_after=3), errors.TooManyRequests("x", retry_after=3600)
    result, (first, second) = attempts(kit, long, longer, "done", options=options)
    assert result == "done"
    assert 3.0 <= first <= 3.5
    assert 10.0 <= second <= 11.0


def test_a_wait_that_would_pass_the_deadline_is_not_begun(kit: Kit) -> None:
    throttled = errors.TooManyRequests("x", retry_after=5)
    result, waits = attempts(kit, throttled, throttled, "done", options=RetryOptions(), left=8.0)
    assert result is throttled
    assert len(waits) == 1


def test_cancellation_is_no_failure(kit: Kit) -> None:
    async def main() -> None:
        async def send() -> None:
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await Retry(RetryOptions(), random.Random(1)).run(send, read=True, remaining=lambda: 9.0)

    kit.run(main())


def test_a_plain_function_that_returns_an_awaitable_is_awaited(kit: Kit) -> None:
    async def answer() -> int:
        return 7

    async def main() -> int:
        send: Callable[[], object] = lambda: answer()  # noqa: E731
        return await Retry(RetryOptions(), random.Random(1)).run(send, read=True, remaining=lambda: 9.0)  # type: ignore[arg-type]

    assert kit.run(main()) == 7
