"""One attempt at one graph: everything is decided when it is made (G 3.1).

The order of the steps is the contract: the suffix of the workers is stored before anything carries it; accounts and roles are
there before the Pods that need them; a graph that nobody can orchestrate still gets those; and what left the graph goes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import FrozenDict
from dynamo_ctrl.program.effect import Delete, Event, Refuse, Sync
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import PROGRESS, Step
from dynamo_graph.api.component import BackendFramework, Component
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT, DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.graph_status import GraphStatus, RestartStatus
from dynamo_graph.api.names import Annotation
from dynamo_graph.api.predicates import has_any_multinode
from dynamo_graph.bookkeeping import POLICY
from dynamo_graph.capabilities import GROUPS
from dynamo_graph.component.checkpoints import Checkpoints, awaited, held_back
from dynamo_graph.component.crash_loops import crash_looping
from dynamo_graph.component.names import check_names
from dynamo_graph.component.needs import MakeKeys, Needs, refused
from dynamo_graph.component.orphans import misfits, orphans
from dynamo_graph.component.readiness import observe
from dynamo_graph.component.renderable import check_renderable
from dynamo_graph.component.restart import (
    carried,
    created_with_restart,
    next_restart,
    restart_events,
    restart_stamps,
    unfinished_because,
)
from dynamo_graph.component.rollout import Rollout
from dynamo_graph.component.rollout_state import is_active, rollout_events
from dynamo_graph.component.rollout_status import merged
from dynamo_graph.component.scaling_adapters import scaling_adapter_steps
from dynamo_graph.component.shared_resources import CHECKPOINTS, shared_steps
from dynamo_graph.graph.status import Reason, failed_attempt, rolling, succeeded
from dynamo_graph.render.component_deployment import render_component_deployments
from dynamo_graph.render.template import annotations_of
from dynamo_graph.render.warnings import render_warnings

COMPONENTS: Final = "components"
"""Name of the step that brings the components' deployments to what is wanted."""

NO_ORCHESTRATOR: Final = "no multinode orchestrator available"
COMPONENTS_FAILED: Final = "failed to reconcile Dynamo components deployments: "


class Attempt:
    """The steps of one attempt, and the status that follows from what came of them.

    Attributes:
        steps: what is to be done.
    """

    def __init__(
        self,
        request: Request[DynamoGraphDeployment],
        config: OperatorConfig,
        *,
        make_keys: MakeKeys,
        checkpoints: Checkpoints,
    ) -> None:
        self._request = request
        self._graph = request.object
        self._owned = request.view.owned(DYNAMO_COMPONENT_DEPLOYMENT, self._graph)
        self._checkpoints = checkpoints.observe(self._graph, request.view)
        self._waiting = awaited(self._graph.spec.components, self._checkpoints.checkpoints)
        self._rollout = Rollout(request, self._owned, self._waiting)
        self._restart, self._stamps = self._restarts()
        self._children: dict[str, Sync] = {}
        self._misfits: tuple[DynamoComponentDeployment, ...] = ()
        needs = Needs(
            graph=self._graph,
            view=request.view,
            config=config,
            make_keys=make_keys,
            checkpoints=self._checkpoints,
        )
        self.steps = self._steps(needs)

    def status(self, report: Report) -> GraphStatus | None:
        """The status after the attempt."""
        generation, now = self._graph.metadata.generation, self._request.now
        reached = self._reached(report)
        if report.failure is not None:
            return failed_attempt(reached, report, generation=generation, now=now)
        old = self._rollout.old
        replaced = (*(worker.name for worker in old), *(misfit.metadata.name for misfit in self._misfits))
        outcome = observe(self._live(report), replaced)
        components = merged(outcome.components, old, self._rollout.old_sizes)
        outcome = held_back(replace(outcome, components=components), self._waiting)
        if is_active(reached.rolling_update):
            outcome = rolling(outcome)
        outcome = crash_looping(outcome, self._live(report))
        return succeeded(reached, outcome, generation=generation, now=now)

    def transitions(self, old: GraphStatus | None, new: GraphStatus) -> tuple[Event, ...]:
        """What the written change of the status tells about rollout and restart."""
        before = old or GraphStatus()
        suffix, recorded = self._rollout.suffix, self._rollout.recorded
        return (
            *rollout_events(
                before.rolling_update, new.rolling_update, suffix=suffix, recorded=recorded.v2 or recorded.v1
            ),
            *restart_events(before.restart, new.restart),
        )

    def again(self, report: Report) -> timedelta | None:
        """At once, if the components that restart now have done so already: nothing will happen that tells of it."""
        running = self._restart.in_progress if self._restart is not None else ()
        live = dict(self._live(report))
        finished = all(unfinished_because(partial(live.get, name)) is None for name in running)
        return PROGRESS if running and finished else None

    def _steps(self, needs: Needs) -> tuple[Step, ...]:
        try:
            check_names(self._graph, self._rollout.suffix)
        except InvalidObject as error:
            return (refused(self._graph, "names", error),)
        collision = self._rollout.collision()
        if collision is not None:
            refuse = Refuse(message=str(collision), error=collision)
            return (Step(name="observe-workers", effects=(refuse,), reason=Reason.ROLLING_FAILED),)
        shared = shared_steps(needs)
        try:
            workloads = self._workload_steps(needs.config)
        except InvalidObject as error:  # nothing at all is made of a graph that is refused, accounts neither
            return (*filter(_refuses, shared), refused(self._graph, COMPONENTS, error, COMPONENTS_FAILED))
        return (*self._rollout.first_steps, *shared, *workloads)

    def _reached(self, report: Report) -> GraphStatus:
        """The last status, with what the deployments carry now: restart and rollout are told with the writes that do them.

        Checkpoints are told as they were seen, whatever came of what follows. A rollout is complete only if all of the attempt
        succeeded.
        """
        last, rollout = self._graph.status, self._rollout.status
        if _reached(report, CHECKPOINTS):
            last = last.model_copy(update={"checkpoints": FrozenDict(self._checkpoints.checkpoints)})
        if not report.done(COMPONENTS):
            return last
        if report.failure is not None and not is_active(rollout):
            rollout = last.rolling_update
        return last.model_copy(update={"restart": self._restart, "rolling_update": rollout})

    def _restarts(self) -> tuple[RestartStatus | None, dict[str, str]]:
        """The status of the restart, and the restart that each component's Pods shall carry."""
        spec, last = self._graph.spec, self._graph.status
        names = [component.name for component in spec.components]
        generation, observed = self._graph.metadata.generation, last.observed_generation
        if created_with_restart(spec.restart, last.restart, generation=generation, observed=observed):
            assert spec.restart is not None, "a request was asked for"  # noqa: S101
            return RestartStatus(observed_id=spec.restart.id, phase="Completed"), {}
        status = next_restart(
            spec.restart,
            last.restart,
            names,
            rolling=is_active(self._rollout.status),
            unfinished=self._unfinished,
        )
        return status, restart_stamps(spec.restart, status, names)

    def _unfinished(self, names: Iterable[str]) -> list[str]:
        """Those that have not restarted yet; a component that left the graph is done."""
        components = [self._graph.spec.component(name) for name in names]
        return [
            component.name
            for component in components
            if component is not None and unfinished_because(partial(self._rollout.present, component)) is not None
        ]

    def _live(self, report: Report) -> Iterator[tuple[str, DynamoComponentDeployment]]:
        for component, child in self._children.items():
            live = report.live(child)
            if isinstance(live, DynamoComponentDeployment):
                yield component, live

    def _workload_steps(self, config: OperatorConfig) -> tuple[Step, ...]:
        """The steps that make and shrink workloads. Raises `InvalidObject` if a component cannot be rendered."""
        components = self._graph.spec.components
        if has_any_multinode(components) and not GROUPS.usable(self._request.view, config):
            refuse = Refuse(message=NO_ORCHESTRATOR)
            return (Step(name="orchestrator", effects=(refuse,), reason=Reason.NO_ORCHESTRATOR),)
        rollout = self._rollout
        present = {component.name: rollout.present(component) for component in components}
        rendered = render_component_deployments(
            self._graph,
            suffix=rollout.suffix,
            replicas={**rollout.sizes, **dict.fromkeys(self._waiting, 0)},
            restarts=self._carried(present),
            frameworks=self._frameworks(present),
            checkpoints=self._checkpoints.checkpoints,
        )
        check_renderable(self._graph, rendered, config)
        found = tuple(misfits(self._owned, rendered))
        self._misfits = tuple(live for live, _ in found)
        in_the_way = {live.metadata.name for live in self._misfits}
        children = {child.spec.name: child for child in rendered if child.metadata.name not in in_the_way}
        warnings = {component.name: _warning(component) for component in components}
        self._children = {
            name: Sync(child=children[name], policy=POLICY, event=warnings[name]) for name in sorted(children)
        }
        gone = orphans(self._owned, {child.metadata.name for child in rendered})
        return (
            Step(
                name=COMPONENTS,
                effects=(*self._children.values(), *(_gone_with_its_workload(*each) for each in found)),
                prefix=COMPONENTS_FAILED,
            ),
            *rollout.shrink_steps(),
            *((Step(name="orphans", effects=tuple(Delete(target=each) for each in gone)),) if gone else ()),
            *rollout.last_steps(),
            *(() if self._waiting else scaling_adapter_steps(self._graph, self._request.view)),
        )

    def _carried(self, present: Mapping[str, DynamoComponentDeployment | None]) -> dict[str, str]:
        """The restart that the Pods of each component carry after this attempt."""
        over = self._restart is None or self._restart.phase == "Completed"
        found = {
            name: carried(self._stamps.get(name), _restart_of(deployment), completed=over)
            for name, deployment in present.items()
        }
        return {name: restart for name, restart in found.items() if restart}

    def _frameworks(self, present: Mapping[str, DynamoComponentDeployment | None]) -> dict[str, BackendFramework]:
        """The engine that each component's deployment has already; it never changes."""
        found = {name: live.spec.backend_framework for name, live in present.items() if live is not None}
        return {name: framework for name, framework in found.items() if framework}


def _refuses(step: Step) -> bool:
    return any(isinstance(effect, Refuse) for effect in step.effects)


def _reached(report: Report, step: str) -> bool:
    """Whether an attempt came as far as that step."""
    return report.done(step) or any(failure.step == step for failure in report.failures)


def _restart_of(deployment: DynamoComponentDeployment | None) -> str | None:
    """The restart that a deployment's Pods carry; `None` if there is no deployment."""
    return None if deployment is None else annotations_of(deployment.spec.pod_template).get(Annotation.RESTART_AT, "")


def _gone_with_its_workload(misfit: DynamoComponentDeployment, why: InvalidObject) -> Delete:
    """What it made goes before it, so that nothing is in the way of the next one."""
    event = Event(type="Normal", reason="DeploymentReplaced", note=f"{why}; it is deleted and made anew")
    return Delete(target=misfit, propagation="Foreground", event=event)


def _warning(component: Component) -> Event | None:
    """What its author should know about a component, told whenever its deployment is written."""
    found = tuple(render_warnings(component))
    if not found:
        return None
    return Event(type="Warning", reason=found[0].reason, note="; ".join(warning.message for warning in found))
