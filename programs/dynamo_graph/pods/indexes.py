"""How Pods are found without looking at any other (G 8.7). Pure.

Every value is preceded by the namespace, so that what bears the same names elsewhere costs nothing; no label value and no
namespace holds a slash.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_ctrl.objects.key import Key
from dynamo_graph.api.names import Label
from dynamo_graph.pods.mapping import deployment_of


def component_of(pod: Pod) -> str | None:
    """`<graph>/<component>`, as the two labels say."""
    graph, component = pod.metadata.labels.get(Label.GRAPH), pod.metadata.labels.get(Label.COMPONENT)
    return f"{graph}/{component}" if graph and component else None


def _component(pod: Pod) -> Iterable[str]:
    component = component_of(pod)
    return (f"{pod.metadata.namespace}/{component}",) if component else ()


def _selector(pod: Pod) -> Iterable[str]:
    selector = pod.metadata.labels.get(Label.SELECTOR)
    return (f"{pod.metadata.namespace}/{selector}",) if selector else ()


BY_COMPONENT: Final = Index("pods-by-component", POD, _component)
"""`<namespace>/<graph>/<component>`."""

BY_SELECTOR: Final = Index("pods-by-selector", POD, _selector)
"""`<namespace>/<nvidia.com/selector>`, by which a Deployment selects its Pods."""


def pods_of_component(view: View, *, namespace: str, graph: str, component: str) -> Sequence[Pod]:
    """The Pods of a component of the graph of that name in that namespace, whichever generation they are of."""
    return view.by_index(BY_COMPONENT, f"{namespace}/{graph}/{component}")


def pods_of_deployment(view: View, deployment: Key) -> list[Pod]:
    """The Pods that the Deployment of that component deployment has made, those of older templates included."""
    found = view.by_index(BY_SELECTOR, f"{deployment.namespace}/{deployment.name}")
    return [pod for pod in found if deployment_of(pod) == deployment]
