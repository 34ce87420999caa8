"""One attempt at one graph: everything is decided when it is made (G 3.1).

The order of the steps is the contract: the suffix of the workers is stored before anything carries it; accounts and roles are
there before the Pods that need them; a graph that nobody can orchestrate still gets those; and what left the graph goes last.
"""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.owners import is_controlled_by
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Delete, Event, PatchPrimary, Refuse, Retry, Sync, SyncPolicy
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.component import BackendFramework, Component
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT, DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.graph_status import GraphStatus
from dynamo_graph.api.names import BOOKKEEPING_PREFIX
from dynamo_graph.api.predicates import deployment_name, has_any_multinode, workers
from dynamo_graph.component.checkpoints import awaited, held_back
from dynamo_graph.component.discovery import discovery_objects
from dynamo_graph.component.generations import Generation, StoredHashes, serving
from dynamo_graph.component.names import check_names
from dynamo_graph.component.orphans import orphans
from dynamo_graph.component.readiness import observe
from dynamo_graph.component.renderable import check_renderable
from dynamo_graph.component.ssh_keys import MakeKeys, needs_ssh_keys, ssh_key_steps
from dynamo_graph.component.wait_for_leader import FAILED as SCRIPTS_FAILED
from dynamo_graph.component.wait_for_leader import wait_leader_config_map
from dynamo_graph.component.worker_hash import worker_hash
from dynamo_graph.graph.status import Reason, failed_attempt, succeeded
from dynamo_graph.orchestrators import spans_nodes
from dynamo_graph.render.component_deployment import render_component_deployments
from dynamo_graph.render.runtime_version import HASHED, at_least, resolve
from dynamo_graph.render.template import main_container
from dynamo_graph.render.warnings import render_warnings

POLICY: Final = SyncPolicy(prefix=BOOKKEEPING_PREFIX)

NO_ORCHESTRATOR: Final = "no multinode orchestrator available"
DISCOVERY_FAILED: Final = "failed to reconcile K8s discovery resources: "
COMPONENTS_FAILED: Final = "failed to reconcile Dynamo components deployments: "


class Attempt:
    """The steps of one attempt, and the status that follows from what came of them.

    Attributes:
        steps: what is to be done.
    """

    def __init__(self, request: Request[DynamoGraphDeployment], config: OperatorConfig, make_keys: MakeKeys) -> None:
        self._request = request
        self._graph = request.object
        self._owned = request.view.owned(DYNAMO_COMPONENT_DEPLOYMENT, self._graph)
        self._waiting = awaited(self._graph.spec.components)
        self._children: dict[str, Sync] = {}
        generation = self._generation()
        try:
            check_names(self._graph, generation.suffix)
        except InvalidObject as error:
            self.steps: tuple[Step, ...] = (self._refused("names", error),)
        else:
            self.steps = (
                *self._hash_steps(generation),
                self._discovery_step(config),
                *self._multinode_steps(config, make_keys),
                *self._workload_steps(generation, config),
            )

    def status(self, report: Report) -> GraphStatus | None:
        """The status after the attempt."""
        last, generation, now = self._graph.status, self._graph.metadata.generation, self._request.now
        if report.failure is not None:
            return failed_attempt(last, report, generation=generation, now=now)
        live = ((component, report.live(child)) for component, child in self._children.items())
        deployments = ((name, each) for name, each in live if isinstance(each, DynamoComponentDeployment))
        outcome = held_back(observe(deployments), self._waiting)
        return succeeded(last, outcome, generation=generation, now=now)

    def _generation(self) -> Generation:
        spec = self._graph.spec
        versions = {}
        for worker in workers(spec):
            image = main_container(worker.pod_template).get("image") or ""
            version = resolve(image, worker.runtime_version_override)
            if at_least(version, HASHED):
                versions[worker.name] = str(version)
        return serving(
            StoredHashes.read(self._graph.metadata.annotations),
            worker_hash(spec.tree(), versions),
            graph=self._graph.metadata.name,
            workers=[worker.name for worker in workers(spec)],
            names=[deployment.metadata.name for deployment in self._owned],
        )

    def _hash_steps(self, generation: Generation) -> tuple[Step, ...]:
        """A graph that spans nodes records its generation only once its workloads carry it."""
        store = generation.store
        if store is None or (not generation.migration and has_any_multinode(self._graph.spec.components)):
            return ()
        event = None
        if generation.migration:
            note = f"Recorded worker hash {store.v2} next to suffix {store.v1}"
            event = Event(type="Normal", reason="WorkerHashMigrated", note=note)
        patch = PatchPrimary(patch=Patch.merge({"metadata": {"annotations": store.annotations}}), event=event)
        reason = Reason.MIGRATION if generation.migration else Reason.INITIALIZATION
        return (Step(name="store-worker-hash", effects=(patch,), reason=reason),)

    def _discovery_step(self, config: OperatorConfig) -> Step:
        try:
            wanted = discovery_objects(self._graph, config)
        except InvalidObject as error:
            return self._refused("discovery", error, DISCOVERY_FAILED)
        effects = tuple(Sync(child=child, policy=POLICY) for child in wanted)
        return Step(name="discovery", effects=effects, prefix=DISCOVERY_FAILED)

    def _multinode_steps(self, config: OperatorConfig, make_keys: MakeKeys) -> tuple[Step, ...]:
        """What engines that span nodes share: the scripts by which they wait, and the keys by which they reach each other."""
        scripts = wait_leader_config_map(self._graph)
        if scripts is None:
            return ()
        sync = Sync(child=scripts, policy=POLICY)
        steps = (Step(name="wait-for-leader", effects=(sync,), prefix=SCRIPTS_FAILED),)
        return (*steps, *ssh_key_steps(self._graph, config.mpi, make_keys)) if needs_ssh_keys(self._graph) else steps

    def _workload_steps(self, generation: Generation, config: OperatorConfig) -> tuple[Step, ...]:
        components = self._graph.spec.components
        if has_any_multinode(components) and not spans_nodes(self._request.view, config):
            refuse = Refuse(message=NO_ORCHESTRATOR)
            return (Step(name="orchestrator", effects=(refuse,), reason=Reason.NO_ORCHESTRATOR),)
        suffix = generation.suffix
        try:
            rendered = render_component_deployments(
                self._graph,
                suffix=suffix,
                replicas=dict.fromkeys(self._waiting, 0),
                frameworks=self._frameworks(suffix),
            )
            check_renderable(self._graph, rendered, config)
        except InvalidObject as error:
            return (self._refused("components", error, COMPONENTS_FAILED),)
        children = {child.spec.name: child for child in rendered}
        warnings = {component.name: _warning(component) for component in self._graph.spec.components}
        self._children = {
            name: Sync(child=children[name], policy=POLICY, event=warnings[name]) for name in sorted(children)
        }
        steps = [Step(name="components", effects=tuple(self._children.values()), prefix=COMPONENTS_FAILED)]
        names = {child.metadata.name for child in rendered}
        gone = orphans(self._owned, workers={worker.name for worker in workers(self._graph.spec)}, wanted=names)
        if gone:
            steps.append(Step(name="orphans", effects=tuple(Delete(target=orphan) for orphan in gone)))
        return tuple(steps)

    def _frameworks(self, suffix: str) -> dict[str, BackendFramework]:
        """The engine that each component's deployment has already; it never changes."""
        found: dict[str, BackendFramework] = {}
        graph = self._graph
        for component in graph.spec.components:
            name = deployment_name(component, graph=graph.metadata.name, suffix=suffix)
            live = self._request.view.get(DYNAMO_COMPONENT_DEPLOYMENT, Key(graph.metadata.namespace, name))
            if live is not None and is_controlled_by(live, graph) and live.spec.backend_framework:
                found[component.name] = live.spec.backend_framework
        return found

    def _refused(self, name: str, error: InvalidObject, prefix: str = "") -> Step:
        """What cannot be rendered. If the own spec alone is to blame, only an edit brings another attempt."""
        retry = Retry.NEVER if error.what == f"{self._graph.kind.kind} {self._graph.key}" else Retry.BACKOFF
        return Step(name=name, effects=(Refuse(message=str(error), error=error, retry=retry),), prefix=prefix)


def _warning(component: Component) -> Event | None:
    """What its author should know about a component, told whenever its deployment is written."""
    found = tuple(render_warnings(component))
    if not found:
        return None
    return Event(type="Warning", reason=found[0].reason, note="; ".join(warning.message for warning in found))
