"""A graph with its Pods: the programs of the pathway and the data plane over one fake cluster, one attempt at a time.

Every change of a worker's deployments and Pods is looked at, one watch event after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from data_plane.deployment import DeploymentProgram
from data_plane.pod import PodOptions, PodProgram
from data_plane.replica_set import ReplicaSetProgram
from dynamo_ctrl.engine.port import WatchOptions
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.definition import Definition, definitions
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.testing import GraphWorld

SWEEPS = 400
"""Passes over everything, at most, until nothing changes any more."""

COMPONENT = "nvidia.com/dynamo-component"


class Watcher:
    """What a client sees that watches deployments and Pods: after each event, what runs and what is asked for.

    Attributes:
        seen: component to (asked for, available), one entry for each change of either.
    """

    def __init__(self, world: GraphWorld) -> None:
        core = world.cache.core
        for kind in (DCD, POD):
            core.register(kind)
        options = WatchOptions(bookmarks=False, timeout=10**9)
        self._feeds = {kind: core.watch(kind, options) for kind in (DCD, POD)}
        self._objects: dict[tuple[str, str], Any] = {}
        self.seen: dict[str, list[tuple[int, int]]] = {}

    def look(self) -> None:
        """Take in what happened since the last look."""
        events = [
            (kind.decode(event.object), event.type) for kind, feed in self._feeds.items() for event in feed.take()
        ]
        for obj, type_ in sorted(events, key=lambda pair: int(pair[0].metadata.resource_version)):
            at = (obj.kind.kind, obj.metadata.name)
            if type_ == "DELETED":
                self._objects.pop(at, None)
            else:
                self._objects[at] = obj
            component = obj.metadata.labels.get(COMPONENT)
            if component is not None:
                numbers = self._numbers(component)
                known = self.seen.setdefault(component, [])
                if not known or known[-1] != numbers:
                    known.append(numbers)

    def _numbers(self, component: str) -> tuple[int, int]:
        found = [each for each in self._objects.values() if each.metadata.labels.get(COMPONENT) == component]
        asked = sum(each.spec.desired_replicas for each in found if isinstance(each, DynamoComponentDeployment))
        return asked, sum(_available(each) for each in found if isinstance(each, Pod))


def _available(pod: Pod) -> bool:
    """Ready, and not on its way out."""
    ready = pod.status.condition("Ready")
    return ready is not None and ready.status == "True" and pod.metadata.deletion_timestamp is None


class Fleet(GraphWorld):
    """A graph world in which Pods live and die.

    Args:
        random: the order in which primaries are reconciled; none for the order of their keys.
    """

    def __init__(self, *objects: Object[Any, Any], random: Random | None = None, **more: Any) -> None:
        super().__init__(*objects, **more)
        life = PodOptions(ready_after=timedelta(seconds=1), gone_after=timedelta(seconds=1))
        self._random = random
        self.everything: list[object] = [*self.programs, DeploymentProgram(), ReplicaSetProgram(), PodProgram(life)]
        self.watcher = Watcher(self)

    def sweep(self, only: Callable[[Kind[Any]], bool] = lambda kind: True) -> list[float]:
        """One attempt at every primary there is; the waits that the attempts asked for."""
        todo: list[tuple[Definition, Any]] = [
            (definition, obj.key)
            for definition in definitions(self.everything)
            if only(definition.kind)
            for obj in self.cache.list(definition.kind)
        ]
        if self._random is not None:
            self._random.shuffle(todo)
        waits = []
        for definition, key in todo:
            members = [definition.program] if definition.program is not None else self.programs[:2]
            answer = self.cache.reconcile(members, key)
            assert answer.error is None, answer.error
            waits += [answer.requeue_after] if answer.requeue_after else []
            self.watcher.look()
        return waits

    def settle(self) -> None:
        """Sweep, and let time pass, until nothing changes and nothing is waited for."""
        for _ in range(SWEEPS):
            before = self.cache.core.version
            waits = self.sweep()
            if self.cache.core.version != before:
                continue
            if not [wait for wait in waits if wait < 300]:  # a Deployment waits ten minutes for its deadline
                return
            self.cache.advance(min(waits))
        raise AssertionError(f"no rest after {SWEEPS} sweeps")

    def numbers(self, component: str) -> list[tuple[int, int]]:
        """(asked for, available) of a component, as it was seen after each event."""
        return self.watcher.seen.get(component, [])


def worker_names(names: Iterable[str]) -> list[str]:
    """Those of component deployments with a suffix."""
    return [name for name in names if len(name.rpartition("-")[2]) == 8]


MakeFleet = Callable[..., Fleet]


@pytest.fixture(scope="session")
def fleet() -> MakeFleet:
    """Makes a graph world in which Pods live: `fleet(graph(...), random=Random(1))`."""
    return Fleet
