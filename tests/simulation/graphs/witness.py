"""A witness of every state that the server is ever in, and what must hold of graphs in each of them.

- Once a worker component has served as it is wanted, never fewer of its Pods are available than its budget leaves, and its
  deployments never ask for more than its surge allows together (G 3.6.4). Where it is scaled, the least and the most that were
  ever wanted count.
- No status tells of an older generation than it did before.

What is available is told to a manager by statuses, which a storm holds up for as long as it likes: who is told late that Pods
have come takes away some that he believes not to be there, and nobody could know better. So too few Pods are told apart from the
rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.engine.port import WatchOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_ctrl.objects.kind import Kind
from dynamo_graph.api.component import Component
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import Annotation, Label
from dynamo_graph.api.predicates import workers
from dynamo_graph.component.rollout_arithmetic import DEFAULT_SHARE, budget
from dynamo_graph.render.template import annotations_of

WATCHED: Final[tuple[Kind[Any], ...]] = (DGD, DCD, DEPLOYMENT, REPLICA_SET, POD)


@dataclass(slots=True)
class Bounds:
    """What one worker component of one graph may be seen at.

    Attributes:
        least, most: replicas that must be available, and that may be asked for.
        served: whether all of it has been available, and no more was asked for, so that they count.
    """

    least: int
    most: int
    served: bool = False

    def also(self, other: Bounds) -> None:
        """Another size is wanted, and what was may still be there."""
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)


def bounds_of(component: Component) -> Bounds:
    """The bounds of a component that is never wanted otherwise."""
    annotations = annotations_of(component.pod_template)
    surge = annotations.get(Annotation.MAX_SURGE, DEFAULT_SHARE)
    unavailable = annotations.get(Annotation.MAX_UNAVAILABLE, DEFAULT_SHARE)
    wanted = component.desired_replicas
    found = budget(wanted, surge, unavailable)
    return Bounds(least=wanted - found.unavailable, most=wanted + found.surge)


def available(pod: Pod) -> bool:
    """Ready, and not on its way out."""
    ready = pod.status.condition("Ready")
    return ready is not None and ready.status == "True" and pod.metadata.deletion_timestamp is None


@dataclass(slots=True)
class Witness:
    """See the module.

    Attributes:
        faults: what did not hold, in words.
        shortages: when too few Pods were available, in words.
    """

    core: Core
    faults: list[str] = field(default_factory=list)
    shortages: list[str] = field(default_factory=list)
    _there: dict[Kind[Any], dict[str, Any]] = field(default_factory=lambda: {kind: {} for kind in WATCHED})
    _bounds: dict[tuple[str, str], Bounds] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in WATCHED:
            feed = self.core.watch(kind, WatchOptions(bookmarks=False))
            feed.on_ready = lambda kind=kind, feed=feed: self._look(kind, feed.take())

    def _look(self, kind: Kind[Any], events: list[Any]) -> None:
        for event in events:
            obj = kind.decode(event.object)
            before = self._there[kind].pop(obj.metadata.uid, None)
            if event.type != "DELETED":
                self._there[kind][obj.metadata.uid] = obj
            if kind in (DGD, DCD) and before is not None:
                self._never_back(before, obj)
        self._within_bounds()

    def _never_back(self, before: Any, now: Any) -> None:
        last, told = before.status.observed_generation, now.status.observed_generation
        if told < last:
            self._tell(self.faults, f"{now.ref} tells of generation {told} after it told of {last}")

    def _within_bounds(self) -> None:
        known = dict(self._bounds)
        self._bounds.clear()
        for graph, component in self._components():
            at = (graph.metadata.uid, component.name)
            wanted = bounds_of(component)
            bounds = self._bounds[at] = known.get(at, wanted)
            bounds.also(wanted)
            asked, serving = self._asked(graph, component), self._serving(graph, component)
            bounds.served |= serving >= component.desired_replicas and asked <= bounds.most
            where = f"{graph.key} {component.name}"
            if not bounds.served:
                continue
            if asked > bounds.most:
                self._tell(self.faults, f"{where}: {asked} replicas are asked for, and {bounds.most} may be")
            if serving < bounds.least:
                self._tell(self.shortages, f"{where}: {serving} replicas are available, and {bounds.least} must be")

    def _components(self) -> Iterator[tuple[DynamoGraphDeployment, Component]]:
        """The worker components of all graphs that are not being deleted."""
        for graph in self._there[DGD].values():
            if graph.metadata.deletion_timestamp is None:
                yield from ((graph, component) for component in workers(graph.spec))

    def _asked(self, graph: DynamoGraphDeployment, component: Component) -> int:
        found: list[DynamoComponentDeployment] = [
            each
            for each in self._there[DCD].values()
            if (owner := each.metadata.controller) is not None
            and owner.uid == graph.metadata.uid
            and each.spec.name == component.name
        ]
        return sum(each.spec.desired_replicas for each in found)

    def _serving(self, graph: DynamoGraphDeployment, component: Component) -> int:
        """Pods of that component that are available; those of an earlier graph of that name are another's."""
        pods = (pod for pod in self._there[POD].values() if pod.metadata.labels.get(Label.COMPONENT) == component.name)
        return sum(available(pod) and self._graph_of(pod) == graph.metadata.uid for pod in pods)

    def _graph_of(self, pod: Pod) -> str:
        """The uid of the graph to which that Pod belongs, "" for none."""
        owner = pod.metadata.controller
        for kind in (REPLICA_SET, DEPLOYMENT, DCD):
            held = None if owner is None else self._there[kind].get(owner.uid)
            owner = None if held is None else held.metadata.controller
        return "" if owner is None else owner.uid

    def _tell(self, where: list[str], text: str) -> None:
        if not where or not where[-1].endswith(text):
            where.append(f"{self.core.clock.monotonic():.3f}: {text}")
