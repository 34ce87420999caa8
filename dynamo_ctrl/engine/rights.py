"""RBAC rules as YAML on one line, so that they fit into a log: what mends a refusal. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from dynamo_ctrl.engine.errors import Forbidden

_REFUSAL: Final = re.compile(r'cannot (\w+) resource "([\w./-]+)" in API group "([\w.-]*)"')
"""How the API server's RBAC authorizer words it."""


def rule(group: str, resource: str, verbs: Iterable[str]) -> str:
    """The rule that grants those verbs, as an entry of a role's `rules`."""
    quoted = ", ".join(f'"{verb}"' for verb in verbs)
    return f'- {{apiGroups: ["{group}"], resources: ["{resource}"], verbs: [{quoted}]}}'


def missing_rule(error: Forbidden) -> str | None:
    """The rule that would have let the request pass; `None` where no right is missing (an admission policy, a quota)."""
    found = _REFUSAL.search(error.message)
    return rule(found[3], found[2], [found[1]]) if found else None
