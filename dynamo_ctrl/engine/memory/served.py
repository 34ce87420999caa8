"""`Served`: what the API server knows about one resource that it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from dynamo_ctrl.engine.memory.field_error import FieldError
from dynamo_ctrl.engine.memory.shape import Fields

Tree: TypeAlias = dict[str, Any]
"""A plain JSON object that belongs to the request that is being served."""


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; unlike in Python, `1` is neither `true` nor `1.0`."""
    if one is other:
        return True
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, dict):
        return all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return all(same(*pair) for pair in zip(one, other, strict=True))
    return True


VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePaths:
    """Where the scale subresource finds its numbers, as dotted field paths; `selector` may be empty."""

    replicas: str = "spec.replicas"
    status: str = "status.replicas"
    selector: str = ""


def _nothing(tree: Tree) -> None:
    return None


def _no_update(new: Tree, old: Tree) -> None:
    return None


def _not_held(tree: Tree) -> bool:
    return False


def _no_grace(tree: Tree, asked: int | None) -> int:
    return 0


def _nothing_unknown(tree: Tree) -> list[str]:
    return []


def _no_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What the server does with the content of one kind, beyond its metadata. Each function works on a tree in place.

    Attributes:
        admit: drops what the kind does not know and fills in defaults; runs on every write and is idempotent.
        unknown: the paths of what `admit` drops.
        create: what only happens to a new object (for example its first status).
        update: what an update takes over from the old object.
        update_status: what a status write takes over from the old object.
        delete: begins a deletion in the kind's own manner; `None` for the manner of all others.
        held: whether the content itself holds an object that is being deleted.
        grace: the seconds of grace that a deletion leaves the object; the argument is what was asked for, if anything.
        validate: the rules; `old` is `None` for a new object.
        validate_status: the rules of a status write, where they are others.
    """

    admit: Callable[[Tree], None] = _nothing
    unknown: Callable[[Tree], Iterable[str]] = _nothing_unknown
    create: Callable[[Tree], None] = _nothing
    update: Callable[[Tree, Tree], None] = _no_update
    update_status: Callable[[Tree, Tree], None] = _no_update
    delete: Callable[[Tree, datetime], None] | None = None
    held: Callable[[Tree], bool] = _not_held
    grace: Callable[[Tree, int | None], int] = _no_grace
    validate: Callable[[Tree, Tree | None], list[FieldError]] = _no_errors
    validate_status: Callable[[Tree, Tree], list[FieldError]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Served:
    """One resource of one group.

    Attributes:
        versions: the strategy of each version that is served.
        stored: the strategy of stored objects, which are of `storage_version`.
        status: whether `/status` exists.
        scale: the paths of `/scale`, if it exists.
        bumps: the sections whose change moves metadata.generation, `*` for everything but metadata and status; empty
            when generation is not kept.
        custom: defined by a CRD (or registered), so the rules of custom resources hold.
        unconditional: whether an update without a resourceVersion is taken.
        returns_deleted: whether a delete answers with the object rather than with a Status.
        sections: top-level fields that the kind has; empty for "any".
        shape: the types of the fields of a built-in kind; `None` for a custom one, whose schema tells them.
        selectable: field paths of field selectors, beyond metadata.name and metadata.namespace.
        name_rule: how names are checked: `subdomain`, `label` or `path`.
    """

    group: str
    plural: str
    kind: str
    namespaced: bool
    versions: Mapping[str, Strategy]
    stored: Strategy
    storage_version: str
    status: bool = False
    scale: ScalePaths | None = None
    bumps: tuple[str, ...] = ()
    custom: bool = False
    unconditional: bool = True
    returns_deleted: bool = False
    sections: frozenset[str] = frozenset()
    shape: Fields | None = None
    selectable: frozenset[str] = frozenset()
    name_rule: str = "subdomain"
    verbs: tuple[str, ...] = VERBS

    @property
    def api_version(self) -> str:
        """The apiVersion of stored objects."""
        return self.spoken(self.storage_version)

    def spoken(self, version: str) -> str:
        """The apiVersion of this resource in that version."""
        return f"{self.group}/{version}" if self.group else version

    @property
    def keeps_generation(self) -> bool:
        """Whether metadata.generation is kept."""
        return bool(self.bumps)

    def moved(self, new: Tree, old: Tree) -> bool:
        """Whether a change moves metadata.generation."""
        if self.bumps == ("*",):
            ignored = {"metadata", "status"} if self.status else {"metadata"}
            return any(not same(new.get(name), old.get(name)) for name in (new.keys() | old.keys()) - ignored)
        return any(
            new["metadata"].get(name) != old["metadata"].get(name)
            if name == "annotations"
            else not same(new.get(name), old.get(name))
            for name in self.bumps
        )

    @property
    def storage(self) -> str:
        """The resource's part of a storage key."""
        return f"{self.group}/{self.plural}" if self.custom else self.plural

    @property
    def subresources(self) -> tuple[str, ...]:
        """The names of its subresources."""
        return (*(("scale",) if self.scale else ()), *(("status",) if self.status else ()))

    def __str__(self) -> str:
        """`deployments.apps`, as messages spell it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural
