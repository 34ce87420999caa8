"""The rbac group: roles and their bindings, read as JSON."""

from __future__ import annotations

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class Role(Object[None, None]):
    """rbac/v1 Role."""


class RoleBinding(Object[None, None]):
    """rbac/v1 RoleBinding."""


class ClusterRole(Object[None, None]):
    """rbac/v1 ClusterRole."""


class ClusterRoleBinding(Object[None, None]):
    """rbac/v1 ClusterRoleBinding."""


_GROUP = "rbac.authorization.k8s.io"
ROLE = Kind(Role, group=_GROUP, version="v1", kind="Role", plural="roles", status_subresource=False)
ROLE_BINDING = Kind(
    RoleBinding, group=_GROUP, version="v1", kind="RoleBinding", plural="rolebindings", status_subresource=False
)
CLUSTER_ROLE = Kind(
    ClusterRole, group=_GROUP, version="v1", kind="ClusterRole", plural="clusterroles", namespaced=False,
    status_subresource=False,
)  # fmt: skip
CLUSTER_ROLE_BINDING = Kind(
    ClusterRoleBinding, group=_GROUP, version="v1", kind="ClusterRoleBinding", plural="clusterrolebindings",
    namespaced=False, status_subresource=False,
)  # fmt: skip
