"""What the Pods of a graph need to find each other through the API server: account, role, binding (P 5.5, 6.1, 6.2). Pure.

They are wanted as soon as one component registers with Kubernetes. Accounts that the author gives to components get the same
rights; Pods that run under those would find nobody without them.
"""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Sync
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import discovery_account
from dynamo_graph.bookkeeping import POLICY
from dynamo_graph.component.needs import Needs
from dynamo_graph.component.rbac_labels import rbac_labels
from dynamo_graph.render.discovery import discovery
from dynamo_graph.render.errors import rendering
from dynamo_graph.render.inherit import inherited_annotations
from dynamo_graph.render.template import pod_spec

FAILED: Final = "failed to reconcile K8s discovery resources: "

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


def discovery_steps(needs: Needs) -> tuple[Step, ...]:
    """The objects that `needs.graph` wants for discovery exist. Raises `InvalidObject` as `discovery_objects`."""
    wanted = discovery_objects(needs.graph, needs.config)
    effects = tuple(Sync(child=child, policy=POLICY) for child in wanted)
    return (Step(name="discovery", effects=effects, prefix=FAILED),) if effects else ()


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
    metadata = {"namespace": namespace, "labels": rbac_labels(account)}
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
