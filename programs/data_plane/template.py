"""Pod templates: when two are the same, and the hash that names the ReplicaSet of one.

The hash is not the API server's own (that one is computed over Go's memory layout); it has the same alphabet, and like the real
one it depends on the template and on the number of collisions met so far.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_ctrl.program.sync import same

HASH_LABEL: Final = "pod-template-hash"

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels, so that no hash spells a word."""
_LENGTH: Final = 10
_NAME_LIMIT: Final = 253


def same_template(left: JsonMap, right: JsonMap) -> bool:
    """Whether two templates are the same but for the hash label."""
    return same(_bare(left), _bare(right))


def template_hash(template: JsonMap, collisions: int = 0) -> str:
    """The hash of `template` after that many collisions."""
    text = json.dumps(_bare(template), sort_keys=True, separators=(",", ":")) + (str(collisions) if collisions else "")
    number = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    letters = []
    for _ in range(_LENGTH):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)


def replica_set_name(deployment: str, hash_: str) -> str:
    """The name of the ReplicaSet for a template with that hash."""
    return f"{deployment[: _NAME_LIMIT - 1 - len(hash_)]}-{hash_}"


def labelled(template: JsonMap, hash_: str) -> dict[str, Any]:
    """A copy of `template` whose Pods carry the hash."""
    tree: dict[str, Any] = thaw(template)
    metadata = tree.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), HASH_LABEL: hash_}
    return tree


def _bare(template: JsonMap) -> dict[str, Any]:
    tree: dict[str, Any] = thaw(template)
    metadata = {key: value for key, value in (tree.get("metadata") or {}).items() if value}
    metadata["labels"] = {key: value for key, value in metadata.get("labels", {}).items() if key != HASH_LABEL}
    return {**tree, "metadata": metadata}
