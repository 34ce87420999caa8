"""Workloads of a component deployment that must not run beside the wanted one (G 3.9.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Delete, Effect, Patch
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.names import Label
from dynamo_graph.orchestrators import LEADER_WORKER_SET, POD_GROUP

_ADOPTED = Change.merge({"metadata": {"labels": {Label.LEGACY_INSTANCE: None}}})


def superseded_steps(primary: DynamoComponentDeployment, wanted: Object[Any, Any], view: View) -> tuple[Step, ...]:
    """Deletes what a component deployment controls besides `wanted`, and takes over an object of an older release.

    Older releases made one LeaderWorkerSet and one PodGroup for each replica, with a label that numbers them. The one that has
    the wanted name stays, without that label. A Deployment goes when the engine spans nodes now, and the other way round.
    """
    effects = tuple(_effects(primary, wanted, view))
    return (Step(name="superseded", effects=effects),) if effects else ()


def _effects(primary: DynamoComponentDeployment, wanted: Object[Any, Any], view: View) -> Iterator[Effect]:
    for kind in (DEPLOYMENT, LEADER_WORKER_SET, POD_GROUP):
        owned: tuple[Object[Any, Any], ...] = tuple(view.owned(kind, primary))
        for each in owned:
            if each.ref != wanted.ref:
                yield Delete(target=each)
            elif kind == LEADER_WORKER_SET and Label.LEGACY_INSTANCE in each.metadata.labels:
                yield Patch(target=each, patch=_ADOPTED)
