"""Where a task hangs: the chain of awaits from the task's own function down to the innermost one, as readable lines."""

from __future__ import annotations

import asyncio
from types import FrameType
from typing import Any

MAX_FRAMES = 32
"""How deep a chain is followed."""


def frames(task: asyncio.Task[Any]) -> tuple[str, ...]:
    """One line for each await of the chain, the innermost last: `file.py:12 in function`. Empty for a task that is done."""
    lines: list[str] = []
    awaited: object = task.get_coro()
    while awaited is not None and len(lines) < MAX_FRAMES:
        frame = _frame(awaited)
        if frame is None:
            break
        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}")
        awaited = _inner(awaited)
    return tuple(lines)


def describe(task: asyncio.Task[Any]) -> str:
    """The task's name and, below it, where it hangs."""
    return "\n".join([task.get_name(), *(f"    at {line}" for line in frames(task))])


def _frame(awaited: object) -> FrameType | None:
    for name in ("cr_frame", "gi_frame", "ag_frame"):
        frame = getattr(awaited, name, None)
        if isinstance(frame, FrameType):
            return frame
    return None


def _inner(awaited: object) -> object:
    for name in ("cr_await", "gi_yieldfrom", "ag_await"):
        inner: object = getattr(awaited, name, None)
        if inner is not None:
            return inner
    return None
