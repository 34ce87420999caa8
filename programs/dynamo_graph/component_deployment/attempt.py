"""One attempt at one component deployment: everything is decided when it is made (G 3.9.1)."""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.objects.builtin.apps import Deployment
from dynamo_ctrl.objects.builtin.core import SERVICE
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.owners import is_controlled_by
from dynamo_ctrl.program.effect import Delete, Effect, Event, Refuse, Retry, Sync
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.component_deployment import ComponentDeploymentStatus, DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.predicates import service_name
from dynamo_graph.api.rules import validate_component_deployment
from dynamo_graph.bookkeeping import CONVERGING, POLICY
from dynamo_graph.capabilities import GROUPS
from dynamo_graph.component_deployment.model_service import model_service_steps
from dynamo_graph.component_deployment.routes import route_steps
from dynamo_graph.component_deployment.status import StatusAt, runtime_namespace
from dynamo_graph.component_deployment.superseded import superseded_steps
from dynamo_graph.component_deployment.surroundings import surroundings
from dynamo_graph.component_deployment.workload import observe
from dynamo_graph.orchestrators import LeaderWorkerSet
from dynamo_graph.pods.crash_loop import CrashLoop, find_crash_loop
from dynamo_graph.pods.indexes import pods_of_deployment
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.render.errors import rendering
from dynamo_graph.render.gpu_shape import GpuShape, gpu_shape
from dynamo_graph.render.leader_worker_set import leader_worker_set_warning, render_leader_worker_set
from dynamo_graph.render.service import render_service, service_wanted
from dynamo_graph.render.template import main_container, pod_spec

NO_ORCHESTRATOR: Final = "no multinode orchestrator available"
"""Why an engine of a graph waits: it is not put on one node because the API of its groups comes later, or goes."""


class Attempt:
    """The steps of one attempt, and the status that follows from what came of them.

    Attributes:
        steps: what is to be done.
    """

    def __init__(self, request: Request[DynamoComponentDeployment], config: OperatorConfig) -> None:
        self._primary = request.object
        self._view = request.view
        self._what = f"{self._primary.kind.kind} {self._primary.key}"
        self._status = StatusAt(self._primary.status, generation=self._primary.metadata.generation, now=request.now)
        self._workload: Sync | None = None
        self._crash_loop: CrashLoop | None = None
        self._shape: GpuShape | None = None
        self._broken_checkpoint: InvalidObject | None = None
        self.steps: tuple[Step, ...] = ()
        try:
            validate_component_deployment(self._primary.spec, self._what)
            around = surroundings(self._primary.metadata.namespace, request.view, config)
            self.steps = (
                *self._workload_steps(around),
                *self._service_steps(around),
                *model_service_steps(self._primary, self._view),
                *route_steps(self._primary, self._view, config),
                *self._shape_steps(around),
            )
        except InvalidObject as error:
            self._refuse(error)

    def status(self, report: Report) -> ComponentDeploymentStatus:
        """The status after the attempt."""
        if self._broken_checkpoint is not None:
            return self._status.invalid_checkpoint(str(self._broken_checkpoint))
        workload = report.live(self._workload) if self._workload is not None else None
        if report.failure is not None or not isinstance(workload, Deployment | LeaderWorkerSet):
            return self._status.failed(report)
        namespace = runtime_namespace(self._primary)
        return self._status.observed(observe(workload, namespace, self._shape, self._crash_loop))

    def _workload_steps(self, around: Surroundings) -> tuple[Step, ...]:
        spans, lacks = self._primary.spec.is_multinode, GROUPS.lacks(self._view, around.config)
        if spans and lacks and self._primary.graph_name:
            return (Step(name="orchestrator", effects=(Refuse(message=f"{NO_ORCHESTRATOR}: {lacks}"),)),)
        if spans and not lacks:
            self._workload = self._leader_worker_set(around)
        else:
            self._workload = Sync(child=render_deployment(self._primary, around), policy=POLICY)
            self._crash_loop = find_crash_loop(pods_of_deployment(self._view, self._primary.key))
        superseded = superseded_steps(self._primary, self._workload.child, self._view)
        return (Step(name="workload", effects=(self._workload,)), *superseded)

    def _leader_worker_set(self, around: Surroundings) -> Sync:
        warning = leader_worker_set_warning(self._primary, around)
        event = Event(type="Warning", reason=warning.reason, note=warning.message) if warning else None
        return Sync(child=render_leader_worker_set(self._primary, around), policy=POLICY, event=event)

    def _service_steps(self, around: Surroundings) -> tuple[Step, ...]:
        effect: Effect
        if service_wanted(self._primary, around):
            effect = Sync(child=render_service(self._primary, around), policy=CONVERGING)
        else:
            metadata = self._primary.metadata
            live = self._view.get(SERVICE, Key(metadata.namespace, service_name(metadata.name)))
            if live is None or not is_controlled_by(live, self._primary):
                return ()
            effect = Delete(target=live)
        return (Step(name="service", effects=(effect,)),)

    def _shape_steps(self, around: Surroundings) -> tuple[Step, ...]:
        """Counts the GPUs. Those that cannot be counted fail the attempt after the workload was written."""
        component = self._primary.spec
        pod = pod_spec(component.pod_template)
        main = main_container(component.pod_template)
        pods = [(pod, component.nodes)]
        try:
            with rendering(self._what, "spec"):
                self._shape = gpu_shape(main, pods, nodes=component.nodes, devices=around.devices)
        except InvalidObject as error:
            message = f"failed to resolve container GPUs: {error}"
            refuse = Refuse(message=message, error=error, retry=self._retry)
            return (Step(name="count-gpus", effects=(refuse,)),)
        return ()

    @property
    def _retry(self) -> Retry:
        """Only an edit mends the own spec; but claims that it names may come by themselves, and wake nobody."""
        try:
            claiming = pod_spec(self._primary.spec.pod_template).get("resourceClaims")
        except InvalidObject:  # a spec that cannot be read was stored before its rules
            return Retry.NEVER
        return Retry.BACKOFF if claiming else Retry.NEVER

    def _refuse(self, error: InvalidObject) -> None:
        """The own spec cannot be reconciled: nothing is written."""
        if error.path.startswith("spec.experimental.checkpoint"):
            self._broken_checkpoint = error
            return
        refuse = Refuse(message=str(error), error=error, retry=self._retry)
        self.steps = (Step(name="render", effects=(refuse,)),)
