"""The controller of component deployments: a Deployment or a LeaderWorkerSet, what leads to it, and a status (G 3.9)."""

from __future__ import annotations

from typing import Literal

from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.predicate import spec_or_deletion_changed
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import POD, SECRET, SERVICE, SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.networking import INGRESS
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.program.effect import Event
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_graph.api import config_file, crds
from dynamo_graph.api.component_deployment import (
    DYNAMO_COMPONENT_DEPLOYMENT,
    ComponentDeploymentStatus,
    DynamoComponentDeployment,
)
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.names import FINALIZER, Label
from dynamo_graph.capabilities import GROUPS, required
from dynamo_graph.component_deployment.attempt import Attempt
from dynamo_graph.component_deployment.devices import (
    DEVICE_CLASS,
    DEVICES,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
)
from dynamo_graph.component_deployment.model_service import BY_OWNER, concerns_owners
from dynamo_graph.component_deployment.status import AVAILABLE, RECONCILING
from dynamo_graph.component_deployment.surroundings import registries_only
from dynamo_graph.contested import COMPONENTS, components_in_conflict, freed
from dynamo_graph.namespaces import heard
from dynamo_graph.orchestrators import LEADER_WORKER_SET, POD_GROUP
from dynamo_graph.pods.indexes import BY_SELECTOR
from dynamo_graph.pods.mapping import crash_loop_moved, to_deployment
from dynamo_graph.pods.projection import slim_pod
from dynamo_graph.traffic import VIRTUAL_SERVICE


class ComponentDeploymentProgram:
    """Turns every component deployment into a Deployment or a LeaderWorkerSet and, where it is wanted, a Service."""

    name = "dynamo-component-deployment"
    finalizer = FINALIZER
    settles: Literal[True] = True
    watches: Watches[DynamoComponentDeployment] = (
        watching(DYNAMO_COMPONENT_DEPLOYMENT, when=spec_or_deletion_changed)
        .owning(DEPLOYMENT)
        .mapping(DEPLOYMENT, components_in_conflict, when=freed, mends=True)
        .owning(LEADER_WORKER_SET, optional=True)
        .mapping(LEADER_WORKER_SET, components_in_conflict, when=freed, optional=True, mends=True)
        .owning(POD_GROUP, label_selector=Label.LEGACY_INSTANCE, optional=True)
        .owning(SERVICE, when=concerns_owners, every_owner=True)
        .mapping(SERVICE, components_in_conflict, when=freed, mends=True)
        .owning(INGRESS)
        .owning(VIRTUAL_SERVICE, optional=True)
        .mapping(POD, to_deployment, when=crash_loop_moved, label_selector=Label.SELECTOR, project=slim_pod)
        .reading(SERVICE_ACCOUNT, label_selector=f"{Label.COMPONENT_POD}=true")
        .reading(SECRET, project=registries_only)
        .reading(RESOURCE_CLAIM, optional=True)
        .reading(RESOURCE_CLAIM_TEMPLATE, optional=True)
        .reading(DEVICE_CLASS, optional=True)
        .indexing(BY_SELECTOR, BY_OWNER, COMPONENTS)
    )

    def __init__(self, config: OperatorConfig | None = None) -> None:
        self._config = config or OperatorConfig()
        self.watches = heard(required(type(self).watches, self._config, GROUPS, DEVICES), self._config)

    def configured(self, document: JsonMap) -> ComponentDeploymentProgram:
        """The program under the operator configuration `document` (P 7). Raises `InvalidObject`."""
        return ComponentDeploymentProgram(config_file.of(document))

    def definitions(self) -> tuple[JsonMap, ...]:
        """The CRDs of `nvidia.com`."""
        return crds.documents()

    def reconcile(self, request: Request[DynamoComponentDeployment]) -> Result[ComponentDeploymentStatus]:
        """One attempt."""
        attempt = Attempt(request, self._config)
        return Result(steps=attempt.steps, status=attempt.status)

    def finalize(self, request: Request[DynamoComponentDeployment]) -> Result[ComponentDeploymentStatus]:
        """Nothing has to be done first: workload and Service go with their owner references."""
        del request
        return Result()

    def transitions(self, old: ComponentDeploymentStatus | None, new: ComponentDeploymentStatus) -> tuple[Event, ...]:
        """A Warning when an attempt fails in a new way."""
        available = find(new.conditions, AVAILABLE)
        before = find(old.conditions, AVAILABLE) if old is not None else None
        if available is None or available.status != "False" or available.reason != RECONCILING:
            return ()
        if before is not None and (before.reason, before.message) == (available.reason, available.message):
            return ()
        return (Event(type="Warning", reason="ReconcileError", note=available.message),)
