"""The labels of accounts, roles and bindings that the operator makes (P 6.1)."""

from __future__ import annotations

from typing import Final

from dynamo_graph.component.names import MAX_LABEL

_MANAGED: Final = "app.kubernetes.io/managed-by"
_OPERATOR: Final = "dynamo-operator"

MANAGED_BY_OPERATOR: Final = f"{_MANAGED}={_OPERATOR}"
"""Label selector of all of them."""


def rbac_labels(account: str) -> dict[str, str]:
    """The labels of an account, and of what gives it rights."""
    return {
        _MANAGED: _OPERATOR,
        "app.kubernetes.io/component": "rbac",
        "app.kubernetes.io/name": account[:MAX_LABEL].rstrip("-."),
    }
