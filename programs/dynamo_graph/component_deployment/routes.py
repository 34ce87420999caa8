"""What leads to a component deployment from outside: made where it is configured, deleted where it is not (G 3.9.5, P 8.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.networking import INGRESS
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Delete, Effect, Refuse, Sync
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.bookkeeping import POLICY
from dynamo_graph.render.routes import render_ingress, render_virtual_service, route_of
from dynamo_graph.traffic import VIRTUAL_SERVICE

NO_VIRTUAL_SERVICES: Final = (
    f"ingress.virtualServiceGateway is configured, but the cluster does not serve {VIRTUAL_SERVICE}"
)


def route_steps(primary: DynamoComponentDeployment, view: View, config: OperatorConfig) -> tuple[Step, ...]:
    """The Ingress and the VirtualService of a frontend are as they shall be, and nobody else has one."""
    effects = tuple(_effects(primary, view, _wanted(primary, config)))
    return (Step(name="routes", effects=effects),) if effects else ()


def _wanted(primary: DynamoComponentDeployment, config: OperatorConfig) -> Mapping[Kind[Any], Object[Any, Any] | None]:
    route = route_of(primary, config.ingress)
    if route is None:
        return {INGRESS: None, VIRTUAL_SERVICE: None}
    return {
        INGRESS: render_ingress(route, config.ingress),
        VIRTUAL_SERVICE: render_virtual_service(route, config.ingress),
    }


def _effects(
    primary: DynamoComponentDeployment, view: View, wanted: Mapping[Kind[Any], Object[Any, Any] | None]
) -> Iterator[Effect]:
    for kind, child in wanted.items():
        if child is not None:
            yield Sync(child=child, policy=POLICY) if view.serves(kind) else Refuse(message=NO_VIRTUAL_SERVICES)
        for each in view.owned(kind, primary):
            if child is None or each.ref != child.ref:
                yield Delete(target=each)
