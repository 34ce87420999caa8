"""Graphs as a user writes them, the programs that serve them, and what is left of a site when all is done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import msgspec

from data_plane.annotations import CRASH, GONE_AFTER, READY_AFTER, RESTART_AFTER
from data_plane.claim import ClaimProgram
from data_plane.deployment import DeploymentProgram
from data_plane.pod import PodOptions, PodProgram
from data_plane.replica_set import ReplicaSetProgram
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, POD, SECRET, SERVICE, SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.testing.invariants import stable
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.names import Annotation, Label
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as ADAPTER
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.graph.program import GraphProgram
from dynamo_graph.scaling_adapter.program import ScalingAdapterProgram
from dynamo_graph.testing import component, fixed_keys
from tests.simulation.graphs.witness import available

KINDS: Final[tuple[Kind[Any], ...]] = (
    *(DGD, DCD, ADAPTER, DEPLOYMENT, REPLICA_SET, POD, SERVICE),
    *(SERVICE_ACCOUNT, ROLE, ROLE_BINDING, CONFIG_MAP, SECRET),
)

BY_THE_WAY: Final = frozenset(
    {
        *(Annotation.RESTART_AT, Annotation.LAST_APPLIED_HASH, Annotation.LAST_APPLIED_GENERATION),
        *("deployment.kubernetes.io/revision", "restart", "rollingUpdate", "lastScaleTime", "observedGeneration"),
        *("clusterIP", "clusterIPs", "collisionCount"),
    }
)
"""Fields that tell of the way to a state, not of the state; so does the order of conditions."""

OVER: Final = "OwnershipConflictResolved"
"""The reason of a condition that tells that something was in the way once."""

NAMED: Final = re.compile(r'ReplicaSet "[^"]*"')
"""A ReplicaSet in a message. Its name comes from a template in which the way is told."""


def programs() -> list[Any]:
    """What the manager runs."""
    return [
        GraphProgram(),
        ComponentProgram(make_keys=fixed_keys),
        ComponentDeploymentProgram(),
        ScalingAdapterProgram(),
    ]


def data_plane() -> list[Any]:
    """What brings Deployments and Pods to life."""
    life = PodOptions(ready_after=timedelta(seconds=1), gone_after=timedelta(seconds=1))
    return [DeploymentProgram(), ReplicaSetProgram(), PodProgram(life), ClaimProgram()]


def worker(name: str, image: int, *, crash: bool = False, shares: tuple[str, str] | None, **fields: Any) -> Any:
    """A worker component; its Pods become ready and go within seconds, or crash again and again."""
    annotations = {READY_AFTER: "1s", GONE_AFTER: "2s"}
    if crash:
        annotations |= {CRASH: "true", RESTART_AFTER: "2s"}
    if shares is not None:
        annotations |= dict(zip((Annotation.MAX_SURGE, Annotation.MAX_UNAVAILABLE), shares, strict=True))
    spec = {"containers": [{"name": "main", "image": f"registry.example/w:1.4.{image}"}]}
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    return component(name, "worker", podTemplate=template, **fields)


def furnish(core: Core) -> None:
    """What is there before anybody begins."""
    core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')


# -- what is left


def trees(core: Core, kind: Kind[Any]) -> list[dict[str, Any]]:
    """All objects of a kind."""
    return [msgspec.json.decode(raw) for raw in core.list(kind, ListOptions()).items]


def what_is_there(core: Core) -> dict[str, list[Any]]:
    """The objects of a site at rest, without what tells only of the way there.

    Of ReplicaSets only those that have replicas count: a Deployment keeps the others as its history. Their names, and those of
    Pods, come from templates in which the way is told.
    """
    found: dict[str, list[Any]] = {}
    for kind in KINDS:
        here = trees(core, kind)
        if kind is POD:
            pods = [kind.decode(msgspec.json.encode(tree)) for tree in here]
            states = [(pod.metadata.labels.get(Label.SELECTOR), available(pod), _images(pod)) for pod in pods]
            found[str(kind)] = sorted(states, key=repr)
        elif kind is REPLICA_SET:
            sets = [tree for tree in here if tree["spec"].get("replicas")]
            found[str(kind)] = sorted(_owners(tree) for tree in sets)
        else:
            found[str(kind)] = sorted((_without_the_way(stable(tree)) for tree in here), key=repr)
    return found


def orphans(core: Core) -> Iterator[str]:
    """Objects whose owner is not there."""
    objects = [(kind, tree) for kind in KINDS for tree in trees(core, kind)]
    there = {tree["metadata"]["uid"] for _, tree in objects}
    for kind, tree in objects:
        for owner in tree["metadata"].get("ownerReferences", ()):
            if owner["uid"] not in there:
                yield f"{kind} {tree['metadata']['name']} belongs to {owner['kind']} {owner['name']}, which is gone"


def _images(pod: Any) -> list[str]:
    return [each["image"] for each in pod.content()["spec"]["containers"]]


def _owners(tree: dict[str, Any]) -> list[str]:
    return [owner["name"] for owner in tree["metadata"].get("ownerReferences", ())]


def _without_the_way(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_the_way(each) for key, each in value.items() if key not in BY_THE_WAY}
        return {key: each for key, each in kept.items() if each != {}}
    if isinstance(value, list):
        return sorted((_without_the_way(each) for each in value if not _is_over(each)), key=repr)
    return NAMED.sub("ReplicaSet", value) if isinstance(value, str) else value


def _is_over(value: Any) -> bool:
    """Whether that is a condition which says that what it is about is over."""
    return isinstance(value, dict) and value.get("reason") == OVER
