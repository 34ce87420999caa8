"""Signals. The library installs none by itself; a binary asks for them with `install_signals`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)
FORCED_EXIT = 1
"""The exit code after the second signal."""


@contextmanager
def install_signals(stop: Callable[[], None], *, leave: Callable[[int], None] = os._exit) -> Iterator[None]:
    """While the context is open, the first SIGINT or SIGTERM calls `stop`, the second one leaves the process at once.

    To be used inside the running loop, in the main thread. The handlers that were there before are not called.
    """
    loop = asyncio.get_running_loop()
    seen = False

    def handle() -> None:
        nonlocal seen
        if seen:
            leave(FORCED_EXIT)
            return
        seen = True
        stop()

    for number in SIGNALS:
        loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
