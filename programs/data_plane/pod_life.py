"""The life of a Pod's containers, as a state machine without a clock.

    starting -> running -> ready            the rule
    starting -> running -> crashed -> running ...      with the annotation `crash`, ever more slowly, or so often as it is told
    waiting for its image                   with the annotation `image-error`, until it is taken away

The state is read from the Pod's own status, so that a restart of the data plane changes nothing. Times have whole seconds, as
the API keeps them; a delay counts from the second in which it began.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from data_plane.annotations import Behaviour
from dynamo_ctrl.objects.builtin.core import ContainerStatus, Pod

State = Literal["new", "running", "ready", "crashed", "image"]

CRASH_LOOP: Final = "CrashLoopBackOff"
IMAGE_PULL: Final = "ImagePullBackOff"

FIRST_BACKOFF: Final = timedelta(seconds=10)
"""How long a container that crashed for the first time waits; doubled with each crash."""
LONGEST_BACKOFF: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Life:
    """Where the containers of a Pod are.

    Attributes:
        state: what they do, all of them.
        since: when that began.
        restarts: how often they started again.
        started: the start before a crash.
    """

    state: State
    since: datetime
    restarts: int = 0
    started: datetime | None = None


def life_of(pod: Pod, now: datetime) -> Life:
    """What the status of `pod` says."""
    statuses = pod.status.container_statuses
    if not statuses:
        return Life("new", now)
    return _life(statuses[0], now)


def _life(status: ContainerStatus, now: datetime) -> Life:
    running, waiting = status.state.running, status.state.waiting
    if running is not None:
        since = running.started_at or now
        return Life("ready" if status.ready else "running", since, status.restart_count)
    if waiting is not None and waiting.reason == CRASH_LOOP:
        end = status.last_state.terminated
        return Life(
            "crashed",
            (end.finished_at if end is not None else None) or now,
            status.restart_count,
            end.started_at if end is not None else None,
        )
    return Life("image" if waiting is not None and waiting.reason == IMAGE_PULL else "new", now)


def lived(life: Life, behaviour: Behaviour, now: datetime) -> Life:
    """Where `life` is at `now`: every step that is due is taken."""
    while True:
        due = next_step(life, behaviour, now)
        if due is None or due > now:
            return life
        life = _step(life, behaviour, now)


def next_step(life: Life, behaviour: Behaviour, now: datetime) -> datetime | None:
    """When the next step is due; `None` if nothing will happen by itself."""
    match life.state:
        case "new":
            return now
        case "image":
            return None if behaviour.image_error else now
        case "running":
            return life.since + behaviour.ready_after
        case "ready":
            return now if behaviour.crash else None
        case "crashed" if behaviour.crash and behaviour.restarts is not None and life.restarts >= behaviour.restarts:
            return None
        case "crashed":
            return life.since + (backoff(life.restarts) if behaviour.restart_after is None else behaviour.restart_after)


def backoff(restarts: int) -> timedelta:
    """How long crashed containers wait after that many restarts."""
    doublings = min(restarts, 16)
    return min(FIRST_BACKOFF * (1 << doublings), LONGEST_BACKOFF)


def _step(life: Life, behaviour: Behaviour, now: datetime) -> Life:
    second = now.replace(microsecond=0)
    match life.state:
        case "new" | "image":
            return Life("image" if behaviour.image_error else "running", second)
        case "crashed":
            return Life("running", second, life.restarts + 1)
        case _ if behaviour.crash:
            return Life("crashed", second, life.restarts, life.since)
        case _:
            return replace(life, state="ready")
