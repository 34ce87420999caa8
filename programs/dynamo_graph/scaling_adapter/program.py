"""The controller of scaling adapters: from the scale subresource to the graph, and never back (G 7.2, 7.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.predicate import spec_or_deletion_changed
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_graph.api import crds
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.api.scaling_adapter import (
    DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER,
    DynamoGraphDeploymentScalingAdapter,
    ScalingAdapterStatus,
)
from dynamo_graph.scaling_adapter.attempt import attempt


class _Components(msgspec.Struct, gc=False):
    components: msgspec.Raw = msgspec.Raw()


_SPEC: Final = msgspec.json.Decoder(_Components)


def components_changed(change: Change[DynamoGraphDeployment]) -> bool:
    """Updates that change the components of a graph; no creations, no deletions."""
    old, new = change.old, change.new
    if old is None or new is None or old.metadata.generation == new.metadata.generation:
        return False
    return bool(_components(old) != _components(new))


def _components(graph: DynamoGraphDeployment) -> Any:
    section = graph.section("spec")
    raw = bytes(_SPEC.decode(section).components) if section else b""
    return msgspec.json.decode(raw) if raw else None


def _graph_of(adapter: DynamoGraphDeploymentScalingAdapter) -> Iterable[str]:
    return (f"{adapter.metadata.namespace}/{adapter.spec.dgd_ref.name}",)


BY_GRAPH: Final = Index("scaling-adapters-by-graph", DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER, _graph_of)


def _adapters_of(graph: DynamoGraphDeployment, view: View) -> Iterable[Key]:
    return (adapter.key for adapter in view.by_index(BY_GRAPH, str(graph.key)))


class ScalingAdapterProgram:
    """Brings the component that an adapter refers to, to the adapter's replicas."""

    name = "dynamo-graph-scaling-adapter"
    settles: Literal[True] = True
    watches: Watches[DynamoGraphDeploymentScalingAdapter] = (
        watching(DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER, when=spec_or_deletion_changed)
        .mapping(DYNAMO_GRAPH_DEPLOYMENT, _adapters_of, when=components_changed)
        .indexing(BY_GRAPH)
    )

    def definitions(self) -> tuple[JsonMap, ...]:
        """The CRDs of `nvidia.com`."""
        return crds.documents()

    def reconcile(self, request: Request[DynamoGraphDeploymentScalingAdapter]) -> Result[ScalingAdapterStatus]:
        """One attempt."""
        return attempt(request)
