"""An object's metadata from creation to the last finalizer.

Contract: what belongs to the server (uid, creationTimestamp, generation, deletion) is never taken from a client; what a
client may set is checked. Every function works on plain trees of one request and has no other effect.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from dynamo_ctrl.engine.memory import failure, names
from dynamo_ctrl.engine.memory.failure import FieldError, forbidden_field, invalid_value, required
from dynamo_ctrl.engine.memory.served import Served, Tree
from dynamo_ctrl.objects.conditions import rfc3339

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

_STANDARD_FINALIZERS: Final = frozenset({FOREGROUND, ORPHAN, "kubernetes"})
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_MAX_GENERATED_BASE: Final = 63 - _SUFFIX_LENGTH
_OF_THE_SERVER: Final = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
                         "selfLink", "managedFields", "resourceVersion")  # fmt: skip
_KNOWN: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
)  # fmt: skip
_STRINGS: Final = ("name", "generateName", "namespace", "uid", "resourceVersion")
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def read_metadata(tree: Tree, served: Served) -> Tree:
    """The object's metadata with only the fields that metadata has, put in place of what was sent.

    Raises:
        BadRequest: a field of another JSON type.
    """
    sent = tree.get("metadata")
    if sent is None:
        sent = {}
    if not isinstance(sent, dict):
        raise _unreadable(served, sent, "metadata of type v1.ObjectMeta")
    for field in _STRINGS:
        if not isinstance(sent.get(field, ""), str | None):
            raise _unreadable(served, sent[field], f"ObjectMeta.{field} of type string")
    for field in ("labels", "annotations"):
        _check_strings(served, sent.get(field), field)
    for field in ("ownerReferences", "finalizers"):
        if not isinstance(sent.get(field), list | None):
            raise _unreadable(served, sent[field], f"ObjectMeta.{field} of type []string")
    metadata = known_metadata(sent)
    owners = metadata.get("ownerReferences")
    if owners:
        if not all(isinstance(owner, dict) for owner in owners):
            raise _unreadable(served, owners, "ObjectMeta.ownerReferences of type v1.OwnerReference")
        metadata["ownerReferences"] = [
            {field: owner[field] for field in _OWNER_FIELDS if owner.get(field) is not None} for owner in owners
        ]
    tree["metadata"] = metadata
    return metadata


def known_metadata(sent: Tree) -> Tree:
    """What metadata has, of what was sent: no unknown fields, no empty ones."""
    return {field: sent[field] for field in _KNOWN if sent.get(field) not in (None, "", {}, [])}


def _check_strings(served: Served, content: Any, field: str) -> None:
    if content is None:
        return
    if not isinstance(content, dict):
        raise _unreadable(served, content, f"ObjectMeta.{field} of type map[string]string")
    for value in content.values():
        if not isinstance(value, str):
            raise _unreadable(served, value, f"ObjectMeta.{field} of type string")


def _unreadable(served: Served, value: Any, where: str) -> Exception:
    version = served.storage_version
    return failure.bad_request(
        f'{served.kind} in version "{version}" cannot be handled as a {served.kind}: json: cannot unmarshal '
        f"{_json_type(value)} into Go struct field {where}"
    )


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "string"


def generated_name(base: str, random_: random.Random) -> str:
    """`base` with a random suffix, as the server makes a name from `generateName`."""
    suffix = "".join(random_.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))
    return f"{base[:_MAX_GENERATED_BASE]}{suffix}"


def start(metadata: Tree, served: Served, *, namespace: str, uid: str, now: datetime) -> None:
    """Make the metadata of a request that of a new object."""
    for field in _OF_THE_SERVER:
        metadata.pop(field, None)
    if served.namespaced:
        metadata["namespace"] = namespace
    metadata["uid"] = uid
    metadata["creationTimestamp"] = rfc3339(now)
    if served.keeps_generation:
        metadata["generation"] = 1


def carry_over(metadata: Tree, old: Tree) -> None:
    """Put into the metadata of an update what only the server may change."""
    for field in ("creationTimestamp", "generation", "namespace"):
        if field in old:
            metadata[field] = old[field]
        else:
            metadata.pop(field, None)
    metadata.setdefault("uid", old["uid"])
    if "deletionTimestamp" in old:
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old:
        metadata["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def mark_deleted(metadata: Tree, now: datetime, grace: int) -> None:
    """Begin the deletion of an object; a second time shortens the grace period and leaves the rest alone."""
    if "deletionTimestamp" in metadata:
        old_grace = metadata.get("deletionGracePeriodSeconds", 0)
        if old_grace <= grace:
            return
        now = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(seconds=old_grace)
    elif metadata.get("generation"):
        metadata["generation"] += 1
    metadata["deletionTimestamp"] = rfc3339(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace


def is_finished(metadata: Mapping[str, Any]) -> bool:
    """Whether nothing holds the object any more: it is being deleted, without finalizers and without grace."""
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )


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
    errors += _finalizer_errors(metadata.get("finalizers") or [])
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


def _finalizer_errors(finalizers: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, name in enumerate(finalizers):
        path = f"metadata.finalizers[{index}]"
        errors += [invalid_value(path, name, fault) for fault in names.qualified_faults(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            errors.append(
                invalid_value(path, name, "name is neither a standard finalizer name nor is it fully qualified")
            )
    if FOREGROUND in finalizers and ORPHAN in finalizers:
        rule = f"{ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(invalid_value("metadata.finalizers", finalizers, f"finalizers {rule}"))
    return errors


def update_errors(metadata: Tree, old: Tree) -> list[FieldError]:
    """The rules of metadata that hold for a change."""
    errors: list[FieldError] = []
    if "deletionTimestamp" in old:
        added = [f for f in metadata.get("finalizers") or [] if f not in (old.get("finalizers") or [])]
        if added:
            listed = ", ".join(failure.quote(f) for f in sorted(added))
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
