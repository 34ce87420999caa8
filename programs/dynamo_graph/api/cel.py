"""Rules that the server evaluates itself, in CEL (G 1.2-1.4, 1.11). `rules` and `changes` hold the same in Python.

A server refuses what breaks one of them before it is stored. The memory engine does not evaluate CEL, and a stored object may be
older than a rule: so every rule that does not need the object from before is held by the programs as well. One table in
`tests/programs/dynamo_graph/api/test_rules_alike.py` drives both with the same objects.
"""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.objects.schema.marks import Rule

MAX_COMPONENTS: Final = 25
"""Components of one graph; the cost estimate of the rules below depends on it."""

CHANGED: Final = "is immutable and cannot be added, removed, or changed after creation"
"""What is told of a field that only a new graph can have otherwise."""


def _same(*path: str) -> str:
    """Whether the field at `path` is what it was, or absent as it was. The cost of comparing optionals cannot be estimated."""
    here = " && ".join(f"has(self.{'.'.join(path[:depth])})" for depth in range(1, len(path) + 1))
    before, field = here.replace("self", "oldSelf"), ".".join(path)
    return f"({here}) == ({before}) && (!({here}) || self.{field} == oldSelf.{field})"


GRAPH_RULES = (
    Rule(
        "!has(self.components) || self.components.filter(c, has(c.type) && c.type == 'epp').size() <= 1",
        "at most one component may be of type epp",
        ".components",
    ),
    Rule(
        "!has(self.components) || self.components.all(c,"
        " self.components.exists_one(other, other.name.lowerAscii() == c.name.lowerAscii()))",
        "component names must be unique ignoring case",
        ".components",  # the reason FieldValueDuplicate would hide the message
    ),
    Rule(
        "oldSelf.hasValue() || !has(self.restart)",
        "restart must be absent when a graph is created",
        ".restart",
        "FieldValueForbidden",
        optional_old_self=True,
    ),
    Rule(
        _same("backendFramework"),
        "spec.backendFramework is immutable and cannot be changed after creation",
        ".backendFramework",
    ),
    Rule(
        _same("topologyConstraint"),
        f"spec.topologyConstraint {CHANGED}",
        ".topologyConstraint",
    ),
    Rule(
        _same("experimental", "kvTransferPolicy"),
        f"spec.experimental.kvTransferPolicy {CHANGED}",
        ".experimental",
    ),
    Rule(
        "has(self.topologyConstraint) || !has(self.components) || self.components.all(c, !has(c.topologyConstraint))",
        "the topologyConstraint of a component needs spec.topologyConstraint.clusterTopologyName",
        ".components",
    ),
    Rule(
        "!has(self.topologyConstraint) || has(self.topologyConstraint.packDomain) || !has(self.components)"
        " || self.components.all(c, has(c.topologyConstraint))",
        "every component needs a topologyConstraint while spec.topologyConstraint has no packDomain",
        ".components",
    ),
    Rule(
        "!has(self.restart) || !has(self.restart.strategy) || !has(self.restart.strategy.order)"
        " || self.restart.strategy.order.size() == 0 || self.restart.strategy.type == 'Sequential'",
        "order cannot be specified when strategy is parallel",
        ".restart.strategy.order",
    ),
    Rule(
        "!has(self.restart) || !has(self.restart.strategy) || !has(self.restart.strategy.order)"
        " || self.restart.strategy.order.all(n, self.restart.strategy.order.exists_one(m, m == n))",
        "order must be unique",
        ".restart.strategy.order",
    ),
    Rule(
        "!has(self.restart) || !has(self.restart.strategy) || !has(self.restart.strategy.order)"
        " || self.restart.strategy.order.size() == 0"
        " || (has(self.components) && self.restart.strategy.order.size() == self.components.size()"
        " && self.restart.strategy.order.all(n, self.components.exists(c, c.name == n)))",
        "order must name every component of the graph",
        ".restart.strategy.order",
    ),
)
"""Rules of a graph's spec."""

COMPONENT_RULES = (
    Rule("!has(oldSelf.type) || (has(self.type) && self.type == oldSelf.type)", "type is immutable once set", ".type"),
    Rule(
        "!has(self.minAvailable) || (has(self.replicas) && self.replicas == 0)"
        " || self.minAvailable <= (has(self.replicas) ? self.replicas : 1)",
        "minAvailable must not be above replicas",
        ".minAvailable",
    ),
    Rule(
        "!has(oldSelf.minAvailable) || (has(self.minAvailable) && self.minAvailable == oldSelf.minAvailable)",
        "minAvailable is immutable once set",
        ".minAvailable",
    ),
    Rule(
        _same("topologyConstraint"),
        f"topologyConstraint {CHANGED}",
        ".topologyConstraint",
    ),
    Rule("!has(self.eppConfig) || (has(self.type) && self.type == 'epp')", "eppConfig needs type epp", ".eppConfig"),
    Rule(
        "!has(self.roles) || self.roles.size() == 0"
        " || (self.roles.size() == 2 && self.roles.exists(r, r.name == 'leader')"
        " && self.roles.exists(r, r.name == 'worker'))",
        "roles must name leader and worker exactly once",
        ".roles",
    ),
)
"""Rules of a component, wherever it stands."""

EXPERIMENTAL_RULES = (
    Rule(
        "!has(self.failover) || (has(self.gpuMemoryService) && self.failover.mode == self.gpuMemoryService.mode)",
        "failover.mode must equal gpuMemoryService.mode",
        ".failover",
    ),
)
"""Rules of a component's experimental settings."""

KV_TRANSFER_RULES = (
    Rule(
        "has(self.labelKey) != has(self.clusterTopologyName)",
        "exactly one of labelKey and clusterTopologyName must be set",
    ),
    Rule(
        "!has(self.labelKey) || self.labelKey.indexOf('/') <= 253",
        "the prefix of labelKey must have at most 253 characters",
        ".labelKey",
    ),
    Rule(
        "has(self.preferredWeight) == (self.enforcement == 'preferred')",
        "preferredWeight must be set if and only if enforcement is preferred",
        ".preferredWeight",
    ),
)
"""Rules of a KV transfer policy."""

EPP_CONFIG_RULES = (
    Rule("has(self.configMapRef) != has(self.config)", "exactly one of configMapRef and config must be set"),
)
"""Rules of the configuration of an endpoint picker."""

CHECKPOINT_RULES = (
    Rule(
        "!has(self.job) || !has(self.checkpointRef) || self.checkpointRef == ''",
        "job and checkpointRef exclude each other",
        ".job",
    ),
)
"""Rules of a checkpoint."""
