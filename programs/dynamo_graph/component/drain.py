"""The drain barrier: when the old generations of a worker are really gone (G 3.6.7). Pure.

A deployment that asks for nothing may still have Pods that answer requests. An old generation is deleted, and a new one of the
strategy Recreate started, only when neither the deployments nor their Pods have anything left. That a Pod is being deleted is not
enough: it serves until it ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.objects.builtin.core import Pod
from dynamo_graph.api.component import WORKER_TYPES
from dynamo_graph.api.names import Label
from dynamo_graph.component.inventory import Worker
from dynamo_graph.pods.phase import has_ended


def drained(olds: Iterable[Worker], pods: Iterable[Pod]) -> bool:
    """Whether nothing is left of old deployments; `pods` are those of their components, of any generation."""
    olds = tuple(olds)
    names = {old.name for old in olds}
    return all(map(_at_zero, olds)) and all(
        has_ended(pod) for pod in pods if pod.metadata.labels.get(Label.SELECTOR) in names
    )


def _at_zero(old: Worker) -> bool:
    """Whether it asks for nothing, has been seen asking for nothing, and has nothing. An absent number is not 0."""
    status = old.status
    return old.deployment.spec.replicas == 0 and old.observed and status is not None and status.replicas == 0


def drain_changed(change: Change[Pod]) -> bool:
    """Passes what can move a drain barrier.

    Of the Pods of workers: creations, deletions, and updates that change whose they are or whether they have ended. A deletion
    timestamp moves nothing, nor does another phase of one that has ended.
    """
    old, new = change.old, change.new
    if old is None or new is None:
        return _managed(change.latest)
    if not (_managed(old) or _managed(new)):
        return False
    return _managed(old) is not _managed(new) or _labels(old) != _labels(new) or has_ended(old) is not has_ended(new)


def _labels(pod: Pod) -> tuple[str, str, str]:
    labels = pod.metadata.labels
    return labels.get(Label.GRAPH, ""), labels.get(Label.COMPONENT, ""), labels.get(Label.SELECTOR, "")


def _managed(pod: Pod) -> bool:
    return all(_labels(pod)) and pod.metadata.labels.get(Label.COMPONENT_TYPE) in WORKER_TYPES
