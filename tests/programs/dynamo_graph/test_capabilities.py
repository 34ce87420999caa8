"""APIs that come and go while the manager runs, and switches for them (G 6.2, P 7.2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from data_plane.leader_worker_set_kind import definition
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import NAMESPACE, NODE, SERVICE
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION as CRD
from dynamo_ctrl.objects.builtin.networking import INGRESS
from dynamo_ctrl.objects.builtin.rbac import ROLE_BINDING
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.frozen import thaw
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.testing import FaultyEngine, LoopClock
from dynamo_graph.api import crds
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.graph.program import GraphProgram
from dynamo_graph.orchestrators import LEADER_WORKER_SET, POD_CLIQUE_SET
from dynamo_graph.testing import component, graph
from dynamo_graph.topology.program import TopologyLabelProgram
from dynamo_graph.traffic import INFERENCE_POOL, VIRTUAL_SERVICE

SOON = 90.0
"""Seconds in which the manager notices what is served, at most."""

FRONTEND = component("Frontend", "frontend")
ENGINE = component(
    "decode",
    "decode",
    multinode={"nodeCount": 2},
    main={
        "command": ["python3"],
        "args": ["-m", "dynamo.vllm", "-tp", "16"],
        "resources": {"limits": {"nvidia.com/gpu": 8}},
    },
)


class Place:
    """A cluster that serves no API beyond Kubernetes' own and the graph's, and a manager."""

    def __init__(self, config: OperatorConfig) -> None:
        self.core = Core(clock=LoopClock())
        self.core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
        for document in crds.documents():
            self._define(document)
        self.faults = FaultyEngine(MemoryEngine(self.core))
        self.manager = Manager(
            self.faults,
            programs=(
                GraphProgram(config),
                ComponentProgram(config),
                ComponentDeploymentProgram(config),
                TopologyLabelProgram(),
            ),
            options=ManagerOptions(garbage=False),
            clock=LoopClock(),
        )

    def _define(self, document: Any) -> None:
        self.core.create(CRD, "", json.dumps(thaw(document)).encode())

    def serve(self, kind: Kind[Any]) -> None:
        """The API is served from now on."""
        if kind == LEADER_WORKER_SET:
            self._define(definition())
            return
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": kind.version, "served": True, "storage": True, "schema": schema}
        names = {
            "kind": kind.kind,
            "plural": kind.plural,
            "singular": kind.kind.lower(),
            "listKind": f"{kind.kind}List",
        }
        spec = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
        self._define({"metadata": {"name": f"{kind.plural}.{kind.group}"}, "spec": spec})

    def remove(self, kind: Kind[Any]) -> None:
        """The API is served no more."""
        self.core.delete(CRD, Key("", f"{kind.plural}.{kind.group}"))

    def apply(self, *components: Any, **more: Any) -> None:
        """Create the graph `g`."""
        self.core.create(DGD, "ns", msgspec.json.encode(graph(*components, **more).content()))

    def ready(self) -> tuple[str, str]:
        """Reason and message of the graph."""
        (item,) = self.core.list(DGD, ListOptions()).items
        found = find(DGD.decode(item).status.conditions, "Ready")
        return (found.reason, found.message) if found is not None else ("", "")

    async def until(self, probe: Callable[[], bool]) -> None:
        """Return when `probe` is true."""
        for _ in range(int(SOON)):
            if probe():
                return
            await asyncio.sleep(1)
        raise AssertionError(f"not within {SOON} s; the graph is {self.ready()}; the manager: {self.manager.reasons}")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The manager runs."""
        async with self.manager:
            task = asyncio.create_task(self.manager.run())
            yield
            self.manager.stop()
            await task


@asynccontextmanager
async def running(config: OperatorConfig | None = None) -> AsyncIterator[Place]:
    place = Place(config or OperatorConfig())
    async with place.running():
        yield place


async def test_an_orchestrator_that_comes_or_goes_wakes_the_graphs() -> None:
    async with running() as place:
        made = place.core.watch(DEPLOYMENT, WatchOptions(bookmarks=False, timeout=1e9))
        place.apply(FRONTEND, ENGINE)
        await place.until(lambda: place.ready()[0] == "no_multinode_orchestrator_available")
        place.serve(LEADER_WORKER_SET)
        await place.until(lambda: place.ready()[0] == "some_resources_are_not_ready")
        await place.until(lambda: len(place.core.list(LEADER_WORKER_SET, ListOptions()).items) == 1)
        place.remove(LEADER_WORKER_SET)
        await place.until(lambda: place.ready()[0] == "no_multinode_orchestrator_available")
        await asyncio.sleep(SOON)
        names = {DEPLOYMENT.decode(event.object).metadata.name for event in made.take()}
        assert names == {"g-frontend"}, "an engine over several nodes never runs on one"


async def test_a_provider_that_could_not_serve_is_asked_again_when_its_api_comes() -> None:
    """The refusal is terminal: the queue does not try again, the coming of the API does."""
    annotations = {"nvidia.com/workload-provider": "grove"}
    async with running() as place:
        place.apply(FRONTEND, annotations=annotations)
        await place.until(lambda: place.ready()[0] == "selected_workload_provider_unavailable")
        assert "does not serve podcliquesets.grove.io" in place.ready()[1]
        place.serve(POD_CLIQUE_SET)
        await place.until(lambda: "no installed program serves it" in place.ready()[1])


async def test_pools_that_come_finish_a_graph_with_an_endpoint_picker() -> None:
    async with running() as place:
        place.apply(FRONTEND, component("epp", "epp"))
        await place.until(lambda: "install the Gateway API Inference Extension" in place.ready()[1])
        place.serve(INFERENCE_POOL)
        await place.until(lambda: place.ready()[0] == "some_resources_are_not_ready")
        assert len(place.core.list(INFERENCE_POOL, ListOptions()).items) == 1


async def test_istio_that_comes_finishes_a_component_with_a_gateway() -> None:
    async with running(OperatorConfig.model_validate({"ingress": {"virtualServiceGateway": "gw"}})) as place:
        place.apply(FRONTEND)
        await place.until(lambda: "does not serve virtualservices.networking.istio.io" in place.ready()[1])
        place.serve(VIRTUAL_SERVICE)
        await place.until(lambda: place.ready()[0] == "some_resources_are_not_ready")
        assert len(place.core.list(VIRTUAL_SERVICE, ListOptions()).items) == 1


SWITCHES: list[tuple[dict[str, Any], Kind[Any]]] = [
    ({"orchestrators": {"grove": {"enabled": True}}}, POD_CLIQUE_SET),
    ({"orchestrators": {"lws": {"enabled": True}}}, LEADER_WORKER_SET),
]


@pytest.mark.parametrize(
    ("config", "kind"), [pytest.param(*SWITCHES[0], id="T-POD-154"), pytest.param(*SWITCHES[1], id="T-POD-155 lws")]
)
async def test_an_api_that_is_switched_on_and_absent_keeps_the_manager_from_ready_until_it_comes(
    config: dict[str, Any], kind: Kind[Any]
) -> None:
    """Where the original does not start, this one is not ready, says why, and heals."""
    async with running(OperatorConfig.model_validate(config)) as place:
        await place.until(lambda: any(kind.plural in reason for reason in place.manager.reasons.values()))
        assert any(name.endswith(str(kind)) or kind.plural in name for name in place.manager.reasons)
        place.serve(kind)
        await place.until(lambda: not place.manager.reasons)
        place.remove(kind)
        await place.until(lambda: bool(place.manager.reasons))


@pytest.mark.parametrize(
    "config", [OperatorConfig(), OperatorConfig.model_validate({"orchestrators": {"lws": {"enabled": False}}})]
)
async def test_an_api_that_nobody_insists_on_is_not_missed(config: OperatorConfig) -> None:
    async with running(config) as place:
        await place.until(lambda: not place.manager.reasons)


@pytest.mark.parametrize("kind", [INGRESS, ROLE_BINDING, SERVICE, NODE], ids=str)
async def test_a_right_that_is_missing_is_told_and_taken_up_when_it_is_there(kind: Kind[Any]) -> None:
    place = Place(OperatorConfig())
    place.faults.fail(Forbidden(f"cannot list {kind.plural}"), "list", kind, times=3)
    async with place.running():
        await place.until(lambda: any(kind.plural in reason for reason in place.manager.reasons.values()))
        (told,) = {reason for reason in place.manager.reasons.values() if kind.plural in reason}
        assert f"cannot list {kind.plural}" in told
        assert f'resources: ["{kind.plural}"]' in told, "the rule that mends it"
        await place.until(lambda: not place.manager.reasons)
        place.apply(FRONTEND)
        await place.until(lambda: place.ready()[0] == "some_resources_are_not_ready")
