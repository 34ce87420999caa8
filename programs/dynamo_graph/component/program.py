"""The program of the provider `component` (G 3.1)."""

from __future__ import annotations

from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.predicate import any_of, deleted, spec_or_deletion_changed, updated
from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_graph.api import config_file, crds
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.api.graph_status import GraphStatus
from dynamo_graph.component.attempt import Attempt
from dynamo_graph.component.discovery import MANAGED_BY_OPERATOR
from dynamo_graph.graph.selection import COMPONENT

_lost = any_of(updated, deleted)


class ComponentProgram:
    """Turns every component of a graph into one component deployment."""

    name = "dynamo-graph-component"
    provider = COMPONENT
    watches: Watches[DynamoGraphDeployment] = (
        watching(DYNAMO_GRAPH_DEPLOYMENT, when=spec_or_deletion_changed)
        .owning(DYNAMO_COMPONENT_DEPLOYMENT)
        .owning(SERVICE_ACCOUNT, when=_lost, label_selector=MANAGED_BY_OPERATOR)
        .owning(ROLE, when=_lost, label_selector=MANAGED_BY_OPERATOR)
        .owning(ROLE_BINDING, when=_lost, label_selector=MANAGED_BY_OPERATOR)
    )

    def __init__(self, config: OperatorConfig | None = None) -> None:
        self._config = config or OperatorConfig()

    def configured(self, document: JsonMap) -> ComponentProgram:
        """The program under the operator configuration `document` (P 7). Raises `InvalidObject`."""
        return ComponentProgram(config_file.of(document))

    def definitions(self) -> tuple[JsonMap, ...]:
        """The CRDs of `nvidia.com`."""
        return crds.documents()

    def reconcile(self, request: Request[DynamoGraphDeployment]) -> Result[GraphStatus]:
        """One attempt."""
        attempt = Attempt(request, self._config)
        return Result(steps=attempt.steps, status=attempt.status)
