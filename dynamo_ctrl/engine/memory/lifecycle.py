"""An object's metadata from creation to the last finalizer.

Contract: what belongs to the server (uid, creationTimestamp, generation, deletion) is never taken from a client. Every
function works on plain trees of one request and has no other effect.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from dynamo_ctrl.engine.memory.served import Served, Tree
from dynamo_ctrl.objects.conditions import rfc3339

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_MAX_GENERATED_BASE: Final = 63 - _SUFFIX_LENGTH
_OF_THE_SERVER: Final = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
                         "selfLink", "managedFields", "resourceVersion")  # fmt: skip


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
