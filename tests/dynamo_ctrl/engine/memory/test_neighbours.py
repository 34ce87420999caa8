"""Services, claims and what else stands beside workloads: defaults, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.memory.kinds import cluster
from dynamo_ctrl.engine.memory.served import Strategy

Tree = dict[str, Any]
UID = {"uid": "00000000-0000-0000-0000-00000a0b0c0d"}


def refused(strategy: Strategy, new: Tree, old: Tree | None = None) -> list[str]:
    return [error.field for error in strategy.validate(new, old)]


def admitted(strategy: Strategy, tree: Tree) -> Tree:
    strategy.admit(tree)
    return tree


def test_a_service_gets_defaults_and_an_address_that_follows_from_its_uid() -> None:
    service = admitted(cluster.SERVICE, {"metadata": UID, "spec": {"ports": [{"port": 80}]}})
    assert service["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    cluster.SERVICE.create(service)
    assert service["spec"]["clusterIP"] == "10.107.12.13"
    assert service["spec"]["clusterIPs"] == ["10.107.12.13"]
    assert refused(cluster.SERVICE, service) == []
    external = admitted(cluster.SERVICE, {"metadata": UID, "spec": {"type": "ExternalName"}})
    cluster.SERVICE.create(external)
    assert "clusterIP" not in external["spec"]


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"type": "ClusterIP"}, ["spec.ports"]),
        ({"type": "ClusterIP", "clusterIP": "None"}, []),
        ({"type": "ExternalName"}, []),
        ({"type": "ClusterIP", "ports": [{"port": 1}, {"port": 2, "name": "b"}]}, ["spec.ports[0].name"]),
        ({"type": "ClusterIP", "ports": [{"port": 70000}]}, ["spec.ports[0].port"]),
        ({"type": "ClusterIP", "ports": [{"port": "http"}]}, ["spec.ports[0].port"]),
        ({"type": "ClusterIP", "ports": [{}]}, ["spec.ports[0].port"]),
    ],
)
def test_a_service_that_is_refused(spec: Tree, fields: list[str]) -> None:
    assert refused(cluster.SERVICE, {"spec": spec}) == fields


def test_a_service_keeps_its_address() -> None:
    old = {"spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ports": [{"port": 1}]}}
    new: Tree = {"spec": {"type": "ClusterIP", "ports": [{"port": 2}]}}
    cluster.SERVICE.update(new, old)
    assert new["spec"]["clusterIPs"] == ["10.96.0.1"]
    assert refused(cluster.SERVICE, new, old) == []
    moved = {"spec": {**new["spec"], "clusterIP": "10.96.0.2"}}
    assert refused(cluster.SERVICE, moved, old) == ["spec.clusterIPs[0]"]


CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def test_a_claim_asks_for_a_way_and_a_size_and_may_only_grow() -> None:
    assert admitted(cluster.CLAIM, {})["status"] == {"phase": "Pending"}
    assert refused(cluster.CLAIM, CLAIM) == []
    assert refused(cluster.CLAIM, {"spec": {}}) == ["spec.accessModes", "spec.resources[storage]"]
    bigger = {"spec": {**CLAIM["spec"], "resources": {"requests": {"storage": "2Gi"}}, "volumeName": "v"}}
    assert refused(cluster.CLAIM, bigger, CLAIM) == []
    assert refused(cluster.CLAIM, {"spec": {**CLAIM["spec"], "storageClassName": "fast"}}, CLAIM) == ["spec"]


@pytest.mark.parametrize(
    ("strategy", "sent", "kept"),
    [
        (
            cluster.AUTOSCALER,
            {},
            {"spec": {"minReplicas": 1}, "status": {"desiredReplicas": 0, "currentMetrics": None}},
        ),
        (cluster.DISRUPTION_BUDGET, {}, {"status": {"disruptionsAllowed": 0, "expectedPods": 0}}),
        (cluster.INGRESS, {}, {"status": {"loadBalancer": {}}}),
        (cluster.NETWORK_POLICY, {"spec": {"egress": [{}]}}, {"spec": {"policyTypes": ["Ingress", "Egress"]}}),
        (cluster.NETWORK_POLICY, {"spec": {}}, {"spec": {"policyTypes": ["Ingress"]}}),
        (cluster.ENDPOINT_SLICE, {"ports": []}, {"endpoints": None, "ports": None}),
        (cluster.STORAGE_CLASS, {}, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
        (cluster.PRIORITY_CLASS, {}, {"preemptionPolicy": "PreemptLowerPriority"}),
        (cluster.CORE_EVENT, {}, {"source": {}, "firstTimestamp": None, "eventTime": None}),
        (cluster.EVENT, {}, {"deprecatedSource": {}, "deprecatedLastTimestamp": None, "eventTime": None}),
        (cluster.QUOTA, {}, {"status": {}}),
    ],
)
def test_defaults(strategy: Strategy, sent: Tree, kept: Tree) -> None:
    tree = admitted(strategy, sent)
    for field, value in kept.items():
        found = tree[field]
        assert (
            {name: found.get(name) for name in value} if isinstance(value, dict) and field != "source" else found
        ) == value
