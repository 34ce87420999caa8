"""Restarting the components of a graph (G 3.4). Pure.

A request is an id in the spec; a new one restarts every component, one after the other or all at once, by an annotation on its
Pods. How far it is stands in the status: a component is told to restart before the status says so, and is done when its
deployment has seen that and is available. A rolling update replaces all workers anyway: it supersedes a request that is not
finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.program.effect import Event
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.graph import Restart
from dynamo_graph.api.graph_status import RestartStatus
from dynamo_graph.component_deployment.status import AVAILABLE

TERMINAL: Final = frozenset({"Completed", "Failed", "Superseded"})
"""The phases of a request that is processed."""

Unfinished = Callable[[Iterable[str]], Sequence[str]]
"""Those of the named components that are not done, in the order given."""


def next_restart(
    wanted: Restart | None,
    last: RestartStatus | None,
    components: Iterable[str],
    *,
    rolling: bool,
    unfinished: Unfinished,
) -> RestartStatus | None:
    """The status of the restart after this attempt (G 3.4.2).

    Args:
        wanted: the request.
        last: what the status says now.
        components: the names of all components of the graph.
        rolling: whether a rolling update is under way.
        unfinished: asked only for a request that was begun before.
    """
    terminal = last is not None and last.phase in TERMINAL
    if wanted is None or not wanted.id:
        return last if terminal else None
    known = last is not None and last.observed_id == wanted.id
    if known and terminal:
        return last
    if rolling:
        return RestartStatus(observed_id=wanted.id, phase="Superseded")
    order = restart_order(wanted, components)
    running = last.in_progress if known and last is not None else ()
    if not wanted.sequential:
        return _restarting(wanted, unfinished(running or sorted(order)) if known else sorted(order))
    if not known or not running:
        return _restarting(wanted, order[:1])
    current = running[0]
    following = order[order.index(current) + 1 :] if current in order else order
    return _restarting(wanted, unfinished((current,)) or following[:1])


def created_with_restart(wanted: Restart | None, last: RestartStatus | None, *, generation: int, observed: int) -> bool:
    """Whether a graph was created with a request, which the schema forbids: there is nothing to restart then (G 3.4.2)."""
    return wanted is not None and bool(wanted.id) and last is None and generation == 1 and observed == 0


def restart_order(wanted: Restart, components: Iterable[str]) -> list[str]:
    """The components in the order in which they restart one after the other: as asked for, else sorted by their bytes."""
    asked = wanted.strategy.order if wanted.strategy is not None else ()
    return list(asked) or sorted(components)


def restart_stamps(wanted: Restart | None, status: RestartStatus | None, components: Sequence[str]) -> dict[str, str]:
    """Component name to the restart that its Pods shall carry; who is not in it keeps what he carries (G 3.4.3)."""
    if status is None or not status.observed_id or status.phase in ("Superseded", "Failed"):
        return {}
    everyone = dict.fromkeys(components, status.observed_id)
    if wanted is None or not wanted.id or status.phase == "Completed" or not wanted.sequential:
        return everyone
    order = restart_order(wanted, components)
    reached = [order.index(name) for name in status.in_progress if name in order and status.phase == "Restarting"]
    return dict.fromkeys(order[: max(reached, default=0) + 1], status.observed_id)


def carried(stamp: str | None, present: str | None, *, completed: bool) -> str | None:
    """The restart that the Pods of one component carry.

    Args:
        stamp: what they shall carry, if anything.
        present: what those of its deployment carry; empty if nothing, `None` if there is no deployment.
        completed: the restart is over. Pods that it never reached are left alone then, those of a graph that was created with it.
    """
    if stamp is None or (completed and present == ""):
        return present or None
    return stamp


def unfinished_because(read: Callable[[], DynamoComponentDeployment | None]) -> str | None:
    """Why a component is not done with its restart; `None` when it is (G 3.4.4). What cannot be read is not done."""
    try:
        deployment = read()
        if deployment is None:
            return "resource not found"
        generation, status = deployment.metadata.generation, deployment.status
    except (InvalidObject, SourceUnavailable) as error:
        return f"get error: {error}"
    if status.observed_generation < generation:
        return f"spec not yet processed: generation={generation}, observedGeneration={status.observed_generation}"
    available = find(status.conditions, AVAILABLE)
    if available is None:
        return "Available condition not found"
    return None if available.status == "True" else f"not available: {available.message}"


def restart_events(old: RestartStatus | None, new: RestartStatus | None) -> tuple[Event, ...]:
    """What a written change of the status tells."""
    if new is None or new.phase != "Superseded" or old == new:
        return ()
    note = f"Restart {new.observed_id} is superseded by a rolling update; ask again with a new id if it is still wanted"
    return (Event(type="Warning", reason="RestartSuperseded", note=note, action="RestartComponents"),)


def _restarting(wanted: Restart, running: Sequence[str]) -> RestartStatus:
    """Under way in those components; over if there is none."""
    if not running:
        return RestartStatus(observed_id=wanted.id, phase="Completed")
    return RestartStatus(observed_id=wanted.id, phase="Restarting", in_progress=tuple(running))
