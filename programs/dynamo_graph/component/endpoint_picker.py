"""The objects of a graph's endpoint picker: its configuration, its pool, and how a mesh talks to it (P 6.4, 8.3). Pure.

They belong to the graph, and go with its endpoint picker. A rule of the mesh goes with the mesh, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.owners import is_controlled_by
from dynamo_ctrl.program.effect import Delete, Effect, Refuse, Sync
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.component import Component
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import endpoint_picker_config
from dynamo_graph.bookkeeping import POLICY
from dynamo_graph.capabilities import MESH
from dynamo_graph.component.needs import Needs
from dynamo_graph.render.destination_rule import render_destination_rule
from dynamo_graph.render.endpoint_picker import render_inference_pool, render_picker_config
from dynamo_graph.traffic import DESTINATION_RULE, INFERENCE_POOL

FAILED: Final = "failed to reconcile EPP resources: "
NO_POOLS: Final = f"the cluster does not serve {INFERENCE_POOL}: install the Gateway API Inference Extension"


def endpoint_picker_steps(needs: Needs) -> Iterator[Step]:
    """What the endpoint picker needs; without one, what an earlier one has left goes."""
    picker = next((each for each in needs.graph.spec.components if each.type == "epp"), None)
    wanted = () if picker is None else tuple(_wanted(needs, picker))
    kept = {effect.child.ref for effect in wanted if isinstance(effect, Sync)}
    gone = tuple(Delete(target=each) for each in _made(needs.view, needs.graph, picker) if each.ref not in kept)
    if wanted or gone:
        yield Step(name="endpoint-picker", effects=(*wanted, *gone), prefix=FAILED)


def _wanted(needs: Needs, picker: Component) -> Iterator[Effect]:
    config = render_picker_config(needs.graph, picker)
    if config is not None:
        yield Sync(child=config, policy=POLICY)
    if needs.view.serves(INFERENCE_POOL):
        yield Sync(child=render_inference_pool(needs.graph, picker), policy=POLICY)
    else:
        yield Refuse(message=NO_POOLS)
    if MESH.usable(needs.view, needs.config):
        rule = render_destination_rule(needs.graph, picker, needs.config.service_mesh.istio)
        yield Sync(child=rule, policy=POLICY)


def _made(view: View, graph: DynamoGraphDeployment, picker: Component | None) -> Iterator[Object[Any, Any]]:
    """What was made for endpoint pickers. While there is one, Pods of it may still mount an old configuration."""
    yield from view.owned(INFERENCE_POOL, graph)
    yield from view.owned(DESTINATION_RULE, graph)
    config = view.get(CONFIG_MAP, Key(graph.metadata.namespace, endpoint_picker_config(graph.metadata.name)))
    if picker is None and config is not None and is_controlled_by(config, graph):
        yield config
