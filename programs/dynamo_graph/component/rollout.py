"""What one attempt decides about the worker generations of a graph (G 3.5-3.7). Pure.

    observe -> record what an older release left -> choose the target -> sizes and phase
            -> (targets are written, old generations shrink) -> delete what is drained, record what serves

Everything is decided on one observation, taken when the attempt begins; so what a deletion makes possible happens in a later
pass. A crash between any two writes is safe: the next attempt observes what is there. Graphs that span nodes walk the same way;
only their status tells no phases, and what serves is recorded as soon as it can be seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.owners import is_controlled_by
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Delete, Event, Patch, PatchPrimary
from dynamo_ctrl.program.errors import OwnershipConflict
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Step
from dynamo_ctrl.program.sync import bookkeeping, content_hash
from dynamo_graph.api.component import Component
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT, DynamoComponentDeployment
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import BOOKKEEPING_PREFIX, LEGACY_HASH, Annotation, Label
from dynamo_graph.api.predicates import deployment_name, has_any_multinode
from dynamo_graph.component.drain import drained
from dynamo_graph.component.generations import StoredHashes, adopted, candidates, completed, migrated, target_suffix
from dynamo_graph.component.inventory import Inventory, Worker
from dynamo_graph.component.rollout_arithmetic import DEFAULT_SHARE
from dynamo_graph.component.rollout_plan import Wish, rollout_plan
from dynamo_graph.component.rollout_state import Situation, advanced, is_active
from dynamo_graph.component.worker_hash import desired_hash
from dynamo_graph.graph.status import Reason
from dynamo_graph.pods.indexes import pods_of_component
from dynamo_graph.render.component_deployment import desired_replicas
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.template import annotations_of

NOT_SUPPORTED: Final = (
    "Worker spec changed but custom rolling updates are not supported for Grove/multinode deployments"
)


class Rollout:
    """The decisions of one attempt.

    Attributes:
        suffix: the generation that the workers shall have.
        sizes: component name to the size of its new deployment, where that is not the component's own.
        status: how far the rolling update is.
        recorded: what is recorded once that generation serves alone.
    """

    def __init__(
        self,
        request: Request[DynamoGraphDeployment],
        owned: Iterable[DynamoComponentDeployment],
        held: Collection[str] = (),
    ) -> None:
        """`held` are the components that must not start yet."""
        self._view = request.view
        self._graph = graph = request.object
        self._managed = not has_any_multinode(graph.spec.components)
        self._rolling = is_active(graph.status.rolling_update)
        self._desired = desired_hash(graph.spec)
        self._inventory = Inventory(graph, owned)
        self._stored = StoredHashes.read(graph.metadata.annotations)
        self.first_steps, known = self._record_the_past()
        self._known = known
        self.suffix = target_suffix(known, self._desired, self._inventory.exists)
        self.recorded = completed(known, self._desired, self.suffix) if self._inventory.components else StoredHashes()
        self._candidates = candidates(known, self._desired, self.suffix)
        self._targets = self._inventory.targets(self.suffix)
        self.old = self._inventory.old(self.suffix)
        wishes = [_wish(graph, component, held) for component in self._inventory.components]
        self._plan = rollout_plan(wishes, self._targets, self.old, self._drained)
        self.sizes = self._plan.new
        self.old_sizes = self._plan.old
        seen = Situation(
            old=bool(self.old),
            pending=self._plan.pending,
            ready=self._plan.ready,
            updated=self._plan.updated,
            workers=[component.name for component in self._inventory.components],
        )
        last = graph.status.rolling_update
        self.status = advanced(last, seen, request.now) if self._managed or self._rolling else last

    def collision(self) -> OwnershipConflict | None:
        """An object of somebody else with the canonical name of a worker's deployment; it is neither adopted nor touched."""
        for component in self._inventory.components:
            live = self._deployment(component, self.suffix)
            if live is not None and not is_controlled_by(live, self._graph):
                owner = live.metadata.controller
                whose = f"{owner.kind} {owner.name} (uid {owner.uid})" if owner is not None else "nobody"
                message = (
                    f'identity collision: {live.ref}, the deployment of worker component "{component.name}", '
                    f"is controlled by {whose}, not by {self._graph.ref} (uid {self._graph.metadata.uid})"
                )
                return OwnershipConflict(message, live=live)
        return None

    def present(self, component: Component) -> DynamoComponentDeployment | None:
        """The deployment of a component that is there now, whichever of its names it bears (G 3.5.5)."""
        suffixes = self._candidates if component.is_worker else ("",)
        found = (self._deployment(component, suffix) for suffix in suffixes)
        return next((live for live in found if live is not None and is_controlled_by(live, self._graph)), None)

    def shrink_steps(self) -> tuple[Step, ...]:
        """The old generations give what they may. One that is being deleted goes by itself."""
        effects = tuple(
            Patch(target=old.deployment, patch=_resized(old.deployment, size), same_generation=True)
            for old, size in sorted(self.old_sizes.items(), key=lambda item: item[0].name)
            if old.replicas != size and not old.terminating
        )
        return (Step(name="shrink-old-generations", effects=effects, reason=Reason.ROLLING_FAILED),) if effects else ()

    def last_steps(self) -> tuple[Step, ...]:
        """What was found drained goes; what was found serving alone is recorded."""
        if self.old and self._plan.ready and self._plan.drained:
            gone = [old.deployment for old in sorted(self.old, key=lambda old: old.name) if not old.terminating]
            effects = tuple(Delete(target=deployment) for deployment in gone)
            deletions = (Step(name="delete-old-generations", effects=effects, reason=Reason.ROLLING_FAILED),)
            return (*(deletions if effects else ()), *self._record_steps())
        return self._record_steps()

    def _record_steps(self) -> tuple[Step, ...]:
        """The projection onto the annotations, written last."""
        serves = (self._plan.ready and not self.old) if self._managed else not self._plan.pending
        known = self._known
        if not serves or self.recorded == known:
            return ()
        event = None
        if not self._managed and not known.empty and known.hash != self.recorded.hash != "":
            event = Event(type="Warning", reason="RollingUpdateNotSupported", note=NOT_SUPPORTED, action="RollWorkers")
        first = self._managed and known.empty
        reason = Reason.INITIALIZATION if first else Reason.ROLLING_FAILED
        return (Step(name="record-worker-hash", effects=(_record(self.recorded, event),), reason=reason),)

    def _record_the_past(self) -> tuple[tuple[Step, ...], StoredHashes]:
        """What is recorded before anything else, and what is known then."""
        stored = self._stored
        if not self._inventory.components:
            return (), stored
        migration = migrated(stored, self._desired, rolling=self._rolling)
        if migration is not None:
            note = f"Recorded worker hash {migration.v2} next to suffix {migration.v1}"
            return (_past("migrate-worker-hash", migration, "WorkerHashMigrated", note, Reason.MIGRATION),), migration
        legacy = self._inventory.legacy() if stored.empty and self._managed else ()
        if legacy:
            return self._mark(legacy)
        adoption = adopted(stored, self._desired, only=self._only())
        if adoption is not None:
            note = f"Recorded worker hash {adoption.own} next to suffix {adoption.suffix}"
            return (_past("adopt-workers", adoption, "WorkerHashMigrated", note, Reason.MIGRATION),), adoption
        return (), stored

    def _only(self) -> str:
        """The only generation, if it is known to serve what is wanted now: nothing was changed since it was called good.

        Where phases are told, a rollout that is under way shows there; elsewhere only a graph that is ready is beyond doubt.
        """
        status = self._graph.status
        settled = status.observed_generation == self._graph.metadata.generation and not self._rolling
        if not settled or not (self._managed or status.state == "successful"):
            return ""
        return self._inventory.only(self._stored.suffix)

    def _mark(self, legacy: tuple[Worker, ...]) -> tuple[tuple[Step, ...], StoredHashes]:
        """Workers from before there were hashes: marked, then replaced. The marks come first: they are found again."""
        stored = StoredHashes(v1=LEGACY_HASH)
        mark = Change.merge({"metadata": {"labels": {Label.WORKER_HASH: LEGACY_HASH}}})
        unmarked = [worker for worker in legacy if Label.WORKER_HASH not in worker.deployment.metadata.labels]
        marks = tuple(Patch(target=worker.deployment, patch=mark) for worker in unmarked)
        note = (
            f"Marked {len(legacy)} worker deployments without a worker hash as legacy; a rolling update replaces them"
        )
        steps = (
            Step(name="mark-legacy-workers", effects=marks, reason=Reason.INITIALIZATION),
            _past("record-legacy-workers", stored, "LegacyMigrationStarted", note, Reason.INITIALIZATION),
        )
        return steps, stored

    def _deployment(self, component: Component, suffix: str) -> DynamoComponentDeployment | None:
        name = deployment_name(component, graph=self._graph.metadata.name, suffix=suffix)
        return self._view.get(DYNAMO_COMPONENT_DEPLOYMENT, Key(self._graph.metadata.namespace, name))

    def _drained(self, component: str, olds: tuple[Worker, ...]) -> bool:
        metadata = self._graph.metadata
        pods = pods_of_component(self._view, namespace=metadata.namespace, graph=metadata.name, component=component)
        return drained(olds, pods)


def _wish(graph: DynamoGraphDeployment, component: Component, held: Collection[str]) -> Wish:
    annotations = {**(graph.spec.annotations or {}), **annotations_of(component.pod_template)}
    return Wish(
        name=component.name,
        desired=_desired(graph, component),
        recreate=annotations.get(Annotation.DEPLOYMENT_STRATEGY) == "Recreate",
        surge=annotations.get(Annotation.MAX_SURGE) or DEFAULT_SHARE,
        unavailable=annotations.get(Annotation.MAX_UNAVAILABLE) or DEFAULT_SHARE,
        held=component.name in held,
    )


def _desired(graph: DynamoGraphDeployment, component: Component) -> int:
    """A number that cannot be read is told where the component is rendered, and nothing rolls then."""
    try:
        return desired_replicas(graph, component)
    except RenderError:
        return component.desired_replicas


def _resized(deployment: DynamoComponentDeployment, size: int) -> Change:
    """Nothing but another size, and the note that it is ours: should the deployment be wanted again, nobody edited it by hand."""
    content = deployment.content()
    resized = content_hash({**content, "spec": {**content["spec"], "replicas": size}})
    note = bookkeeping(BOOKKEEPING_PREFIX, resized, deployment.metadata.generation + 1)
    return Change.merge({"metadata": {"annotations": note}, "spec": {"replicas": size}})


def _past(name: str, stored: StoredHashes, event: str, note: str, reason: str) -> Step:
    told = Event(type="Normal", reason=event, note=note, action="RecordWorkerHash")
    return Step(name=name, effects=(_record(stored, told),), reason=reason)


def _record(stored: StoredHashes, event: Event | None) -> PatchPrimary:
    return PatchPrimary(patch=Change.merge({"metadata": {"annotations": stored.annotations()}}), event=event)
