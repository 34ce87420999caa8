"""Signals: the first one stops, the second one leaves at once."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from dynamo_ctrl.manager.signals import FORCED_EXIT, install_signals


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
        await asyncio.sleep(0.01)
        assert (stops, exits) == (1, [])
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.01)
        assert (stops, exits) == (1, [FORCED_EXIT])
    assert signal.getsignal(number) in (before, signal.SIG_DFL, signal.default_int_handler)
