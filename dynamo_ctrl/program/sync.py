"""Whether a child must be written (G 3.10): the hash of what was last applied, the generation it led to, and the table.

Pure: nothing here reads or writes a cluster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.object import Object

ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
"""Top-level fields that are not part of what a child declares."""

HASH: Final = "last-applied-hash"
GENERATION: Final = "last-applied-generation"


COUNTS_ANNOTATIONS: Final = frozenset({("apps", "Deployment")})
"""Group and kind of objects whose generation moves with their annotations too (a rule of the API server)."""


_WHOLE: Final = frozenset((str, int, bool, type(None)))
_LEAVES: Final = _WHOLE | {float}
"""Types of JSON values with nothing inside. Asked for exactly, since abstract classes are slow to ask for."""


class Action(Enum):
    """What the table says."""

    NOTHING = "nothing"
    ANNOTATE = "annotate"
    """Only the bookkeeping is behind."""
    WRITE = "write"
    """The spec is replaced by the declared one."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The table's answer for one child.

    Attributes:
        action: what to do.
        annotations: the bookkeeping to store with it; empty for `NOTHING`.
        edited: somebody changed the spec since it was last applied.
    """

    action: Action
    annotations: Mapping[str, str]
    edited: bool = False


def declared(content: JsonMap) -> dict[str, Any]:
    """The part of an object that is compared: `{"spec": ...}`, or all non-envelope fields of a kind without spec."""
    if "spec" in content:
        return {"spec": content["spec"]}
    return {name: value for name, value in content.items() if name not in ENVELOPE}


def content_hash(content: JsonMap) -> str:
    """SHA-256 of the canonical JSON of what `content` declares (a whole object).

    Keys are sorted at every depth; lists of objects are sorted by their `name`, else by their smallest key; the order of
    other lists counts.
    """
    part = declared(content)
    text = json.dumps(_canonical(part.get("spec", part)), separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def bookkeeping(prefix: str, hash_: str, generation: int) -> dict[str, str]:
    """The two annotations that a child carries."""
    return {f"{prefix}{HASH}": hash_, f"{prefix}{GENERATION}": str(generation)}


def verdict(live: Object[Any, Any], desired: JsonMap, prefix: str) -> Verdict:
    """The table of G 3.10 for the child `live` and the content that is `desired`.

    The stored generation is the one that the write will lead to: also where the bookkeeping itself moves it, else a child
    whose annotations were brought up to date would look edited in the next attempt, for ever.
    """
    wanted = content_hash(desired)
    annotations = live.metadata.annotations
    generation = live.metadata.generation
    stored = _number(annotations.get(f"{prefix}{GENERATION}"))
    current = annotations.get(f"{prefix}{HASH}") == wanted
    if current and stored is not None and generation <= stored:
        return Verdict(Action.NOTHING, {})
    edited = current and stored is not None
    if same(declared(live.content()), declared(desired)):
        return Verdict(Action.ANNOTATE, bookkeeping(prefix, wanted, generation + _own_step(live)), edited)
    return Verdict(Action.WRITE, bookkeeping(prefix, wanted, generation + 1), edited)


def converged(
    live: Object[Any, Any], declared_annotations: Mapping[str, str], found: Verdict, prefix: str
) -> Mapping[str, str]:
    """The annotations to write where those that the child declares are kept up to date as well.

    Where annotations move the generation, a write of them alone takes the bookkeeping with it.
    """
    present = live.metadata.annotations
    wanted = {**declared_annotations, **found.annotations}
    differs = any(present.get(name) != value for name, value in wanted.items())
    if found.action is Action.NOTHING and differs and _own_step(live):
        return {**wanted, f"{prefix}{GENERATION}": str(live.metadata.generation + 1)}
    return wanted


def _own_step(live: Object[Any, Any]) -> int:
    return 1 if (live.kind.group, live.kind.kind) in COUNTS_ANNOTATIONS else 0


def same(left: Any, right: Any) -> bool:
    """Whether two JSON trees mean the same: null and the empty list are absence, 1 is 1.0, the order of lists counts.

    The empty object is something (`emptyDir: {}`).
    """
    if left is right:
        return True
    if type(left) in _LEAVES and type(right) in _LEAVES:
        return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return all(same(left.get(key), right.get(key)) for key in left.keys() | right.keys())
    left, right = _absent(left), _absent(right)
    if _is_list(left) and _is_list(right):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _canonical(value: Any) -> Any:
    if type(value) in _WHOLE:
        return value
    if isinstance(value, Mapping):
        return {key: _canonical(value[key]) for key in sorted(value)}
    if _is_list(value):
        items = [_canonical(item) for item in value]
        return sorted(items, key=_order) if all(isinstance(item, dict) for item in items) else items
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _order(item: dict[str, Any]) -> str:
    name = item.get("name")
    return name if isinstance(name, str) else min(item, default="")


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _absent(value: Any) -> Any:
    return None if _is_list(value) and not value else value


def _is_list(value: Any) -> bool:
    kind = type(value)
    return kind is list or (kind not in _LEAVES and isinstance(value, Sequence) and not isinstance(value, str | bytes))
