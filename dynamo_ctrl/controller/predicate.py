"""Predicates: which changes of an object are worth a reconcile.

A predicate is a function from a `Change` to a bool; `any_of`, `all_of` and `negate` combine them. The ready-made ones say in
their first line exactly what passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

Predicate: TypeAlias = Callable[[Change[O]], bool]


def always(change: Change[Any]) -> bool:
    """Everything passes."""
    del change
    return True


def spec_or_deletion_changed(change: Change[Any]) -> bool:
    """Creations, deletions, a changed generation, a deletion timestamp that appears, another uid.

    Changes of status, labels and annotations alone do not pass.
    """
    old, new = change.old, change.new
    if old is None or new is None:
        return True
    return (
        old.metadata.generation != new.metadata.generation
        or old.metadata.uid != new.metadata.uid
        or (old.metadata.deletion_timestamp is None) is not (new.metadata.deletion_timestamp is None)
    )


def generation_changed(change: Change[Any]) -> bool:
    """Updates that change the generation; no creations, no deletions. Kinds without a generation never pass.

    The server also moves the generation of an object when it begins to be deleted.
    """
    old, new = change.old, change.new
    return old is not None and new is not None and old.metadata.generation != new.metadata.generation


def resource_version_changed(change: Change[Any]) -> bool:
    """Updates that change the resourceVersion; no creations, no deletions."""
    old, new = change.old, change.new
    return old is not None and new is not None and old.metadata.resource_version != new.metadata.resource_version


def body_changed(change: Change[Any]) -> bool:
    """As `spec_or_deletion_changed`; of kinds without a generation, any update beyond metadata and status passes as well."""
    if spec_or_deletion_changed(change):
        return True
    old, new = change.old, change.new
    if old is None or new is None or new.metadata.generation:
        return False
    return _body(old) != _body(new)


def _body(obj: Object[Any, Any]) -> dict[str, Any]:
    return {name: value for name, value in obj.content().items() if name not in ("metadata", "status")}


def labels_changed(change: Change[Any]) -> bool:
    """Updates that change labels; no creations, no deletions."""
    return (
        change.old is not None and change.new is not None and change.old.metadata.labels != change.new.metadata.labels
    )


def annotations_changed(change: Change[Any]) -> bool:
    """Updates that change annotations; no creations, no deletions."""
    old, new = change.old, change.new
    return old is not None and new is not None and old.metadata.annotations != new.metadata.annotations


def matching(selector: Mapping[str, str] | str | LabelSelector) -> Predicate[Any]:
    """Passes what matches the label selector on either side. Raises `InvalidSelector`."""
    wanted = LabelSelector.of(selector)
    return lambda change: any(wanted.matches(side.metadata.labels) for side in change.sides)


def created(change: Change[Any]) -> bool:
    """Creations, those of the initial list included."""
    return change.old is None


def updated(change: Change[Any]) -> bool:
    """Updates."""
    return change.old is not None and change.new is not None


def deleted(change: Change[Any]) -> bool:
    """Deletions: the object is gone."""
    return change.new is None


def any_of(*predicates: Predicate[O]) -> Predicate[O]:
    """Passes what at least one of them passes."""
    return lambda change: any(predicate(change) for predicate in predicates)


def all_of(*predicates: Predicate[O]) -> Predicate[O]:
    """Passes what all of them pass."""
    return lambda change: all(predicate(change) for predicate in predicates)


def negate(predicate: Predicate[O]) -> Predicate[O]:
    """Passes what it does not."""
    return lambda change: not predicate(change)
