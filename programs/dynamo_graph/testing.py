"""What tests of graphs need: graphs in a line, and a small cluster in which the whole pathway runs without a server.

    world = GraphWorld(graph(component("Frontend", "frontend"), component("decode", "decode")))
    world.converge()
    world.run_pods()
    assert world.graph().status.state == "successful"

No Pod ever runs here: `run_pods` writes the status that a Deployment has when all of its Pods are ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from dynamo_ctrl.controller.answer import Answer
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_ctrl.testing import FakeCache
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT, DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.api.names import Label
from dynamo_graph.component.checkpoints import Checkpoints
from dynamo_graph.component.generations import StoredHashes
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.component.ssh_keys import PRIVATE_KEY, PUBLIC_KEY
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.graph.program import GraphProgram
from dynamo_graph.orchestrators import DISAGGREGATED_SET, LEADER_WORKER_SET, POD_CLIQUE_SET, POD_GROUP
from dynamo_graph.scaling_adapter.program import ScalingAdapterProgram

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

NAMESPACE = "ns"
ORCHESTRATORS: tuple[Kind[Any], ...] = (POD_CLIQUE_SET, DISAGGREGATED_SET, LEADER_WORKER_SET, POD_GROUP)
"""APIs that a plain cluster does not serve."""

ROUNDS = 40
"""How often Pods become ready, at most, until a graph is through with whatever it does."""

NOT_GROUPS = (POD_CLIQUE_SET, DISAGGREGATED_SET, POD_GROUP)
"""What a cluster with LeaderWorkerSet alone does not serve."""


def component(
    name: str, type_: str | None = None, *, image: str = "registry.example/w:1.4.0", **fields: Any
) -> dict[str, Any]:
    """A component as a user writes it, with a container `main`; `main=` adds fields to that container."""
    main = {"name": "main", "image": image, **fields.pop("main", {})}
    template = fields.pop("podTemplate", {"spec": {"containers": [main]}})
    kind = {} if type_ is None else {"type": type_}
    return {"name": name, **kind, "podTemplate": template, **fields}


def graph(
    *components: dict[str, Any],
    name: str = "g",
    annotations: dict[str, str] | None = None,
    finalizers: Iterable[str] = (),
    **spec: Any,
) -> DynamoGraphDeployment:
    """A graph of those components."""
    metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
    if annotations:
        metadata["annotations"] = annotations
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return DYNAMO_GRAPH_DEPLOYMENT.object({"metadata": metadata, "spec": {"components": list(components), **spec}})


async def fixed_keys() -> Mapping[str, bytes]:
    """A key pair that is none, and is there at once."""
    return {PRIVATE_KEY: b"private", PUBLIC_KEY: b"public"}


class GraphWorld:
    """A plain cluster with some objects in it, and the programs of the component pathway.

    Attributes:
        cache: the cluster.
        programs: what runs in it; the graph's own come first.
    """

    def __init__(
        self,
        *objects: Object[Any, Any],
        config: OperatorConfig | None = None,
        absent: Iterable[Kind[Any]] = ORCHESTRATORS,
    ) -> None:
        self.cache = FakeCache(objects, absent=absent)
        self.programs: list[object] = []
        self.restart(config)

    def restart(self, config: OperatorConfig | None = None, *, checkpoints: Checkpoints | None = None) -> None:
        """The operator goes, and another one comes with that configuration."""
        self.programs[:] = [
            GraphProgram(config, checkpoints=checkpoints),
            ComponentProgram(config, make_keys=fixed_keys, checkpoints=checkpoints),
            ComponentDeploymentProgram(config),
            ScalingAdapterProgram(),
        ]

    def converge(self) -> int:
        """Run everything until nobody writes; the number of passes."""
        return self.cache.converge(self.programs)

    def pass_over_graph(self, name: str = "g") -> Answer:
        """One attempt at one graph; its answer."""
        return self.cache.reconcile(self.programs[:2], f"{NAMESPACE}/{name}")

    def pass_over_deployment(self, name: str) -> Answer:
        """One attempt at one component deployment; its answer."""
        return self.cache.reconcile(self.programs[2], f"{NAMESPACE}/{name}")

    def run_pods(self) -> None:
        """All Pods of all Deployments and LeaderWorkerSets become ready, again and again until everything has converged."""
        for _ in range(ROUNDS):
            if not self.step_pods():
                return
            self.converge()
        raise AssertionError(f"workloads still changed after {ROUNDS} rounds")

    def step_pods(self) -> bool:
        """All Pods of all workloads become ready, once; whether any workload did not know that yet."""
        before = self.cache.core.version
        for deployment in self.cache.list(DEPLOYMENT):
            replicas = 1 if deployment.spec.replicas is None else deployment.spec.replicas
            status = {
                "observedGeneration": deployment.metadata.generation,
                "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}],
                **dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas),
            }
            self.cache.set_status(DEPLOYMENT, deployment.key, status)
        for groups in self.cache.list(LEADER_WORKER_SET):
            replicas = 1 if groups.spec.replicas is None else groups.spec.replicas
            status = {
                "observedGeneration": groups.metadata.generation,
                "conditions": [{"type": "Available", "status": "True", "reason": "AllGroupsReady"}],
                **dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas"), replicas),
            }
            self.cache.set_status(LEADER_WORKER_SET, groups.key, status)
        return self.cache.core.version != before

    def finish(self) -> None:
        """Everything converges and all Pods run. Raises `AssertionError` if the graph `g` is not successful then."""
        self.converge()
        self.run_pods()
        status = self.graph().status
        if status.state != "successful":
            raise AssertionError(f"the graph is {status.state}: {self.ready()}")

    def edit(self, *components: dict[str, Any], **spec: Any) -> DynamoGraphDeployment:
        """Somebody replaces the components of the graph `g`, and other fields of its spec."""
        return self.cache.edit(
            DYNAMO_GRAPH_DEPLOYMENT, f"{NAMESPACE}/g", {"spec": {"components": [*components], **spec}}
        )

    def add_worker(
        self,
        name: str,
        component: Mapping[str, Any],
        *,
        available: int | None = None,
        owned: bool = True,
        labels: Mapping[str, str] | None = None,
    ) -> DynamoComponentDeployment:
        """A worker deployment of the graph `g` that was there before, and has what it asks for. An empty label is left out."""
        kept = {
            Label.GRAPH: "g",
            Label.COMPONENT: component["name"],
            Label.NAMESPACE: f"{NAMESPACE}-g",
            Label.WORKER_HASH: name.rpartition("-")[2],
            **(labels or {}),
        }
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {k: v for k, v in kept.items() if v},
        }
        if owned:
            metadata["ownerReferences"] = [msgspec.to_builtins(owner_reference(self.graph()))]
        replicas = component.get("replicas") or 0
        have = replicas if available is None else available
        numbers = {"componentKind": "Deployment", "componentNames": [name], "replicas": replicas}
        status = {
            "observedGeneration": 1,
            "conditions": [{"type": "Available", "status": "True"}],
            "component": {**numbers, "updatedReplicas": have, "readyReplicas": have, "availableReplicas": have},
        }
        content = {"metadata": metadata, "spec": dict(component), "status": status}
        return self.cache.add(DYNAMO_COMPONENT_DEPLOYMENT.object(content))

    def ready(self, name: str = "g") -> tuple[str, str, str]:
        """Status, reason and message of the graph's condition `Ready`."""
        found = find(self.graph(name).status.conditions, "Ready")
        return ("", "", "") if found is None else (found.status, found.reason, found.message)

    def phase(self) -> str | None:
        """How far the rolling update of the graph `g` is; `None` if it never had one."""
        status = self.graph().status.rolling_update
        return None if status is None else status.phase

    def hashes(self) -> dict[str, str]:
        """What the graph `g` records of its workers: the annotations by the short names v1, v2 and own."""
        stored = StoredHashes.read(self.graph().metadata.annotations)
        return {field: value for field in ("v1", "v2", "own") if (value := getattr(stored, field))}

    def told(self, *reasons: str) -> list[str]:
        """The reasons of all events, or of those that have one of `reasons`."""
        return [event.reason for _, event in self.cache.events if not reasons or event.reason in reasons]

    def size(self, name: str) -> int | None:
        """What a component deployment asks for."""
        return self.deployment(name).spec.replicas

    def graph(self, name: str = "g") -> DynamoGraphDeployment:
        """The graph as it is now."""
        return self._get(DYNAMO_GRAPH_DEPLOYMENT, name)

    def deployment(self, name: str) -> DynamoComponentDeployment:
        """A component deployment as it is now."""
        return self._get(DYNAMO_COMPONENT_DEPLOYMENT, name)

    def deployments(self) -> list[str]:
        """The names of all component deployments, sorted."""
        return [each.metadata.name for each in self.cache.list(DYNAMO_COMPONENT_DEPLOYMENT)]

    def wrote(self, since: int = 0) -> list[str]:
        """The writes of the programs from number `since` on, in words."""
        return [str(write) for write in self.cache.writes[since:]]

    def _get(self, kind: Kind[O], name: str) -> O:
        found = self.cache.get(kind, f"{NAMESPACE}/{name}")
        if found is None:
            raise LookupError(f"there is no {kind.kind} {NAMESPACE}/{name}")
        return found
