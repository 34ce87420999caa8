"""The metadata that clients send: read, and checked against the rules that hold for every object."""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.engine.memory import names
from dynamo_ctrl.engine.memory.field_error import FieldError, forbidden_field, invalid_value, quote, required
from dynamo_ctrl.engine.memory.lifecycle import FOREGROUND, ORPHAN
from dynamo_ctrl.engine.memory.served import Served, Tree
from dynamo_ctrl.engine.memory.shape import METADATA, Unreadable

_STANDARD_FINALIZERS: Final = frozenset({FOREGROUND, ORPHAN, "kubernetes"})
_KNOWN: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
)  # fmt: skip
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def read_metadata(sent: Tree) -> Tree:
    """The metadata that was sent and fits its shape, with only the fields that metadata has."""
    metadata = known_metadata(sent)
    if "ownerReferences" in metadata:
        metadata["ownerReferences"] = [
            {field: owner[field] for field in _OWNER_FIELDS if field in owner} for owner in metadata["ownerReferences"]
        ]
    return metadata


def unknown_metadata(sent: Tree) -> list[str]:
    """The fields that metadata does not have, of what was sent."""
    return sorted(sent.keys() - _KNOWN - {"managedFields"})


def known_metadata(sent: Tree) -> Tree:
    """What metadata has, of what was sent: no unknown fields, no empty ones."""
    return {field: sent[field] for field in _KNOWN if sent.get(field) not in (None, "", {}, [])}


def type_fault(sent: Any) -> str | None:
    """What cannot be read as metadata, because it is of another JSON type; `None` when all is well."""
    try:
        METADATA.check(sent)
    except Unreadable as fault:
        return str(fault)
    return None


def metadata_errors(metadata: Tree, served: Served) -> list[FieldError]:
    """The rules of metadata that hold for every object."""
    errors: list[FieldError] = []
    name = metadata.get("name", "")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid_value("metadata.name", name, fault) for fault in names.name_faults(name, served.name_rule)]
    errors += names.label_errors(metadata.get("labels") or {}, "metadata.labels")
    errors += names.annotation_errors(metadata.get("annotations") or {}, "metadata.annotations")
    errors += _owner_errors(metadata.get("ownerReferences") or [])
    errors += _finalizer_errors(metadata.get("finalizers") or [], custom=served.custom)
    return errors


def _owner_errors(owners: list[Tree]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{index}]"
        if not owner.get("apiVersion"):
            errors.append(invalid_value(f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty"))
        errors += [
            required(f"{path}.{field}", "must not be empty")
            for field in ("kind", "name", "uid")
            if not owner.get(field)
        ]
    controllers = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        first, second = controllers[:2]
        rule = (
            f'Only one reference can have Controller set to true. Found "true" in references for {first} and {second}'
        )
        errors.append(invalid_value("metadata.ownerReferences", owners, rule))
    return errors


def _finalizer_errors(finalizers: list[str], *, custom: bool) -> list[FieldError]:
    path = "metadata.finalizers"
    errors = [invalid_value(path, name, fault) for name in finalizers for fault in names.qualified_faults(name)]
    if FOREGROUND in finalizers and ORPHAN in finalizers:
        errors.append(invalid_value(path, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    if not custom:
        rule = "name is neither a standard finalizer name nor is it fully qualified"
        errors += [
            invalid_value(f"{path}[{index}]", name, rule)
            for index, name in enumerate(finalizers)
            if "/" not in name and name not in _STANDARD_FINALIZERS
        ]
    return errors


def update_errors(metadata: Tree, old: Tree) -> list[FieldError]:
    """The rules of metadata that hold for a change."""
    errors: list[FieldError] = []
    if "deletionTimestamp" in old:
        added = [f for f in metadata.get("finalizers") or [] if f not in (old.get("finalizers") or [])]
        if added:
            listed = ", ".join(quote(f) for f in sorted(added))
            errors.append(
                forbidden_field(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new finalizers "
                    f"[]string{{{listed}}}",
                )
            )
    errors += [
        invalid_value(f"metadata.{field}", metadata.get(field), "field is immutable")
        for field in ("name", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
        if metadata.get(field) != old.get(field)
    ]
    return errors
