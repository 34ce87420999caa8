"""Two replicas of the installed manager on one Lease: one works, the other is ready to, and follows at once on a clean stop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envtest import Cluster
from envtest.api import wait_for
from envtest.graphs import graph
from envtest.manager import ManagerProcess

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager


def leads(manager: ManagerProcess) -> bool:
    status, body = manager.get("/metrics")
    assert status == 200
    found = re.search(r'^leader_election_master_status\{name="dynamo-manager"\} (\S+)$', body, re.MULTILINE)
    assert found is not None
    return float(found[1]) == 1


def reconciles(manager: ManagerProcess) -> float:
    found = re.findall(r"^controller_runtime_reconcile_total\{.*\} (\S+)$", manager.get("/metrics")[1], re.MULTILINE)
    return sum(map(float, found))


def test_the_second_replica_is_ready_works_not_and_takes_over(
    cluster: Cluster, place: Place, start_manager: StartManager
) -> None:
    flags = ("--leader-elect", "--leader-elect-namespace", place.namespace)
    first = start_manager(*flags, kubeconfig=cluster.kubeconfig)
    wait_for("the first replica to lead", lambda: leads(first), timeout=30)
    second = start_manager(*flags, kubeconfig=cluster.kubeconfig)
    place.apply(graph(place.namespace))
    place.wait_ready()
    assert (leads(second), reconciles(second)) == (False, 0)
    assert first.stop() == 0
    wait_for("the second replica to lead", lambda: leads(second), timeout=30)
    wait_for("the second replica to work", lambda: reconciles(second) > 0, timeout=30)
    assert second.stop() == 0
    lease = place.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{place.namespace}/leases/dynamo-manager")
    assert lease["spec"].get("holderIdentity", "") == ""
    assert lease["spec"]["leaseTransitions"] == 1
