"""What the Pods of a graph need to find each other through the API server: account, role, binding (P 5.5, 6.1, 6.2)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT, ServiceAccount
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING, Role, RoleBinding
from dynamo_graph.api.component import Component
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import discovery_account
from dynamo_graph.render import template
from dynamo_graph.render.discovery import Discovery, discovery
from dynamo_graph.render.errors import rendering
from dynamo_graph.render.inherit import inherited_annotations

_READ: Final = ("get", "list", "watch")
RULES: Final = (
    {"apiGroups": [""], "resources": ["endpoints"], "verbs": list(_READ)},
    {"apiGroups": [""], "resources": ["pods"], "verbs": list(_READ)},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": list(_READ)},
    {
        "apiGroups": ["nvidia.com"],
        "resources": ["dynamoworkermetadatas"],
        "verbs": ["create", "get", "list", "watch", "update", "patch", "delete"],
    },
)
"""What a runtime may do in its namespace. The operator must hold all of it, or the server refuses the role."""


class DiscoveryObjects(NamedTuple):
    """The three objects of one graph."""

    account: ServiceAccount
    role: Role
    binding: RoleBinding


def discovery_wanted(graph: DynamoGraphDeployment, config: OperatorConfig) -> bool:
    """Whether any component finds others through the API server.

    Raises:
        InvalidObject: a discovery annotation with a value that does not exist.
    """
    return any(
        _discovery(graph, index, component, config).on_kubernetes
        for index, component in enumerate(graph.spec.components)
    )


def render_discovery(graph: DynamoGraphDeployment) -> DiscoveryObjects:
    """Account, role and binding of a graph. Accounts that the user gives to components are bound too."""
    name, namespace = graph.metadata.name, graph.metadata.namespace
    account = discovery_account(name)
    labels = {
        "app.kubernetes.io/managed-by": "dynamo-operator",
        "app.kubernetes.io/component": "rbac",
        "app.kubernetes.io/name": account,
    }
    custom = {template.pod_spec(c.pod_template).get("serviceAccountName") for c in graph.spec.components}
    accounts = [account, *sorted(name for name in custom if name and name != account)]
    role = f"{account}-role"

    def metadata(name: str) -> dict[str, Any]:
        return {"name": name, "namespace": namespace, "labels": labels}

    binding = {
        "metadata": metadata(f"{account}-binding"),
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace} for name in accounts],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
    }
    return DiscoveryObjects(
        SERVICE_ACCOUNT.object({"metadata": metadata(account)}),
        ROLE.object({"metadata": metadata(role), "rules": list(RULES)}),
        ROLE_BINDING.object(binding),
    )


def _discovery(graph: DynamoGraphDeployment, index: int, component: Component, config: OperatorConfig) -> Discovery:
    with rendering(f"{graph.kind.kind} {graph.key}", f"spec.components[{index}]"):
        return discovery(inherited_annotations(graph.spec, graph.metadata.annotations, component), config)
