"""Rules that the server evaluates itself, in CEL (G 1.2-1.4, 1.11). `rules` holds them, and more, for every engine.

Each is proven on a real kube-apiserver by the tests in `tests/programs/dynamo_graph/api`.
"""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.objects.schema.marks import Rule

MAX_COMPONENTS: Final = 25
"""Components of one graph; the cost estimate of the rules below depends on it."""

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
        "has(self.backendFramework) == has(oldSelf.backendFramework)"
        " && (!has(self.backendFramework) || self.backendFramework == oldSelf.backendFramework)",
        "spec.backendFramework is immutable and cannot be changed after creation",
        ".backendFramework",
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
        " || self.restart.strategy.order.size() == 0 || !has(self.components)"
        " || (self.restart.strategy.order.size() == self.components.size()"
        " && self.restart.strategy.order.all(n, self.components.exists(c, c.name == n)))",
        "order must name every component of the graph",
        ".restart.strategy.order",
    ),
)
"""Rules of a graph's spec."""

COMPONENT_RULES = (
    Rule("!has(oldSelf.type) || (has(self.type) && self.type == oldSelf.type)", "type is immutable once set", ".type"),
    Rule(
        "!has(self.minAvailable) || !has(self.replicas) || self.replicas == 0 || self.minAvailable <= self.replicas",
        "minAvailable must not be above replicas",
        ".minAvailable",
    ),
    Rule(
        "has(self.minAvailable) == has(oldSelf.minAvailable)"
        " && (!has(self.minAvailable) || self.minAvailable == oldSelf.minAvailable)",
        "minAvailable is immutable",
        ".minAvailable",
    ),
    Rule("!has(self.eppConfig) || (has(self.type) && self.type == 'epp')", "eppConfig needs type epp", ".eppConfig"),
)
"""CEL rules of a component, wherever it stands."""

KV_TRANSFER_RULES = (
    Rule(
        "has(self.labelKey) != has(self.clusterTopologyName)",
        "exactly one of labelKey and clusterTopologyName must be set",
    ),
    Rule(
        "has(self.preferredWeight) == (self.enforcement == 'preferred')",
        "preferredWeight must be set if and only if enforcement is preferred",
        ".preferredWeight",
    ),
)
"""CEL rules of a KV transfer policy."""

EPP_CONFIG_RULES = (
    Rule("has(self.configMapRef) != has(self.config)", "exactly one of configMapRef and config must be set"),
)
"""Rules of the configuration of an endpoint picker."""

CHECKPOINT_RULES = (
    Rule("!has(self.job) || !has(self.checkpointRef)", "job and checkpointRef exclude each other", ".job"),
)
"""Rules of a checkpoint."""
