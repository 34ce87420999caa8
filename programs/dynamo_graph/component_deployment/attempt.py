"""One attempt at one component deployment: everything is decided when it is made (G 3.9.1)."""

from __future__ import annotations

from dynamo_ctrl.objects.builtin.apps import Deployment
from dynamo_ctrl.objects.builtin.core import SERVICE
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.owners import is_controlled_by
from dynamo_ctrl.program.effect import Delete, Effect, Refuse, Retry, Sync, SyncPolicy
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.component_deployment import ComponentDeploymentStatus, DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.names import BOOKKEEPING_PREFIX
from dynamo_graph.api.predicates import service_name
from dynamo_graph.api.rules import validate_component_deployment
from dynamo_graph.component_deployment.devices import CachedDevices
from dynamo_graph.component_deployment.status import StatusAt, replica_status, runtime_namespace
from dynamo_graph.component_deployment.surroundings import surroundings
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.render.errors import rendering
from dynamo_graph.render.gpu_shape import GpuShape, gpu_shape
from dynamo_graph.render.service import render_service, service_wanted
from dynamo_graph.render.template import main_container, pod_spec

POLICY = SyncPolicy(prefix=BOOKKEEPING_PREFIX)


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
        self._shape: GpuShape | None = None
        self._broken_checkpoint: InvalidObject | None = None
        self.steps: tuple[Step, ...] = ()
        try:
            validate_component_deployment(self._primary.spec, self._what)
            around = surroundings(self._primary.metadata.namespace, request.view, config)
            self.steps = (self._workload_step(around), *self._service_steps(around), *self._shape_steps())
        except InvalidObject as error:
            self._refuse(error)

    def status(self, report: Report) -> ComponentDeploymentStatus:
        """The status after the attempt."""
        if self._broken_checkpoint is not None:
            return self._status.invalid_checkpoint(str(self._broken_checkpoint))
        workload = report.live(self._workload) if self._workload is not None else None
        if report.failure is not None or not isinstance(workload, Deployment):
            return self._status.failed(report)
        component = replica_status(workload, runtime_namespace(self._primary), self._shape)
        return self._status.observed(workload, component)

    def _workload_step(self, around: Surroundings) -> Step:
        self._workload = Sync(child=render_deployment(self._primary, around), policy=POLICY)
        return Step(name="workload", effects=(self._workload,))

    def _service_steps(self, around: Surroundings) -> tuple[Step, ...]:
        effect: Effect
        if service_wanted(self._primary, around):
            effect = Sync(child=render_service(self._primary, around), policy=POLICY)
        else:
            metadata = self._primary.metadata
            live = self._view.get(SERVICE, Key(metadata.namespace, service_name(metadata.name)))
            if live is None or not is_controlled_by(live, self._primary):
                return ()
            effect = Delete(target=live)
        return (Step(name="service", effects=(effect,)),)

    def _shape_steps(self) -> tuple[Step, ...]:
        """Counts the GPUs. Those that cannot be counted fail the attempt after the workload was written."""
        component = self._primary.spec
        pod = pod_spec(component.pod_template)
        main = main_container(component.pod_template)
        devices = CachedDevices(self._view, self._primary.metadata.namespace)
        try:
            with rendering(self._what, "spec"):
                self._shape = gpu_shape(main, [(pod, component.nodes)], nodes=component.nodes, devices=devices)
        except InvalidObject as error:
            retry = Retry.BACKOFF if pod.get("resourceClaims") else Retry.NEVER
            refuse = Refuse(message=f"failed to resolve container GPUs: {error}", error=error, retry=retry)
            return (Step(name="count-gpus", effects=(refuse,)),)
        return ()

    def _refuse(self, error: InvalidObject) -> None:
        """The own spec cannot be reconciled: nothing is written, and only an edit brings another attempt."""
        if error.path.startswith("spec.experimental.checkpoint"):
            self._broken_checkpoint = error
            return
        refuse = Refuse(message=str(error), error=error, retry=Retry.NEVER)
        self.steps = (Step(name="render", effects=(refuse,)),)
