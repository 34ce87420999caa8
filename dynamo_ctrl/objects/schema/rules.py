"""What a CEL rule reaches must be bounded, or the server's cost estimate refuses the whole CRD."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dynamo_ctrl.objects.schema.union import Unrepresentable

_REACH: Final = re.compile(
    r"\b(?:self|oldSelf)((?:\.(?!(?:value|hasValue|all|exists|exists_one|map|filter|size|indexOf)\()\w+)*)"
)
_BOUNDS: Final = {"array": "maxItems", "string": "maxLength"}


def check_bounds(schema: Mapping[str, Any], path: str) -> None:
    """Check every path that a rule of `schema` spells (`self.a.b`), without following its loops.

    Raises:
        Unrepresentable: a list, map or text on such a path has no maximum.
    """
    for entry in schema.get("x-kubernetes-validations", ()):
        rule = re.sub(r"has\([^()]*\)", "", entry["rule"])
        for reached in _REACH.finditer(rule):
            node: Mapping[str, Any] = schema
            at = path
            for part in filter(None, reached[1].split(".")):
                node = node.get("properties", {}).get(part, {})
                at = f"{at}.{part}"
            _check(node, at, entry["rule"])


def _check(node: Mapping[str, Any], path: str, rule: str) -> None:
    bound = _BOUNDS.get(node.get("type", ""))
    if node.get("type") == "object" and "additionalProperties" in node:
        bound = "maxProperties"
    if bound and bound not in node and "enum" not in node and "format" not in node:
        raise Unrepresentable(path, f"is read by the rule {rule!r} and needs {bound}")
