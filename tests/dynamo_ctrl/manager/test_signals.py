"""Signals: the first one stops, the second one leaves at once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from dynamo_ctrl.manager.signals import FORCED_EXIT, install_signals


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110  (what is waited for comes from the operating system)
            await asyncio.sleep(0.001)


@pytest.mark.real_loop
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_first_signal_stops_and_the_second_exits(number: signal.Signals) -> None:
    stops = 0
    exits: list[int] = []

    def stop() -> None:
        nonlocal stops
        stops += 1

    before = signal.getsignal(number)
    with install_signals(stop, leave=exits.append):
        os.kill(os.getpid(), number)
        await until(lambda: stops > 0)
        assert (stops, exits) == (1, [])
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: bool(exits))
        assert (stops, exits) == (1, [FORCED_EXIT])
    assert signal.getsignal(number) in (before, signal.SIG_DFL, signal.default_int_handler)
