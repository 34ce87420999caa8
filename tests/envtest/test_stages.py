"""kwok plays the kubelet's part as the annotations on a Pod ask."""

from __future__ import annotations

import time
from typing import Any

from envtest import ApiError, Cluster
from envtest.api import wait_for
from envtest.nodes import is_ready

PREFIX = "data-plane.dynamo-ctrl.io/"


def start(
    cluster: Cluster, namespace: str, name: str = "p", spec: dict[str, Any] | None = None, **annotations: str
) -> str:
    path = f"/api/v1/namespaces/{namespace}/pods"
    container = {"name": "main", "image": "example.com/app:1"}
    keys = {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
    body = {"metadata": {"name": name, "annotations": keys}, "spec": {"containers": [container], **(spec or {})}}
    cluster.api.create(path, body)
    return f"{path}/{name}"


def container_status(cluster: Cluster, path: str) -> dict[str, Any]:
    statuses: list[dict[str, Any]] = cluster.api.get(path)["status"].get("containerStatuses") or [{}]
    return statuses[0]


def test_a_pod_is_scheduled_runs_and_becomes_ready(cluster: Cluster, namespace: str) -> None:
    path = start(cluster, namespace, spec={"initContainers": [{"name": "init", "image": "example.com/init:1"}]})
    wait_for("ready", lambda: is_ready(cluster.api.get(path)), timeout=20)
    pod = cluster.api.get(path)
    assert pod["spec"]["nodeName"].startswith("node-")
    assert pod["status"]["phase"] == "Running"
    assert pod["status"]["podIP"].startswith("10.244.")
    assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"


def test_ready_after_delays_readiness(cluster: Cluster, namespace: str) -> None:
    path = start(cluster, namespace, ready_after="1h")
    wait_for("running", lambda: container_status(cluster, path).get("state", {}).get("running"), timeout=20)
    assert not is_ready(cluster.api.get(path))


def test_a_crashing_container_counts_its_restarts(cluster: Cluster, namespace: str) -> None:
    path = start(cluster, namespace, crash="true")
    wait_for("two restarts", lambda: container_status(cluster, path).get("restartCount", 0) >= 2, timeout=20)
    assert container_status(cluster, path)["lastState"]["terminated"]["exitCode"] == 1
    assert not is_ready(cluster.api.get(path))


def test_a_crashing_container_can_be_told_how_fast_and_how_often_it_starts_again(
    cluster: Cluster, namespace: str
) -> None:
    path = start(cluster, namespace, crash="true", restart_after="200ms", restarts="3")

    def down() -> bool:
        status = container_status(cluster, path)
        return status.get("restartCount") == 3 and "waiting" in status["state"]

    wait_for("three restarts", down, timeout=20)
    time.sleep(2)
    assert down()


def test_an_image_that_cannot_be_pulled_keeps_the_pod_pending(cluster: Cluster, namespace: str) -> None:
    path = start(cluster, namespace, image_error="true")
    waiting = wait_for("waiting", lambda: container_status(cluster, path).get("state", {}).get("waiting"), timeout=20)
    assert waiting["reason"] == "ImagePullBackOff"
    assert cluster.api.get(path)["status"]["phase"] == "Pending"


def test_a_missing_claim_keeps_the_pod_unscheduled(cluster: Cluster, namespace: str) -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "absent"}}
    path = start(cluster, namespace, spec={"volumes": [volume]})

    def unschedulable() -> str | None:
        conditions = cluster.api.get(path)["status"].get("conditions") or []
        return next((c["message"] for c in conditions if c["reason"] == "Unschedulable"), None)

    assert 'persistentvolumeclaim "absent" not found' in wait_for("unschedulable", unschedulable, timeout=20)


def test_a_deleted_pod_terminates_for_as_long_as_it_asks(cluster: Cluster, namespace: str) -> None:
    path = start(cluster, namespace, gone_after="1h")
    wait_for("ready", lambda: is_ready(cluster.api.get(path)), timeout=20)
    cluster.api.delete(path)
    assert cluster.api.get(path)["metadata"]["deletionTimestamp"]

    other = start(cluster, namespace, name="other")
    wait_for("ready", lambda: is_ready(cluster.api.get(other)), timeout=20)
    cluster.api.delete(other)

    def gone() -> bool:
        try:
            cluster.api.get(other)
        except ApiError as error:
            return error.code == 404
        return False

    wait_for("the end", gone, timeout=20)


def test_the_pod_of_a_job_completes(cluster: Cluster, namespace: str) -> None:
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    template = {"spec": {"containers": [{"name": "main", "image": "example.com/app:1"}], "restartPolicy": "Never"}}
    cluster.api.create(path, {"metadata": {"name": "j"}, "spec": {"template": template}})
    wait_for("success", lambda: cluster.api.get(f"{path}/j")["status"].get("succeeded"), timeout=20)
