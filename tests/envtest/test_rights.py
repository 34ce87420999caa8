"""Which rights were used, and how they become the rules of a role."""

from __future__ import annotations

from typing import Any

from envtest.audit import Request
from envtest.rights.right import Right, apart, granted, used
from envtest.rights.role import rules, text


def request(
    verb: str,
    resource: str,
    group: str = "",
    *,
    code: int = 200,
    subresource: str = "",
    namespace: str = "ns",
    **answered: Any,
) -> Request:
    return Request(
        user="u", verb=verb, group=group, resource=resource, subresource=subresource, namespace=namespace, name="n", code=code,
        sent={}, answered=answered,
    )  # fmt: skip


def test_a_right_is_used_by_a_request_that_was_carried_out() -> None:
    requests = [
        request("list", "pods"),
        request("patch", "deployments", "apps", subresource="status"),
        request("delete", "pods", code=403),
        request("get", "pods", code=404),
        request("get", ""),
    ]
    assert used(requests) == {Right("", "pods", "list"), Right("apps", "deployments/status", "patch")}


def test_rights_that_are_handed_on_are_used() -> None:
    rule = {"apiGroups": [""], "resources": ["endpoints"], "verbs": ["get", "watch"]}
    made = request("create", "roles", "rbac.authorization.k8s.io", code=201, rules=[rule])
    expected = {Right("", "endpoints", "get"), Right("", "endpoints", "watch")}
    assert used([made]) == {*expected, Right("rbac.authorization.k8s.io", "roles", "create")}


def test_an_owner_that_has_to_wait_needs_the_right_to_its_finalizers() -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Widget"}
    seen = request("patch", "widgets", "example.com", apiVersion="example.com/v1", kind="Widget")
    child = request("create", "pods", code=201, metadata={"ownerReferences": [{**owner, "blockOwnerDeletion": True}]})
    free = request("create", "pods", code=201, metadata={"ownerReferences": [owner]})
    right = Right("example.com", "widgets/finalizers", "update")
    assert right in used([seen, child])
    assert right not in used([seen, free])


def test_resources_that_share_their_verbs_share_a_rule_and_nothing_is_lost() -> None:
    rights = {
        Right("apps", "deployments", "watch"),
        Right("apps", "deployments", "list"),
        Right("apps", "replicasets", "list"),
        Right("apps", "replicasets", "watch"),
        Right("", "pods", "create"),
        Right("apps", "deployments/scale", "patch"),
    }
    found = rules(rights)
    assert found == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
        {"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": ["list", "watch"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["patch"]},
    ]
    assert granted(found) == rights
    assert text(rights, rights) == text(sorted(rights, reverse=True), sorted(rights, reverse=True))


def test_what_is_touched_only_at_home_is_a_right_there() -> None:
    requests = [
        request("update", "leases", "coordination.k8s.io", namespace="home"),
        request("get", "secrets", namespace="home"),
        request("list", "secrets", namespace=""),
        request("create", "events", "events.k8s.io", namespace="home"),
        request("patch", "events", "events.k8s.io", namespace="ns"),
    ]
    everywhere, at_home = apart(requests, "home")
    assert at_home == {Right("coordination.k8s.io", "leases", "update")}
    assert everywhere == used(requests) - at_home
