"""How far a managed rolling update is, as the status of a graph tells it (G 3.6.1, 3.6.8). Pure.

    nothing under way -> Pending -> InProgress -> Completed
                         Pending again whenever the workers change once more

The phase follows from what exists; the last phase only tells whether a rollout had begun. While no old generation is there and
none was, nothing rolls: the first deployment of a graph is no rolling update, nor is a Pod that fails long after the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dynamo_ctrl.program.effect import Event
from dynamo_graph.api.graph_status import RollingUpdateStatus, RolloutPhase

ACTIVE: Final = frozenset({"Pending", "InProgress"})
"""The phases of a rollout that is under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What was seen of the generations of a graph.

    Attributes:
        old: some deployment of an older generation is there.
        pending: some worker component has no deployment of the wanted generation.
        ready: every worker component has what it is to have of that generation.
        updated: the components that are done.
        workers: all worker components.
    """

    old: bool
    pending: bool
    ready: bool
    updated: Sequence[str]
    workers: Sequence[str]


def is_active(status: RollingUpdateStatus | None) -> bool:
    """Whether a rollout is under way."""
    return status is not None and status.phase in ACTIVE


def advanced(last: RollingUpdateStatus | None, seen: Situation, now: datetime) -> RollingUpdateStatus | None:
    """The status of the rollout in that situation; `None` where there never was one."""
    if not seen.old and not is_active(last):
        return last
    now = now.astimezone(UTC).replace(microsecond=0)
    begun = (last.start_time if last is not None and is_active(last) else None) or now
    phase = _phase(seen)
    done = phase == "Completed"
    return RollingUpdateStatus(
        phase=phase,
        start_time=begun,
        end_time=now if done else None,
        updated_components=_components(phase, seen),
    )


def _phase(seen: Situation) -> RolloutPhase:
    if seen.pending:
        return "Pending"
    return "InProgress" if seen.old or not seen.ready else "Completed"


def _components(phase: RolloutPhase, seen: Situation) -> tuple[str, ...]:
    if phase == "Pending":
        return ()
    return tuple(sorted(seen.workers if phase == "Completed" else seen.updated))


def rollout_events(
    old: RollingUpdateStatus | None, new: RollingUpdateStatus | None, *, suffix: str, recorded: str
) -> tuple[Event, ...]:
    """What a written change of the status tells: each rollout begins once for each generation, and ends once.

    Args:
        suffix: the generation that is rolled out.
        recorded: the hash that is recorded at the end.
    """
    if new is None:
        return ()
    before = old.phase if old is not None else ""
    if is_active(new) and (not is_active(old) or (new.phase == "Pending" and before != "Pending")):
        return (_event("RollingUpdateStarted", f"Starting rolling update to worker hash {suffix}"),)
    if new.phase == "Completed" and before != "Completed":
        return (_event("RollingUpdateCompleted", f"Rolling update completed, worker hash {recorded}"),)
    return ()


def _event(reason: str, note: str) -> Event:
    return Event(type="Normal", reason=reason, note=note, action="RollWorkers")
