"""Tells a story to the real controllers. The test is the kubelet that makes Pods ready, so that it sets the pace."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from data_plane.annotations import CRASH, READY_AFTER
from dynamo_ctrl.objects.patch import merge
from envtest.api import wait_for
from envtest.cluster import Cluster
from envtest.nodes import is_ready
from envtest.scenarios.catalogue import Story
from envtest.scenarios.observed import Rest, Seen, Told
from envtest.scenarios.teller import tell

QUIET: Final = 0.3
"""Seconds without any change of Deployment and ReplicaSets before they count as at rest."""

TIMEOUT: Final = 60.0
"""Seconds for everything to come to rest."""


class RealStage:
    """One Deployment in a namespace of a real cluster."""

    def __init__(self, cluster: Cluster, namespace: str, story: Story) -> None:
        self._api = cluster.api
        self._apps = f"/apis/apps/v1/namespaces/{namespace}"
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._start = self._api.get(f"{self._apps}/deployments")["metadata"]["resourceVersion"]
        content = {"metadata": {"name": "story"}, "spec": merge({}, _slow(story.spec))}
        self._api.create(f"{self._apps}/deployments", content)

    def change(self, patch: Any) -> None:
        """Merge `patch` into the Deployment."""
        self._api.merge(f"{self._apps}/deployments/story", {"spec": _slow(patch["spec"])})

    def ready(self) -> None:
        """Say of every running Pod that it is ready, as its kubelet would."""
        for pod in self._waiting():
            conditions = [{"type": name, "status": "True", "reason": None} for name in ("ContainersReady", "Ready")]
            containers = [{**each, "ready": True} for each in pod["status"]["containerStatuses"]]
            self._api.request(
                "PATCH",
                f"{self._pods}/{pod['metadata']['name']}/status",
                {"status": {"conditions": conditions, "containerStatuses": containers}},
                content_type="application/strategic-merge-patch+json",
            )

    def expire(self) -> None:
        """Wait until the Deployment says that its progress deadline has passed."""

        def expired() -> bool:
            conditions = self._api.get(f"{self._apps}/deployments/story")["status"]["conditions"]
            return any(condition["reason"] == "ProgressDeadlineExceeded" for condition in conditions)

        wait_for("the progress deadline", expired, timeout=TIMEOUT)

    def rest(self) -> Rest:
        """Wait until the numbers of Deployment, ReplicaSets and Pods agree, and have not moved for a while."""
        before: Any = None
        quiet_since = time.monotonic()

        def resting() -> Rest | None:
            nonlocal before, quiet_since
            deployment = self._api.get(f"{self._apps}/deployments/story")
            sets = self._api.get(f"{self._apps}/replicasets")["items"]
            now = [each["metadata"]["resourceVersion"] for each in (deployment, *sets)]
            if now != before or not _agree(deployment, sets, self._list_pods()):
                before, quiet_since = now, time.monotonic()
            return Rest.of(deployment, sets) if time.monotonic() - quiet_since >= QUIET else None

        return wait_for("rest", resting, timeout=TIMEOUT)

    @property
    def waits(self) -> bool:
        """Whether there are Pods that can become ready."""
        return bool(self._waiting())

    @property
    def statuses(self) -> list[Seen]:
        """Every status that was written, told by the server from its history."""
        events = self._api.watch(f"{self._apps}/deployments", resource_version=self._start, seconds=1)
        return [Seen.of(event["object"]) for event in events]

    def _list_pods(self) -> list[dict[str, Any]]:
        pods: list[dict[str, Any]] = self._api.get(self._pods)["items"]
        return pods

    def _waiting(self) -> list[dict[str, Any]]:
        return [
            pod
            for pod in self._list_pods()
            if _is_active(pod) and not is_ready(pod) and CRASH not in pod["metadata"].get("annotations", {})
        ]


def told_by(cluster: Cluster, namespace: str, story: Story) -> Told:
    """The story as the real controllers have it."""
    return tell(story, RealStage(cluster, namespace, story))


def _slow(spec: Mapping[str, Any]) -> Any:
    """The patch `spec`, but its Pods never become ready by themselves."""
    if "template" not in spec or spec["template"]["metadata"]["annotations"][READY_AFTER] is not None:
        return spec
    return merge(spec, {"template": {"metadata": {"annotations": {READY_AFTER: "24h"}}}})


def _is_active(pod: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" not in pod["metadata"]


def _agree(deployment: Mapping[str, Any], sets: list[dict[str, Any]], pods: list[dict[str, Any]]) -> bool:
    """Whether everybody has seen what the others did, and every Pod runs."""
    observed = all(
        each["status"].get("observedGeneration") == each["metadata"]["generation"] for each in (deployment, *sets)
    )
    sized = all(rs["status"].get("replicas", 0) == rs["spec"]["replicas"] for rs in sets)
    counted = all(
        sum(rs["status"].get(name, 0) for rs in sets) == deployment["status"].get(name, 0)
        for name in ("replicas", "readyReplicas", "availableReplicas")
    )
    alive = [pod for pod in pods if _is_active(pod)]
    running = all(pod["status"]["phase"] == "Running" for pod in alive)
    ready = sum(map(is_ready, alive)) == deployment["status"].get("readyReplicas", 0)
    return (
        observed
        and sized
        and counted
        and running
        and ready
        and len(alive) == sum(rs["spec"]["replicas"] for rs in sets)
    )
