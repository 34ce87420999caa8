"""Which Pod events concern whom, as far as crash loops are concerned (G 8.8). Pure.

A Pod concerns the one whose workload made it. The labels of Grove's Pods look like those of a Deployment's, so the kind of the
controller tells which is which: nobody is woken who does not exist. Pods of LeaderWorkerSets and of nobody concern nobody.
"""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.core import Pod
from dynamo_ctrl.objects.key import Key
from dynamo_graph.api.names import Label
from dynamo_graph.pods.crash_loop import crash_loop, crash_loop_changed

_REPLICA_SET: Final = ("apps", "ReplicaSet")
_POD_CLIQUE: Final = ("grove.io", "PodClique")


def deployment_of(pod: Pod) -> Key | None:
    """The component deployment that the Pod's Deployment was made for."""
    name = pod.metadata.labels.get(Label.SELECTOR)
    return Key(pod.metadata.namespace, name) if name and _made_by(pod, _REPLICA_SET) else None


def clique_graph_of(pod: Pod) -> Key | None:
    """The graph that the Pod's clique was made for."""
    labels = pod.metadata.labels
    name = labels.get(Label.GRAPH)
    whole = name and labels.get(Label.COMPONENT) and _made_by(pod, _POD_CLIQUE)
    return Key(pod.metadata.namespace, name) if name and whole else None


def _made_by(pod: Pod, what: tuple[str, str]) -> bool:
    controller = pod.metadata.controller
    return controller is not None and (controller.group, controller.kind) == what


def to_deployment(pod: Pod, view: View) -> tuple[Key, ...]:
    """Mapper to the component deployment of a Pod."""
    del view
    key = deployment_of(pod)
    return () if key is None else (key,)


def to_clique_graph(pod: Pod, view: View) -> tuple[Key, ...]:
    """Mapper to the graph of a Pod of a clique."""
    del view
    key = clique_graph_of(pod)
    return () if key is None else (key,)


def crash_loop_moved(change: Change[Pod]) -> bool:
    """Passes changes of what somebody can tell of a Pod's crash loop.

    Those are: a Pod in a crash loop that appears, goes, or comes to somebody else; and a crash loop that changes, begins or ends.
    """
    old, new = change.old, change.new
    if old is not None and new is not None and _whose(old) == _whose(new):
        return crash_loop_changed(old, new)
    return any(crash_loop(side) is not None for side in change.sides)


def _whose(pod: Pod) -> tuple[Key | None, Key | None]:
    return deployment_of(pod), clique_graph_of(pod)
