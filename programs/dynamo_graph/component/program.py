"""The program of the provider `component` (G 3.1)."""

from __future__ import annotations

from typing import Literal

from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.mapper import by_label
from dynamo_ctrl.controller.predicate import any_of, deleted, spec_or_deletion_changed, updated
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SECRET, SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_graph.api import config_file, crds
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.api.graph_status import GraphStatus
from dynamo_graph.api.names import Label
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER
from dynamo_graph.capabilities import GROUPS, MESH, required
from dynamo_graph.component.attempt import Attempt
from dynamo_graph.component.checkpoints import Checkpoints, NoCheckpoints
from dynamo_graph.component.cluster_accounts import graphs_of
from dynamo_graph.component.drain import drain_changed
from dynamo_graph.component.needs import MakeKeys
from dynamo_graph.component.rbac_labels import MANAGED_BY_OPERATOR
from dynamo_graph.component.rsa_keys import RsaKeys
from dynamo_graph.component_deployment.surroundings import registries_only
from dynamo_graph.contested import GRAPHS, freed, graphs_in_conflict
from dynamo_graph.graph.selection import COMPONENT
from dynamo_graph.namespaces import heard
from dynamo_graph.orchestrators import LEADER_WORKER_SET, identity_only
from dynamo_graph.pods.indexes import BY_COMPONENT
from dynamo_graph.pods.projection import slim_pod
from dynamo_graph.traffic import DESTINATION_RULE, INFERENCE_POOL

_lost = any_of(updated, deleted)


class ComponentProgram:
    """Turns every component of a graph into one component deployment."""

    name = "dynamo-graph-component"
    provider = COMPONENT
    settles: Literal[True] = True
    watches: Watches[DynamoGraphDeployment] = (
        watching(DYNAMO_GRAPH_DEPLOYMENT, when=spec_or_deletion_changed)
        .owning(DYNAMO_COMPONENT_DEPLOYMENT)
        .mapping(DYNAMO_COMPONENT_DEPLOYMENT, graphs_in_conflict, when=freed, mends=True)
        .mapping(SERVICE_ACCOUNT, graphs_of, when=_lost, label_selector=MANAGED_BY_OPERATOR)
        .owning(ROLE, when=_lost, label_selector=MANAGED_BY_OPERATOR)
        .mapping(ROLE_BINDING, graphs_of, when=_lost, label_selector=MANAGED_BY_OPERATOR)
        .owning(CONFIG_MAP, when=_lost, label_selector=Label.GRAPH)
        .owning(INFERENCE_POOL, when=_lost, label_selector=Label.GRAPH, optional=True)
        .owning(DESTINATION_RULE, when=_lost, optional=True)
        .owning(DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER, when=deleted)
        .mapping(POD, by_label(Label.GRAPH), when=drain_changed, label_selector=Label.SELECTOR, project=slim_pod)
        .reading(SECRET, project=registries_only)
        .reading(LEADER_WORKER_SET, project=identity_only, optional=True)
        .indexing(BY_COMPONENT, GRAPHS)
    )

    def __init__(
        self,
        config: OperatorConfig | None = None,
        *,
        make_keys: MakeKeys | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self._config = config or OperatorConfig()
        self._make_keys = make_keys or RsaKeys()
        self._checkpoints = checkpoints or NoCheckpoints()
        self.watches = heard(required(type(self).watches, self._config, GROUPS, MESH), self._config)

    def configured(self, document: JsonMap) -> ComponentProgram:
        """The program under the operator configuration `document` (P 7). Raises `InvalidObject`."""
        config = config_file.of(document)
        return ComponentProgram(config, make_keys=self._make_keys, checkpoints=self._checkpoints)

    def definitions(self) -> tuple[JsonMap, ...]:
        """The CRDs of `nvidia.com`."""
        return crds.documents()

    def reconcile(self, request: Request[DynamoGraphDeployment]) -> Result[GraphStatus]:
        """One attempt."""
        attempt = Attempt(request, self._config, make_keys=self._make_keys, checkpoints=self._checkpoints)
        return Result(
            steps=attempt.steps, status=attempt.status, requeue_after=attempt.again, transitions=attempt.transitions
        )
