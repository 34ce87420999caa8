"""A small world in which the whole data plane runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from data_plane.claim import ClaimProgram
from data_plane.deployment import DeploymentProgram
from data_plane.pod import PodOptions, PodProgram
from data_plane.replica_set import ReplicaSetProgram
from dynamo_ctrl.controller.answer import Answer
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET, Deployment, ReplicaSet
from dynamo_ctrl.objects.builtin.core import PERSISTENT_VOLUME_CLAIM, POD, Pod
from dynamo_ctrl.testing.fake_cache import FakeCache

LABELS = {"app": "web"}


class World:
    """One namespace `ns`, its objects, and a clock that stands still until it is told to move."""

    def __init__(self) -> None:
        self.cache = FakeCache()
        self.programs: dict[Any, Any] = {
            DEPLOYMENT: DeploymentProgram(),
            REPLICA_SET: ReplicaSetProgram(),
            POD: PodProgram(PodOptions(ready_after=timedelta(seconds=2), gone_after=timedelta(seconds=3))),
            PERSISTENT_VOLUME_CLAIM: ClaimProgram(),
        }

    def template(self, image: str = "1", annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
        """A pod template."""
        container = {"name": "main", "image": f"example.com/web:{image}"}
        metadata = {"labels": LABELS, "annotations": dict(annotations or {})}
        return {"metadata": metadata, "spec": {"containers": [container], **spec}}

    def deploy(self, replicas: int = 3, *, template: Any = None, annotations: Any = None, **spec: Any) -> None:
        """Create the Deployment `web`."""
        whole = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template or self.template()}
        metadata = {"name": "web", "namespace": "ns", "annotations": annotations or {}}
        self.cache.add(DEPLOYMENT.object({"metadata": metadata, "spec": {**whole, **spec}}))

    def edit(self, **spec: Any) -> None:
        """Merge `spec` into that of the Deployment."""
        self.cache.edit(DEPLOYMENT, "ns/web", {"spec": spec})

    def run(self, pod: Pod) -> Pod:
        """Create a Pod of its own."""
        return self.cache.add(pod)

    def bare_pod(self, name: str = "pod", annotations: Mapping[str, str] | None = None, **spec: Any) -> Pod:
        """Create a Pod without an owner."""
        template = self.template(annotations=annotations, **spec)
        template["metadata"] |= {"name": name, "namespace": "ns"}
        return self.cache.add(POD.object(template))

    def settle(self, *, failing: bool = False) -> list[Answer]:
        """Run everything until nothing is written any more at this moment; the answers of the last pass."""
        for _ in range(100):
            before = len(self.cache.writes)
            answers = [
                self.cache.reconcile(program, obj.key)
                for kind, program in self.programs.items()
                for obj in self.cache.list(kind)
            ]
            if len(self.cache.writes) == before:
                errors = [answer.error for answer in answers if answer.error is not None]
                assert bool(errors) is failing, errors
                return answers
        raise AssertionError("no rest after 100 passes")

    def pass_time(self, seconds: float) -> None:
        """Move the clock, and settle."""
        self.cache.advance(seconds)
        self.settle()

    @property
    def deployment(self) -> Deployment:
        """The Deployment."""
        found = self.cache.get(DEPLOYMENT, "ns/web")
        assert found is not None
        return found

    @property
    def sets(self) -> list[ReplicaSet]:
        """The ReplicaSets, by revision."""
        revision = "deployment.kubernetes.io/revision"
        return sorted(self.cache.list(REPLICA_SET), key=lambda rs: int(rs.metadata.annotations[revision]))

    @property
    def pods(self) -> list[Pod]:
        """The Pods, in the order of their names."""
        return list(self.cache.list(POD))

    def pod(self, name: str = "pod") -> Pod:
        """That Pod."""
        found = self.cache.get(POD, f"ns/{name}")
        assert found is not None
        return found


@pytest.fixture
def world() -> World:
    """An empty world."""
    return World()
