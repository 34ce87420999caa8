"""Which reconcile a log line belongs to.

A worker leaves a note of what it runs in its context; `reconcile_context`, a structlog processor, reads it when a line is
written. A reconcile that logs nothing pays nothing. The reconcile id is the controller's name and the number of the run.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any

from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.entry import Entry


class Running:
    """What one worker runs at the moment."""

    __slots__ = ("controller", "entry")

    def __init__(self, controller: str) -> None:
        self.controller = controller
        self.entry: Entry[Key] | None = None


RUNNING: ContextVar[Running | None] = ContextVar("dynamo_ctrl_running", default=None)
"""Set once by each worker, for its own task."""


def reconcile_id(controller: str, entry: Entry[Key]) -> str:
    """The id of a run, unique in its process."""
    return f"{controller}-{entry.run}"


def reconcile_context(logger: Any, method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: adds `controller`, `key` and `reconcile_id` to lines that are written during a reconcile."""
    del logger, method
    running = RUNNING.get()
    if running is not None and running.entry is not None:
        line.setdefault("controller", running.controller)
        line.setdefault("key", str(running.entry.key))
        line.setdefault("reconcile_id", reconcile_id(running.controller, running.entry))
    return line
