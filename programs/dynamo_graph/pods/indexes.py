"""How the Pods of a component are found without looking at any other (G 8.7). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_graph.api.names import Label


def _component(pod: Pod) -> Iterable[str]:
    graph, component = pod.metadata.labels.get(Label.GRAPH), pod.metadata.labels.get(Label.COMPONENT)
    return (f"{graph}/{component}",) if graph and component else ()


BY_COMPONENT: Final = Index("pods-by-component", POD, _component)
"""`<graph>/<component>`, as the two labels say; a label value holds no slash."""


def pods_of_component(view: View, *, namespace: str, graph: str, component: str) -> Sequence[Pod]:
    """The Pods of a component of the graph of that name in that namespace, whichever generation they are of."""
    found = view.by_index(BY_COMPONENT, f"{graph}/{component}")
    return [pod for pod in found if pod.metadata.namespace == namespace]
