"""The table of rules between fields: what breaks each, and how a real server and the programs tell it (G 1.2-1.4, 1.11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynamo_graph.api.cel import CHANGED

Tree = dict[str, Any]

MAIN = {"spec": {"containers": [{"name": "main", "image": "img"}]}}
EPP: Tree = {"type": "epp", "eppConfig": {"configMapRef": {"name": "c"}}}
POLICY = {"labelKey": "z", "domain": "zone"}
WHOLE = {"clusterTopologyName": "t", "packDomain": "zone"}
ORDERED = "order must name every component of the graph"


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A spec that breaks one rule.

    Attributes:
        before: the spec that it replaces; `None` for a new graph.
        spec: the spec of the graph.
        cel: the message of the rule in the CRD.
        path: where the programs see the fault.
        rule: what the programs say.
    """

    spec: Tree
    cel: str
    path: str
    rule: str
    before: Tree | None = None


def component(name: str = "a", **fields: Any) -> Tree:
    """A component that nothing is wrong with."""
    return {"name": name, "podTemplate": MAIN, **fields}


def graph(*components: Tree, **fields: Any) -> Tree:
    """The spec of a graph of those components, or of one."""
    return {"components": list(components or (component(),)), **fields}


def policy(**fields: Any) -> Tree:
    """The spec of a graph with such a KV transfer policy."""
    return graph(experimental={"kvTransferPolicy": fields})


def restart(*order: str, strategy: str = "Sequential") -> Tree:
    """A request to restart."""
    return {"id": "r", "strategy": {"type": strategy, "order": list(order)}}


def changed(before: Tree, after: Tree, cel: str, path: str, rule: str = CHANGED) -> Broken:
    """A change of a graph that no graph takes."""
    return Broken(before=before, spec=after, cel=cel, path=path, rule=rule)


AT = "spec.components[0]"
ORDER = "spec.restart.strategy.order"
KV = "spec.experimental.kvTransferPolicy"
TYPE, FEWEST = "type is immutable once set", "minAvailable is immutable once set"
BACKEND = "spec.backendFramework is immutable and cannot be changed after creation"
FIXED = "is immutable and cannot be changed after creation"
ONCE = "is immutable once set"

BROKEN: dict[str, Broken] = {
    "two-pickers": Broken(
        spec=graph(component(**EPP), component("b", **EPP)),
        cel="at most one component may be of type epp",
        path="spec.components[1].type",
        rule="at most one component may be of type epp",
    ),
    "names-alike": Broken(
        spec=graph(component("a"), component("A")),
        cel="component names must be unique ignoring case",
        path="spec.components[1].name",
        rule="must be unique ignoring case; spec.components[0] is 'a'",
    ),
    "born-restarting": Broken(
        spec=graph(restart={"id": "r"}),
        cel="restart must be absent when a graph is created",
        path="spec.restart",
        rule="must be absent when a graph is created",
    ),
    "backend-changed": changed(
        graph(backendFramework="vllm"), graph(backendFramework="sglang"), BACKEND, "spec.backendFramework", FIXED
    ),
    "backend-added": changed(graph(), graph(backendFramework="vllm"), BACKEND, "spec.backendFramework", FIXED),
    "backend-removed": changed(graph(backendFramework="vllm"), graph(), BACKEND, "spec.backendFramework", FIXED),
    "topology-changed": changed(
        graph(topologyConstraint=WHOLE),
        graph(topologyConstraint=WHOLE | {"packDomain": "rack"}),
        f"spec.topologyConstraint {CHANGED}",
        "spec.topologyConstraint",
    ),
    "topology-added": changed(
        graph(), graph(topologyConstraint=WHOLE), f"spec.topologyConstraint {CHANGED}", "spec.topologyConstraint"
    ),
    "topology-removed": changed(
        graph(topologyConstraint=WHOLE), graph(), f"spec.topologyConstraint {CHANGED}", "spec.topologyConstraint"
    ),
    "policy-changed": changed(policy(**POLICY), policy(**POLICY | {"domain": "rack"}), f"{KV} {CHANGED}", KV),
    "policy-added": changed(graph(), policy(**POLICY), f"{KV} {CHANGED}", KV),
    "policy-removed": changed(policy(**POLICY), graph(experimental={"kvTransferPolicy": None}), f"{KV} {CHANGED}", KV),
    "experimental-removed": changed(policy(**POLICY), graph(), f"{KV} {CHANGED}", KV),
    "topology-without-graph": Broken(
        spec=graph(component(topologyConstraint={"packDomain": "rack"})),
        cel="the topologyConstraint of a component needs spec.topologyConstraint.clusterTopologyName",
        path=f"{AT}.topologyConstraint",
        rule="needs spec.topologyConstraint.clusterTopologyName",
    ),
    "topology-without-domain": Broken(
        spec=graph(topologyConstraint={"clusterTopologyName": "t"}),
        cel="every component needs a topologyConstraint while spec.topologyConstraint has no packDomain",
        path=f"{AT}.topologyConstraint",
        rule="must be set while spec.topologyConstraint has no packDomain",
    ),
    "order-of-parallel": Broken(
        before=graph(),
        spec=graph(restart=restart("a", strategy="Parallel")),
        cel="order cannot be specified when strategy is parallel",
        path=ORDER,
        rule="cannot be specified when strategy is parallel",
    ),
    "order-twice": Broken(
        before=graph(),
        spec=graph(restart=restart("a", "a")),
        cel="order must be unique",
        path=ORDER,
        rule="must be unique",
    ),
    "order-unknown": Broken(
        before=graph(), spec=graph(restart=restart("b")), cel=ORDERED, path=ORDER, rule="contains unknown component: b"
    ),
    "order-short": Broken(
        before=graph(component("a"), component("b")),
        spec=graph(component("a"), component("b"), restart=restart("a")),
        cel=ORDERED,
        path=ORDER,
        rule="must have the same number of unique components as the deployment",
    ),
    "type-changed": changed(graph(component(type="worker")), graph(component(type="decode")), TYPE, f"{AT}.type", ONCE),
    "type-removed": changed(graph(component(type="worker")), graph(), TYPE, f"{AT}.type", ONCE),
    "minimum-above-replicas": Broken(
        spec=graph(component(minAvailable=2, replicas=1)),
        cel="minAvailable must not be above replicas",
        path=f"{AT}.minAvailable",
        rule="must not be above replicas",
    ),
    "minimum-above-one": Broken(
        spec=graph(component(minAvailable=2)),
        cel="minAvailable must not be above replicas",
        path=f"{AT}.minAvailable",
        rule="must not be above replicas",
    ),
    "minimum-changed": changed(
        graph(component(minAvailable=1, replicas=3)),
        graph(component(minAvailable=2, replicas=3)),
        FEWEST,
        f"{AT}.minAvailable",
        ONCE,
    ),
    "minimum-removed": changed(graph(component(minAvailable=1)), graph(), FEWEST, f"{AT}.minAvailable", ONCE),
    "component-topology-changed": changed(
        graph(component(topologyConstraint={"packDomain": "rack"}), topologyConstraint=WHOLE),
        graph(component(topologyConstraint={"packDomain": "host"}), topologyConstraint=WHOLE),
        f"topologyConstraint {CHANGED}",
        f"{AT}.topologyConstraint",
    ),
    "component-topology-added": changed(
        graph(topologyConstraint=WHOLE),
        graph(component(topologyConstraint={"packDomain": "host"}), topologyConstraint=WHOLE),
        f"topologyConstraint {CHANGED}",
        f"{AT}.topologyConstraint",
    ),
    "picker-config-of-none": Broken(
        spec=graph(component(eppConfig={"config": {}})),
        cel="eppConfig needs type epp",
        path=f"{AT}.eppConfig",
        rule="is allowed only when type is epp",
    ),
    "picker-config-empty": Broken(
        spec=graph(component(type="epp", eppConfig={})),
        cel="exactly one of configMapRef and config must be set",
        path=f"{AT}.eppConfig",
        rule="exactly one of configMapRef and config must be set",
    ),
    "picker-config-both": Broken(
        spec=graph(component(type="epp", eppConfig={"config": {}, "configMapRef": {"name": "c"}})),
        cel="exactly one of configMapRef and config must be set",
        path=f"{AT}.eppConfig",
        rule="exactly one of configMapRef and config must be set",
    ),
    "half-the-roles": Broken(
        spec=graph(component(roles=[{"name": "leader"}])),
        cel="roles must name leader and worker exactly once",
        path=f"{AT}.roles",
        rule="must name leader and worker exactly once",
    ),
    "failover-alone": Broken(
        spec=graph(component(experimental={"failover": {}})),
        cel="failover.mode must equal gpuMemoryService.mode",
        path=f"{AT}.experimental.failover.mode",
        rule="must equal gpuMemoryService.mode",
    ),
    "failover-elsewhere": Broken(
        spec=graph(component(experimental={"failover": {"mode": "InterPod"}, "gpuMemoryService": {}})),
        cel="failover.mode must equal gpuMemoryService.mode",
        path=f"{AT}.experimental.failover.mode",
        rule="must equal gpuMemoryService.mode",
    ),
    "checkpoint-twice": Broken(
        spec=graph(component(experimental={"checkpoint": {"enabled": True, "job": {}, "checkpointRef": "c"}})),
        cel="job and checkpointRef exclude each other",
        path=f"{AT}.experimental.checkpoint.job",
        rule="cannot be used together with checkpointRef",
    ),
    "policy-of-nothing": Broken(
        spec=policy(domain="zone"),
        cel="exactly one of labelKey and clusterTopologyName must be set",
        path=KV,
        rule="exactly one of labelKey and clusterTopologyName must be set",
    ),
    "policy-of-both": Broken(
        spec=policy(**POLICY, clusterTopologyName="t"),
        cel="exactly one of labelKey and clusterTopologyName must be set",
        path=KV,
        rule="exactly one of labelKey and clusterTopologyName must be set",
    ),
    "long-prefix": Broken(
        spec=policy(domain="zone", labelKey=".".join(["x" * 50] * 6)[:254] + "/k"),
        cel="the prefix of labelKey must have at most 253 characters",
        path=f"{KV}.labelKey",
        rule="the prefix must have at most 253 characters",
    ),
    "weight-of-required": Broken(
        spec=policy(**POLICY, preferredWeight=0.5),
        cel="preferredWeight must be set if and only if enforcement is preferred",
        path=f"{KV}.preferredWeight",
        rule="must be set if and only if enforcement is preferred",
    ),
    "preferred-without-weight": Broken(
        spec=policy(**POLICY, enforcement="preferred"),
        cel="preferredWeight must be set if and only if enforcement is preferred",
        path=f"{KV}.preferredWeight",
        rule="must be set if and only if enforcement is preferred",
    ),
}
"""Every rule of the CRDs of graphs, in every way that it can be broken."""

SOUND: dict[str, tuple[Tree | None, Tree]] = {
    "nothing": (None, {}),
    "no-components": (None, {"components": []}),
    "one": (None, graph()),
    "twenty-five": (None, graph(*(component(f"c{index}") for index in range(25)))),
    "minimum-of-none": (None, graph(component(minAvailable=3, replicas=0))),
    "minimum-added": (graph(), graph(component(minAvailable=1))),
    "type-added": (graph(), graph(component(type="worker"))),
    "picker": (None, graph(component(**EPP))),
    "roles": (None, graph(component(roles=[{"name": "worker"}, {"name": "leader"}]))),
    "checkpoint-by-name": (
        None,
        graph(component(experimental={"checkpoint": {"enabled": True, "checkpointRef": "c"}})),
    ),
    "policy": (policy(**POLICY), policy(**POLICY)),
    "preference": (None, policy(**POLICY, enforcement="preferred", preferredWeight=1)),
    "order": (graph(component("a"), component("b")), graph(component("a"), component("b"), restart=restart("b", "a"))),
    "parallel": (graph(), graph(restart=restart(strategy="Parallel"))),
    "plain-restart": (graph(), graph(restart={"id": "r"})),
    "topology": (None, graph(component(topologyConstraint={"packDomain": "rack"}), topologyConstraint=WHOLE)),
    "another-component": (graph(component(type="worker")), graph(component(type="worker"), component("b"))),
    "a-component-less": (graph(component("a"), component("b")), graph()),
}
"""Specs, and the specs that they replace, that break no rule."""
