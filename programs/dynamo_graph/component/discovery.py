"""What the Pods of a graph need to find each other through the API server: account, role, binding (P 5.5, 6.1, 6.2). Pure.

They are wanted as soon as one component registers with Kubernetes. Accounts that the author gives to components get the same
rights; Pods that run under those would find nobody without them.
"""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING
from dynamo_ctrl.objects.object import Object
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import discovery_account
from dynamo_graph.component.names import MAX_LABEL
from dynamo_graph.render.discovery import discovery
from dynamo_graph.render.errors import rendering
from dynamo_graph.render.inherit import inherited_annotations
from dynamo_graph.render.template import pod_spec

MANAGED: Final = "app.kubernetes.io/managed-by"
MANAGED_BY_OPERATOR: Final = f"{MANAGED}=dynamo-operator"
"""Label selector of every object of this module."""

_READ: Final = ["get", "list", "watch"]
RULES: Final = (
    {"apiGroups": [""], "resources": ["endpoints"], "verbs": _READ},
    {"apiGroups": [""], "resources": ["pods"], "verbs": _READ},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": _READ},
    {
        "apiGroups": ["nvidia.com"],
        "resources": ["dynamoworkermetadatas"],
        "verbs": ["create", "get", "list", "watch", "update", "patch", "delete"],
    },
)
"""What a runtime may do in its namespace. The operator must hold all of it, or the server refuses the role."""


def discovery_objects(graph: DynamoGraphDeployment, config: OperatorConfig) -> tuple[Object[Any, Any], ...]:
    """Account, role and binding of a graph; nothing if none of its components registers with Kubernetes.

    Raises:
        InvalidObject: a discovery annotation with a value that does not exist.
    """
    if not _registers(graph, config):
        return ()
    namespace, account = graph.metadata.namespace, discovery_account(graph.metadata.name)
    role = f"{account}-role"
    own = {pod_spec(component.pod_template).get("serviceAccountName") for component in graph.spec.components}
    accounts = [account, *sorted(name for name in own - {account} if name)]
    labels = {
        MANAGED: "dynamo-operator",
        "app.kubernetes.io/component": "rbac",
        "app.kubernetes.io/name": account[:MAX_LABEL].rstrip("-."),
    }
    metadata = {"namespace": namespace, "labels": labels}
    return (
        SERVICE_ACCOUNT.object({"metadata": {"name": account, **metadata}}),
        ROLE.object({"metadata": {"name": role, **metadata}, "rules": RULES}),
        ROLE_BINDING.object(
            {
                "metadata": {"name": f"{account}-binding", **metadata},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace} for name in accounts],
                "roleRef": {"apiGroup": ROLE.group, "kind": "Role", "name": role},
            }
        ),
    )


def _registers(graph: DynamoGraphDeployment, config: OperatorConfig) -> bool:
    found = False
    for index, component in enumerate(graph.spec.components):
        annotations = inherited_annotations(graph.spec, graph.metadata.annotations, component)
        with rendering(f"{graph.kind.kind} {graph.key}", f"spec.components[{index}]"):
            found |= discovery(annotations, config).on_kubernetes
    return found
