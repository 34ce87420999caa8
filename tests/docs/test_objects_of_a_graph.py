"""The page about the objects of a graph says what the programs do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.orchestrators import DISAGGREGATED_SET, POD_CLIQUE_SET, POD_GROUP
from dynamo_graph.testing import GraphWorld, component, graph
from dynamo_graph.topology.program import LABEL_MISSING, TopologyLabelProgram

PAGE = (Path(__file__).parents[2] / "docs/howto/objects-of-a-graph.md").read_text()
CONFIG = OperatorConfig.model_validate(
    {
        "ingress": {"controllerClassName": "c", "virtualServiceGateway": "gw"},
        "serviceMesh": {"provider": "istio"},
        "mpi": {"sshSecretName": "keys", "sshSecretNamespace": "ns"},
    }
)
ENGINE: dict[str, Any] = {
    "command": ["python3"],
    "args": ["-m", "dynamo.trtllm"],
    "resources": {"limits": {"nvidia.com/gpu": 8}},
}


def kinds_of_the_page() -> set[str]:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    names = {name.strip() for row in rows for name in row.replace("of a model", "").split(",")}
    return {name for name in names if name[0].isupper()}


def test_the_table_has_every_kind_that_is_made_and_no_other() -> None:
    world = GraphWorld(
        graph(
            component("Frontend", "frontend", modelRef={"name": "m"}),
            component("epp", "epp", eppConfig={"config": {"a": "b"}}),
            component("one", "prefill", scalingAdapter={}, main=ENGINE),
            component("wide", "decode", multinode={"nodeCount": 2}, main=ENGINE),
        ),
        config=CONFIG,
        absent=(POD_CLIQUE_SET, DISAGGREGATED_SET, POD_GROUP),
    )
    world.finish()
    made = {write.ref.kind.kind for write in world.cache.writes if write.verb == "create"}
    assert made == kinds_of_the_page()


@pytest.mark.parametrize("components", [1, 3])
def test_the_number_of_writes_is_that_of_the_page(components: int) -> None:
    found = re.search(r"takes (\d+) \+ (\d+)\*n\* \+ (\d+) writes", PAGE)
    assert found is not None
    fixed, each, last = map(int, found.groups())
    parts = [component(f"c{number}", "worker") for number in range(components)]
    world = GraphWorld(graph(*parts))
    world.finish()
    assert len(world.cache.writes) == fixed + each * components + last


def test_what_it_names_is_called_so() -> None:
    assert f"`{TopologyLabelProgram.name}`" in PAGE
    assert f"`{LABEL_MISSING}`" in PAGE
