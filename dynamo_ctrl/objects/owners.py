"""Owner references: who controls an object, and who may."""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.objects.metadata import OwnerReference
from dynamo_ctrl.objects.object import Object


def owner_reference(owner: Object[Any, Any], *, controller: bool = True, block: bool = True) -> OwnerReference:
    """The reference that makes an object a dependant of `owner`."""
    return OwnerReference(
        api_version=owner.kind.api_version,
        kind=owner.kind.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True if controller else None,
        block_owner_deletion=True if block else None,
    )


def refers_to(reference: OwnerReference, owner: Object[Any, Any]) -> bool:
    """Whether `reference` means `owner`: group, kind, name and uid agree; the version does not take part."""
    return (
        reference.uid == owner.metadata.uid
        and reference.name == owner.metadata.name
        and reference.kind == owner.kind.kind
        and reference.group == owner.kind.group
    )


def is_controlled_by(obj: Object[Any, Any], owner: Object[Any, Any]) -> bool:
    """Whether `owner` is the one controller of `obj`."""
    reference = obj.metadata.controller
    return reference is not None and refers_to(reference, owner)
