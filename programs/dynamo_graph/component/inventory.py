"""The worker deployments that a graph controls, as they are at the beginning of an attempt (G 3.6.2, 3.6.8). Pure.

They are the truth about generations: a deployment that the graph controls and that bears the canonical name is the target of its
component, everything else that is a worker is old. Labels, environment and annotations of a deployment are no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component import Component
from dynamo_graph.api.component_deployment import ComponentDeploymentStatus, DynamoComponentDeployment
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.graph_status import ComponentReplicaStatus
from dynamo_graph.api.names import LEGACY_HASH, Label
from dynamo_graph.api.predicates import deployment_name, workers

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SUFFIX: Final = re.compile(r"-([0-9a-f]{8})", re.ASCII)


@dataclass(frozen=True)
class Worker:
    """One worker deployment. A status that cannot be read counts as none.

    Attributes:
        deployment: the object.
        component: the name of its component.
    """

    deployment: DynamoComponentDeployment
    component: str

    @property
    def name(self) -> str:
        """Its name."""
        return self.deployment.metadata.name

    @property
    def created(self) -> datetime:
        """When it was created."""
        return self.deployment.metadata.creation_timestamp or _LONG_AGO

    @property
    def terminating(self) -> bool:
        """Whether it is being deleted."""
        return self.deployment.metadata.deletion_timestamp is not None

    @property
    def replicas(self) -> int:
        """What it asks for."""
        return self.deployment.spec.desired_replicas

    @property
    def observed(self) -> bool:
        """Whether its status is about its newest generation."""
        return self._status.observed_generation >= self.deployment.metadata.generation

    @property
    def status(self) -> ComponentReplicaStatus | None:
        """Its numbers."""
        return self._status.component

    @property
    def ready(self) -> int:
        """How many replicas are ready."""
        return (self.status.ready_replicas or 0) if self.status is not None else 0

    @property
    def available(self) -> int:
        """How many replicas are sure to be available; of a LeaderWorkerSet those that are ready.

        What goes does not count, whatever the status still says: all of one that is being deleted, and what it has beyond
        what it asks for.
        """
        status = self.status
        if status is None or self.terminating:
            return 0
        counted = status.ready_replicas if status.available_replicas is None else status.available_replicas
        return min(counted or 0, self.replicas)

    @property
    def shrinking(self) -> bool:
        """Whether it is known to have more than it asks for."""
        return self.status is not None and self.status.replicas > self.replicas

    @cached_property
    def _status(self) -> ComponentDeploymentStatus:
        try:
            return self.deployment.status
        except InvalidObject:
            return ComponentDeploymentStatus()


class Inventory:
    """The worker deployments of one graph.

    Attributes:
        components: its worker components.
    """

    def __init__(self, graph: DynamoGraphDeployment, owned: Iterable[DynamoComponentDeployment]) -> None:
        self._graph = graph
        self.components = workers(graph.spec)
        self._workers = tuple(_workers(owned))
        self._live = {worker.name: worker for worker in self._workers if not worker.terminating}

    def exists(self, suffix: str) -> bool:
        """Whether some component has a deployment of that generation that is not being deleted."""
        return any(self._name(component, suffix) in self._live for component in self.components)

    def targets(self, suffix: str) -> Mapping[str, Worker]:
        """Component name to its deployment of that generation, as far as they exist and are not being deleted."""
        named = ((component.name, self._live.get(self._name(component, suffix))) for component in self.components)
        return {name: worker for name, worker in named if worker is not None}

    def old(self, suffix: str) -> tuple[Worker, ...]:
        """Everything else, those of components that left the graph included."""
        targets = {worker.name for worker in self.targets(suffix).values()}
        return tuple(each for each in self._workers if each.terminating or each.name not in targets)

    def only(self, recorded: str) -> str:
        """The suffix of the only generation there is: every worker component has a deployment of it, and there is no other.

        Where none is `recorded`, the names tell it.
        """
        found = {recorded} if recorded else {self._suffix(worker) for worker in self._workers}
        suffix = next(iter(found)) if len(found) == 1 else ""
        whole = bool(suffix) and not self.old(suffix) and len(self.targets(suffix)) == len(self.components)
        return suffix if whole else ""

    def legacy(self) -> tuple[Worker, ...]:
        """Those from before there were generations: without a suffix in their name, and unmarked or marked as such."""
        return tuple(
            worker
            for worker in self._live.values()
            if worker.name == f"{self._graph.metadata.name}-{worker.component.lower()}"
            and worker.deployment.metadata.labels.get(Label.WORKER_HASH, LEGACY_HASH) == LEGACY_HASH
        )

    def _name(self, component: Component, suffix: str) -> str:
        return deployment_name(component, graph=self._graph.metadata.name, suffix=suffix)

    def _suffix(self, worker: Worker) -> str:
        rest = worker.name.removeprefix(f"{self._graph.metadata.name}-{worker.component.lower()}")
        found = _SUFFIX.fullmatch(rest)
        return found[1] if found is not None else ""


def _workers(owned: Iterable[DynamoComponentDeployment]) -> Iterator[Worker]:
    """A deployment of which the spec cannot be read is nobody's: it is neither counted nor touched."""
    for deployment in owned:
        try:
            component = deployment.spec
        except InvalidObject:
            continue
        if component.is_worker:
            yield Worker(deployment, component.name)
