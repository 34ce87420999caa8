"""Who waits for a name that somebody else's object bears (decision 0006), and when that is free. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.conditions import is_true
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT, DynamoComponentDeployment
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.graph.status import OWNERSHIP_CONFLICT


def freed(change: Change[Any]) -> bool:
    """Passes an object that is gone, or that another one controls than before."""
    if change.old is None:
        return False
    return change.new is None or change.new.metadata.controller != change.old.metadata.controller


def _where_contested(obj: DynamoGraphDeployment | DynamoComponentDeployment) -> Iterable[str]:
    try:
        contested = is_true(obj.status.conditions, OWNERSHIP_CONFLICT)
    except InvalidObject:  # a status that cannot be read is written anew by the next attempt
        return ()
    return (obj.metadata.namespace,) if contested else ()


GRAPHS: Final = Index("graphs-in-conflict", DYNAMO_GRAPH_DEPLOYMENT, _where_contested)
"""Namespace to the graphs of which an attempt met an object of somebody else."""

COMPONENTS: Final = Index("component-deployments-in-conflict", DYNAMO_COMPONENT_DEPLOYMENT, _where_contested)
"""The same with component deployments."""


def graphs_in_conflict(obj: Object[Any, Any], view: View) -> Iterable[Key]:
    """Mapper: the graphs of the namespace that wait for some name."""
    return (graph.key for graph in view.by_index(GRAPHS, obj.metadata.namespace))


def components_in_conflict(obj: Object[Any, Any], view: View) -> Iterable[Key]:
    """Mapper: the component deployments of the namespace that wait for some name."""
    return (deployment.key for deployment in view.by_index(COMPONENTS, obj.metadata.namespace))
