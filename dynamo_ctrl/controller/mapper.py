"""Mappers: from an object of any kind to the keys of the primaries that it concerns.

A mapper is asked for the old and for the new side of a change, so that an object that moves between owners wakes both; the
keys of both are united. It may read the view (an index, an owner's owner).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

Mapper: TypeAlias = Callable[[O, View], Iterable[Key]]


def to_self(obj: Object[Any, Any], view: View) -> Iterable[Key]:
    """The object's own key."""
    del view
    return (obj.key,)


def to_controller(kind: Kind[Any]) -> Mapper[Any]:
    """The key of the controller owner, if it is of `kind` (group and kind; any version)."""

    def keys(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        del view
        owner = obj.metadata.controller
        if owner is None or owner.kind != kind.kind or owner.group != kind.group:
            return ()
        return (Key(obj.metadata.namespace if kind.namespaced else "", owner.name),)

    return keys


def to_owners(kind: Kind[Any]) -> Mapper[Any]:
    """The keys of all owners of `kind` (group and kind; any version), whether they control the object or not."""

    def keys(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        del view
        namespace = obj.metadata.namespace if kind.namespaced else ""
        owners = obj.metadata.owner_references
        return [Key(namespace, owner.name) for owner in owners if (owner.kind, owner.group) == (kind.kind, kind.group)]

    return keys


def by_label(label: str) -> Mapper[Any]:
    """The key with the label's value as name, in the object's namespace; nothing without the label."""

    def keys(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        del view
        name = obj.metadata.labels.get(label)
        return (Key(obj.metadata.namespace, name),) if name else ()

    return keys
