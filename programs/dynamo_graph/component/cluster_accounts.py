"""Accounts of planners and endpoint pickers, bound to the cluster roles of the installation (P 6.1, 6.3). Pure.

They belong to a namespace, not to a graph: an operator of the whole cluster keeps them where there are graphs, and they end with
their namespace. A restricted operator finds them installed. An account is never changed once it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.mapper import Mapper, to_controller
from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import CLUSTER_ROLE, ROLE_BINDING
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Create, Delete, Effect, Patch, Refuse, Retry
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.config import Rbac
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from dynamo_graph.api.names import Account
from dynamo_graph.api.predicates import has_endpoint_picker
from dynamo_graph.component.needs import Needs
from dynamo_graph.component.rbac_labels import rbac_labels

FAILED: Final = "failed to ensure planner RBAC: "


@dataclass(frozen=True, slots=True)
class ClusterAccount:
    """An account of every namespace, and the cluster role that it is bound to.

    Attributes:
        name: of the account.
        role: what the configuration calls the cluster role.
        missing: what is said when it does not.
        failed: what precedes the text of an error.
    """

    name: str
    role: Callable[[Rbac], str]
    missing: str
    failed: str

    @property
    def binding(self) -> str:
        """The name of the binding."""
        return f"{self.name}-binding"


PLANNER: Final = ClusterAccount(
    Account.PLANNER,
    lambda rbac: rbac.planner_cluster_role_name,
    "planner ClusterRole name is required in cluster-wide mode",
    FAILED,
)
PICKER: Final = ClusterAccount(
    Account.EPP,
    lambda rbac: rbac.epp_cluster_role_name,
    "EPP ClusterRole name is required in cluster-wide mode when EPP service is present",
    "failed to ensure EPP RBAC: ",
)
NAMES: Final = frozenset(name for each in (PLANNER, PICKER) for name in (each.name, each.binding))
"""The names of all accounts and bindings."""


def account_steps(needs: Needs) -> Iterator[Step]:
    """The accounts that a graph relies on, each with its binding."""
    if not needs.config.cluster_wide:
        return
    yield from _steps(PLANNER, needs)
    if has_endpoint_picker(needs.graph.spec.components):
        yield from _steps(PICKER, needs)


def graphs_of(obj: Object[Any, Any], view: View) -> Iterable[Key]:
    """Mapper: the graph that controls an account, a role or a binding; all graphs of the namespace that rely on it."""
    if obj.metadata.controller is None and obj.metadata.name in NAMES:
        return [graph.key for graph in view.list(DYNAMO_GRAPH_DEPLOYMENT, namespace=obj.metadata.namespace)]
    return _to_graph(obj, view)


_to_graph: Final[Mapper[Any]] = to_controller(DYNAMO_GRAPH_DEPLOYMENT)


def _steps(account: ClusterAccount, needs: Needs) -> Iterator[Step]:
    role = account.role(needs.config.rbac)
    if not role:
        refuse = Refuse(message=account.missing, retry=Retry.NEVER)
        yield Step(name=account.name, effects=(refuse,), prefix=account.failed)
        return
    namespace, labels = needs.graph.metadata.namespace, rbac_labels(account.name)
    metadata = {"name": account.name, "namespace": namespace, "labels": labels}
    keep = Create(object=SERVICE_ACCOUNT.object({"metadata": metadata}), owned=False)
    first, *rest = _binding(account, role, namespace, needs.view)
    yield Step(name=account.name, effects=(keep, first), prefix=account.failed)
    for effect in rest:
        yield Step(name=f"{account.binding}-again", effects=(effect,), prefix=account.failed)


def _binding(account: ClusterAccount, role: str, namespace: str, view: View) -> tuple[Effect, ...]:
    """What brings the binding about, one effect after the other. The role of a binding cannot be changed: it is made anew."""
    reference = {"apiGroup": CLUSTER_ROLE.group, "kind": CLUSTER_ROLE.kind, "name": role}
    subjects = [{"kind": SERVICE_ACCOUNT.kind, "name": account.name, "namespace": namespace}]
    metadata = {"name": account.binding, "namespace": namespace, "labels": rbac_labels(account.name)}
    content = {"metadata": metadata, "subjects": subjects, "roleRef": reference}
    create = Create(object=ROLE_BINDING.object(content), owned=False)
    live = view.get(ROLE_BINDING, Key(namespace, account.binding))
    if live is None:
        return (create,)
    if live.content().get("roleRef") != reference:
        return (Delete(target=live, owned=False), create)
    return (Patch(target=live, patch=Change.merge({"subjects": subjects})),)
