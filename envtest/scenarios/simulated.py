"""Tells a story to the simulated data plane, on a clock that is turned by hand."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

from data_plane.annotations import CRASH
from data_plane.claim import ClaimProgram
from data_plane.deployment import DeploymentProgram
from data_plane.pod import PodOptions, PodProgram
from data_plane.replica_set import ReplicaSetProgram
from dynamo_ctrl.engine.port import WatchOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import PERSISTENT_VOLUME_CLAIM, POD
from dynamo_ctrl.objects.patch import merge
from dynamo_ctrl.testing.fake_cache import FakeCache
from envtest.scenarios.catalogue import DEADLINE, Story
from envtest.scenarios.observed import Rest, Seen, Told
from envtest.scenarios.teller import tell

WAVE: Final = timedelta(seconds=1)
"""How long Pods take to become ready."""

PASSES: Final = 100
"""Passes until everything must be at rest."""


class Simulation:
    """One Deployment in a world of its own."""

    def __init__(self, story: Story) -> None:
        content = {"metadata": {"name": "story", "namespace": "stories"}, "spec": merge({}, story.spec)}
        self._cache = FakeCache()
        self._cache.add(DEPLOYMENT.object(content))
        self._feed = self._cache.core.watch(DEPLOYMENT, WatchOptions(timeout=1e9, bookmarks=False))
        self._statuses: list[Seen] = []
        self._programs = (
            (DEPLOYMENT, DeploymentProgram()),
            (REPLICA_SET, ReplicaSetProgram()),
            (POD, PodProgram(PodOptions(ready_after=WAVE, gone_after=timedelta(0)))),
            (PERSISTENT_VOLUME_CLAIM, ClaimProgram()),
        )

    def change(self, patch: Any) -> None:
        """Merge `patch` into the Deployment."""
        self._cache.edit(DEPLOYMENT, "stories/story", patch)

    def ready(self) -> None:
        """Let the time pass that Pods need."""
        self._cache.advance(WAVE.total_seconds())

    def expire(self) -> None:
        """Let the progress deadline pass."""
        self._cache.advance(DEADLINE + 2)

    def rest(self) -> Rest:
        """Run every program for every object until a whole pass writes nothing."""
        for _ in range(PASSES):
            before = len(self._cache.writes)
            for kind, program in self._programs:
                for obj in self._cache.list(kind):
                    answer = self._cache.reconcile(program, obj.key)
                    if answer.error is not None:
                        raise answer.error
            if len(self._cache.writes) == before:
                break
        else:
            raise AssertionError(f"still no rest after {PASSES} passes")
        self._statuses += [Seen.of(json.loads(event.object)) for event in self._feed.take()]
        deployment = self._cache.get(DEPLOYMENT, "stories/story")
        assert deployment is not None, "nobody deletes it"
        return Rest.of(deployment.content(), [rs.content() for rs in self._cache.list(REPLICA_SET)])

    @property
    def waits(self) -> bool:
        """Whether a Pod will become ready."""
        pods = self._cache.list(POD)
        return any(
            not (condition := pod.status.condition("Ready")) or condition.status != "True"
            for pod in pods
            if CRASH not in pod.metadata.annotations
        )

    @property
    def statuses(self) -> list[Seen]:
        """Every status that was written."""
        return self._statuses


def simulated(story: Story) -> Told:
    """The story as the simulated data plane has it."""
    return tell(story, Simulation(story))
