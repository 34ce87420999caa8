"""The outer side of a graph: which provider serves it, when it may go, and what its status changes tell (G 2.1-2.8, 6, 9.1).

The provider is chosen once and stored before anything else is written. The choice depends on what the graph controls, on what
its author asks for, and on what can be served here: an API that the cluster serves *and* an installed program for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.predicate import any_of, deleted, spec_or_deletion_changed, updated
from dynamo_ctrl.objects.builtin.core import PERSISTENT_VOLUME_CLAIM, SERVICE
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Event, PatchPrimary, Refuse, Retry
from dynamo_ctrl.program.program import Selected
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_graph import capabilities
from dynamo_graph.api import config_file, crds
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.api.graph_status import GraphStatus
from dynamo_graph.api.names import FINALIZER, Annotation
from dynamo_graph.capabilities import Capability, required
from dynamo_graph.component.checkpoints import Checkpoints, NoCheckpoints, cleaned_up
from dynamo_graph.graph import preflight, selection
from dynamo_graph.graph.status import OWNERSHIP_CONFLICT, STORE_PROVIDER, Reason, became_true, failed, failed_attempt
from dynamo_graph.namespaces import heard
from dynamo_graph.orchestrators import DISAGGREGATED_SET, LEADER_WORKER_SET, POD_CLIQUE_SET, identity_only

CAPABILITIES: Final[Mapping[str, Capability]] = {
    selection.GROVE: capabilities.GROVE,
    selection.DISAGGREGATED_SET: capabilities.SETS,
}
"""What a provider needs to be served and not switched off; the others need nothing beyond Kubernetes itself."""

FAMILIES: Final[Mapping[str, Kind[Any]]] = {
    selection.COMPONENT: DYNAMO_COMPONENT_DEPLOYMENT,
    selection.GROVE: POD_CLIQUE_SET,
    selection.DISAGGREGATED_SET: DISAGGREGATED_SET,
}
"""Whose children prove that a provider serves a graph already."""


class GraphProgram:
    """Selects the provider of every graph, and finalises graphs."""

    name = "dynamo-graph"
    finalizer = FINALIZER
    settles: Literal[True] = True
    watches: Watches[DynamoGraphDeployment] = (
        watching(DYNAMO_GRAPH_DEPLOYMENT, when=spec_or_deletion_changed)
        .owning(PERSISTENT_VOLUME_CLAIM, when=any_of(updated, deleted), project=identity_only)
        .owning(SERVICE, when=any_of(updated, deleted))
        .reading(DYNAMO_COMPONENT_DEPLOYMENT)
        .reading(POD_CLIQUE_SET, project=identity_only, optional=True)
        .reading(DISAGGREGATED_SET, project=identity_only, optional=True)
        .reading(LEADER_WORKER_SET, project=identity_only, optional=True)
    )

    def __init__(self, config: OperatorConfig | None = None, *, checkpoints: Checkpoints | None = None) -> None:
        self._config = config or OperatorConfig()
        self._checkpoints = checkpoints or NoCheckpoints()
        self.watches = heard(
            required(type(self).watches, self._config, capabilities.GROVE, capabilities.GROUPS), self._config
        )

    def configured(self, document: JsonMap) -> GraphProgram:
        """The program under the operator configuration `document` (P 7). Raises `InvalidObject`."""
        return GraphProgram(config_file.of(document), checkpoints=self._checkpoints)

    def select(
        self, request: Request[DynamoGraphDeployment], installed: frozenset[str]
    ) -> Selected | Result[GraphStatus]:
        """The provider of the graph, with the step that stores a new choice; or the refusal that its status shows."""
        graph = request.object
        try:
            provider = selection.stored(graph.metadata.annotations, installed)
        except selection.UnsupportedProvider as error:
            return _Refusal(request).because(Reason.UNSUPPORTED_PROVIDER, error)
        store: tuple[Step, ...] = ()
        if provider is None:
            try:
                provider = self._choice(graph, request.view, installed)
            except selection.ConflictingProviders as error:
                conflict = Refuse(message=str(error), error=error)
                return Result(steps=(Step(name="choose-provider", effects=(conflict,)),))
            store = (_store(provider),)
        refusal = _Refusal(request, store)
        missing = self._missing(provider, request.view, installed)
        if missing is not None:
            return refusal.because(Reason.UNAVAILABLE_PROVIDER, ProviderUnavailable(provider, missing))
        problem = preflight.problem(graph, provider)
        if problem is not None:
            return refusal.until_edited(str(problem))
        return Selected(provider=provider, steps=store)

    def _choice(self, graph: DynamoGraphDeployment, view: View, installed: frozenset[str]) -> str:
        families = {provider for provider, kind in FAMILIES.items() if view.owned(kind, graph)}
        available = {provider for provider in installed if self._missing(provider, view, installed) is None}
        return selection.adopted(families) or selection.intended(graph.metadata.annotations, available)

    def _missing(self, provider: str, view: View, installed: frozenset[str]) -> str | None:
        """What a provider lacks to serve here, in words; `None` when it can."""
        capability = CAPABILITIES.get(provider)
        lacks = capability.lacks(view, self._config) if capability is not None else None
        return lacks or (None if provider in installed else "no installed program serves it")

    def definitions(self) -> tuple[JsonMap, ...]:
        """The CRDs of `nvidia.com`."""
        return crds.documents()

    def finalize(self, request: Request[DynamoGraphDeployment]) -> Result[GraphStatus]:
        """Automatic checkpoints go first. Everything else that a graph made goes with its owner references."""
        return cleaned_up(self._checkpoints, request)

    def transitions(self, old: GraphStatus | None, new: GraphStatus) -> tuple[Event, ...]:
        """A Warning when an ownership conflict appears."""
        before = old.conditions if old is not None else ()
        conflict = became_true(before, new.conditions, OWNERSHIP_CONFLICT)
        if conflict is None:
            return ()
        note = f"Refusing to reconcile a resource with conflicting controller ownership: {conflict.message}"
        return (Event(type="Warning", reason=OWNERSHIP_CONFLICT, note=note),)


class ProviderUnavailable(Exception):
    """The stored provider cannot serve here. There is no fallback: children of two providers would serve side by side."""

    def __init__(self, provider: str, missing: str) -> None:
        self.provider = provider
        super().__init__(f'workload provider "{provider}" of the graph is not available: {missing}')


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Results that end an attempt before its program; the choice is stored all the same."""

    request: Request[DynamoGraphDeployment]
    store: tuple[Step, ...] = ()

    def because(self, reason: str, error: Exception) -> Result[GraphStatus]:
        """Fails for good, with `reason` in the status."""
        refuse = Refuse(message=str(error), error=error, retry=Retry.NEVER)
        steps = (*self.store, Step(name="serve-provider", effects=(refuse,), reason=reason))
        return Result(steps=steps, status=self.failed_attempt)

    def until_edited(self, message: str) -> Result[GraphStatus]:
        """Shows the problem in the status; the attempt itself is no failure."""
        graph, now = self.request.object, self.request.now
        status = failed(graph.status, Reason.FAILED, message, generation=graph.metadata.generation, now=now)
        return Result(steps=self.store, status=status)

    def failed_attempt(self, report: Report) -> GraphStatus | None:
        graph, now = self.request.object, self.request.now
        return failed_attempt(graph.status, report, generation=graph.metadata.generation, now=now)


def _store(provider: str) -> Step:
    annotations = {Annotation.WORKLOAD_PROVIDER: provider}
    patch = PatchPrimary(patch=Patch.merge({"metadata": {"annotations": annotations}}))
    return Step(name=STORE_PROVIDER, effects=(patch,))
