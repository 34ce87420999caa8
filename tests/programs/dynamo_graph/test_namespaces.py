"""P 7.4: graphs in ephemeral namespaces are graphs like any other, unless the operator is told to leave them alone."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.objects.builtin.core import NODE, SERVICE
from dynamo_ctrl.program.definition import definitions
from dynamo_ctrl.testing import FakeCache
from dynamo_graph.api.config import NamespaceSettings, OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.graph.program import GraphProgram
from dynamo_graph.namespaces import Lasting
from dynamo_graph.testing import ORCHESTRATORS, component, graph

DEAF = OperatorConfig(namespace=NamespaceSettings(ignore_ephemeral=True))


def programs(config: OperatorConfig) -> list[Any]:
    return [GraphProgram(config), ComponentProgram(config), ComponentDeploymentProgram(config)]


def graph_in(namespace: str) -> Any:
    content = graph(component("Frontend", "frontend")).content()
    content["metadata"]["namespace"] = namespace
    return DGD.object(content)


@pytest.mark.parametrize("namespace", [pytest.param("my-ephemeral-1", id="T-POD-162")])
def test_a_graph_in_an_ephemeral_namespace_is_reconciled(namespace: str) -> None:
    made, known = graph_in(namespace), programs(OperatorConfig())
    assert all(one.watches.primary.when(Change(None, made)) for one in known)
    cache = FakeCache([made], absent=ORCHESTRATORS)
    cache.converge(known)
    found = cache.get(DGD, f"{namespace}/g")
    assert found is not None
    assert found.status.state == "pending"


@pytest.mark.parametrize(("namespace", "hears"), [("my-ephemeral-1", False), ("ns", True)])
def test_one_that_is_told_to_leave_them_alone_hears_nothing_of_them(namespace: str, hears: bool) -> None:
    made = graph_in(namespace)
    service = SERVICE.object({"metadata": {"name": "s", "namespace": namespace}})
    for one in programs(DEAF):
        assert one.watches.primary.when(Change(None, made)) is hears
        services = [watch for watch in one.watches.others if watch.kind == SERVICE]
        assert all(watch.when(Change(service, None)) is hears for watch in services)


def test_what_has_no_namespace_is_heard() -> None:
    assert Lasting(lambda change: True)(Change(None, NODE.object({"metadata": {"name": "ephemeral-node"}})))


def test_programs_that_share_a_kind_still_share_its_watches() -> None:
    deaf, open_ears = (definitions(programs(config))[0] for config in (DEAF, OperatorConfig()))
    assert len(deaf.watches.others) == len(open_ears.watches.others)
