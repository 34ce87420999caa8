"""Where a task hangs: the chain of awaits from the task's own function down to the innermost one, as readable lines.

A chain that ends in a wait for other tasks (a task group, or one that is awaited) goes on in each of those. A worker of a
controller also tells which key it has in hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from dynamo_ctrl.controller.context import Running

MAX_FRAMES = 32
"""How deep a chain is followed."""

MAX_TASKS = 32
"""How many tasks are told of at most, for one that hangs."""


def frames(task: asyncio.Task[Any]) -> tuple[str, ...]:
    """One line for each await of the chain, the innermost last: `file.py:12 in function`. Empty for a task that is done."""
    return tuple(
        f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}{_in_hand(frame)}"
        for frame in _chain(task)
    )


def describe(task: asyncio.Task[Any]) -> str:
    """The task's name and, below it, where it hangs; then the same of every task that it waits for."""
    told: dict[asyncio.Task[Any], None] = {}
    waiting = [task]
    while waiting and len(told) < MAX_TASKS:
        next_ = waiting.pop(0)
        if next_ not in told:
            told[next_] = None
            waiting += sorted(_awaited(next_), key=asyncio.Task.get_name)
    return "\n".join(line for one in told for line in (one.get_name(), *(f"    at {frame}" for frame in frames(one))))


def _chain(task: asyncio.Task[Any]) -> list[FrameType]:
    chain: list[FrameType] = []
    awaited: object = task.get_coro()
    while awaited is not None and len(chain) < MAX_FRAMES:
        frame = _frame(awaited)
        if frame is None:
            break
        chain.append(frame)
        awaited = _inner(awaited)
    return chain


def _awaited(task: asyncio.Task[Any]) -> Iterator[asyncio.Task[Any]]:
    """The tasks that it waits for, as far as asyncio lets one see them."""
    found: list[object] = [getattr(task, "_fut_waiter", None)]
    for frame in _chain(task):
        group = frame.f_locals.get("self")
        if isinstance(group, asyncio.TaskGroup):
            members: Iterable[object] = getattr(group, "_tasks", ())
            found += members
    for other in found:
        if isinstance(other, asyncio.Task) and not other.done():
            yield other


def _in_hand(frame: FrameType) -> str:
    """The key that a worker of a controller has in hand, if this is its frame."""
    for value in frame.f_locals.values():
        if isinstance(value, Running) and value.entry is not None:
            return f" (key {value.entry.key})"
    return ""


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
