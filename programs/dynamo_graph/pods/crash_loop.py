"""Which Pods crash again and again, and how that is told (G 8.2-8.4). Pure.

Query and watch share the one predicate, so they cannot disagree. It gives the same answer for a Pod and for what the cache keeps
of it (`pods.projection`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dynamo_ctrl.objects.builtin.core import ContainerStatus, Pod, Terminated
from dynamo_graph.pods.phase import has_ended

RESTARTS: Final = 2
"""From so many restarts on, a container that is down after a failure is in a crash loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashLoop:
    """A container that ends with a failure whenever it is started; as text, what its author is told.

    Attributes:
        pod: the name of its Pod.
        container: its name.
        restarts: how often it was started again.
        exit_code: how it ended last.
        reason: what the kubelet calls that; empty if it gives it no name.
    """

    pod: str
    container: str
    restarts: int
    exit_code: int
    reason: str = ""

    def __str__(self) -> str:
        told = f"pod {self.pod}: container {self.container} restarted {self.restarts} times"
        return f"{told}, last exit code {self.exit_code}{f' ({self.reason})' if self.reason else ''}"


def crash_loop(pod: Pod) -> CrashLoop | None:
    """The first container of a living Pod that is in a crash loop, init containers before the others.

    A Pod that is ready is in none, whatever happened to it, nor is one that is being deleted. Raises `InvalidObject` for a status
    that cannot be read.
    """
    status = pod.status
    if pod.metadata.deletion_timestamp is not None or has_ended(pod):
        return None
    ready = status.condition("Ready")
    if ready is not None and ready.status == "True":
        return None
    for container in (*status.init_container_statuses, *status.container_statuses):
        if container.restart_count >= RESTARTS:
            end = _down_after(container)
            if end is not None and end.exit_code != 0:
                return CrashLoop(
                    pod=pod.metadata.name,
                    container=container.name,
                    restarts=container.restart_count,
                    exit_code=end.exit_code,
                    reason=end.reason,
                )
    return None


def _down_after(container: ContainerStatus) -> Terminated | None:
    """The end of a container that is down. One of which the state is not known runs: the cache does not keep what runs."""
    if container.state.terminated is not None:
        return container.state.terminated
    return container.last_state.terminated if container.state.waiting is not None else None


def find_crash_loop(pods: Iterable[Pod]) -> CrashLoop | None:
    """The crash loop of the Pod with the smallest name, if any Pod is in one."""
    found = (looping for pod in pods if (looping := crash_loop(pod)) is not None)
    return min(found, key=lambda looping: looping.pod, default=None)


def crash_loop_changed(old: Pod, new: Pod) -> bool:
    """Whether two observations of one Pod tell of different crash loops, or one of them of none."""
    return crash_loop(old) != crash_loop(new)
