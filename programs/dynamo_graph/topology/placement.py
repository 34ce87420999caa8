"""Which label a Pod wants of its node (P 5.8), and what is kept of both to tell. Pure.

A worker with a KV transfer policy reads its own labels as files; only its node knows their values, and nobody copies them there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.core import POD, Node, Pod
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_graph.api.names import Annotation

_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "labels")


def wanted_label(pod: Pod) -> str | None:
    """The key of the label that a Pod shall have as its node has it, and has not; `None` while it has no node."""
    key = pod.metadata.annotations.get(Annotation.TOPOLOGY_LABEL_KEY)
    return key if key and pod.spec.node_name and key not in pod.metadata.labels else None


def begins_to_want(change: Change[Pod]) -> bool:
    """Passes a Pod that wants a label from now on: it appears or gets its node so, its annotation changes, a label vanishes.

    What else happens to one that wants a label and did so before does not pass: its node has no such label.
    """
    if change.new is None:
        return False
    wanted = wanted_label(change.new)
    return wanted is not None and (change.old is None or wanted_label(change.old) != wanted)


def _node(pod: Pod) -> Iterable[str]:
    return (pod.spec.node_name,) if wanted_label(pod) is not None else ()


BY_NODE: Final = Index("pods-without-a-label-by-node", POD, _node)
"""Name of a node to the Pods on it that want a label."""


def pods_of(node: Node, view: View) -> Iterable[Key]:
    """Mapper: the Pods on a node that want a label."""
    return (pod.key for pod in view.by_index(BY_NODE, node.metadata.name))


def placed_pod(content: JsonMap) -> dict[str, Any]:
    """Projection of a Pod: who it is, its labels and its node, and what it wants."""
    kept = _only(content, ("apiVersion", "kind"))
    metadata = content.get("metadata") or {}
    annotations = _only(metadata.get("annotations") or {}, (Annotation.TOPOLOGY_LABEL_KEY,))
    kept["metadata"] = _only(metadata, _IDENTITY) | ({"annotations": annotations} if annotations else {})
    kept["spec"] = _only(content.get("spec") or {}, ("nodeName",))
    return kept


def labelled_node(content: JsonMap) -> dict[str, Any]:
    """Projection of a node: who it is, and its labels."""
    return {**_only(content, ("apiVersion", "kind")), "metadata": _only(content.get("metadata") or {}, _IDENTITY)}


def _only(content: JsonMap, keys: Collection[str]) -> dict[str, Any]:
    return {key: content[key] for key in keys if key in content}
