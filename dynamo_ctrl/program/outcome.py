"""`outcome`: whether an effect needs a write, and which one. The only place that decides it.

Pure. It is asked just before sending, with the newest primary and a lookup that knows the answers of earlier steps; the
executor sends what it says, `predicted` computes with it.

Rules that hold for every effect:

- What is true already is `Unchanged`: a converged world causes no write.
- A write is bound to what was seen (`dynamo_ctrl.program.binding`); an object that is not the one the program read any more
  is refused with `Conflict`, which ends the attempt quietly.
- A child of somebody else is never touched (G 2.7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.engine.errors import Conflict
from dynamo_ctrl.engine.port import Preconditions, Propagation
from dynamo_ctrl.objects.difference import ABSENT, Difference, changed_paths, differences
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.owners import is_controlled_by, owner_reference, refers_to
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.objects.patch import PatchError
from dynamo_ctrl.program.binding import Bound, bound_patch, operations
from dynamo_ctrl.program.effect import (
    AnyObject,
    Create,
    CreateOnce,
    Delete,
    Effect,
    EnsureFinalizer,
    Patch,
    PatchPrimary,
    Refuse,
    RemoveFinalizer,
    Retry,
    Scale,
    Sync,
)
from dynamo_ctrl.program.errors import OwnershipConflict, Refusal
from dynamo_ctrl.program.sync import Action, bookkeeping, content_hash, converged, declared, verdict

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Lookup(Protocol):
    """The part of a `View` that decides: one object by its key."""

    def get(self, kind: Kind[O], key: Key | str) -> O | None:
        """The newest object that is known with that key."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing has to be sent. `live` is the object as it is known; `None` where there is none."""

    live: AnyObject | None


@dataclass(frozen=True, slots=True)
class Creation:
    """`body` is to be created. That of a `CreateOnce` gets its data first."""

    body: AnyObject


@dataclass(frozen=True, slots=True)
class Update:
    """`patch` is to be sent to `live`.

    Attributes:
        subresource: empty, or `scale`.
        differences: what differs, old and new.
        edited: it undoes a change that somebody made by hand.
    """

    live: AnyObject
    patch: Change
    differences: tuple[Difference, ...]
    subresource: str = ""
    edited: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Where it differs, as `spec.replicas`."""
        return tuple(difference.path for difference in self.differences)

    def predicted(self) -> AnyObject:
        """The object after the patch, as far as it can be told without a server."""
        patch = self.patch
        if patch.type == "json":
            patch = Change.json([step for step in msgspec.json.decode(patch.body) if step.get("op") != "test"])
        predicted: AnyObject = self.live.kind.object(patch.apply(self.live.content()))
        return predicted


@dataclass(frozen=True, slots=True)
class Deletion:
    """`live` is to be deleted, under those preconditions."""

    live: AnyObject
    preconditions: Preconditions
    propagation: Propagation
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The effect is not carried out; `error` says why."""

    error: Exception
    retry: Retry = Retry.BACKOFF


Outcome: TypeAlias = Unchanged | Creation | Update | Deletion | Refused


def outcome(effect: Effect, primary: AnyObject, view: Lookup) -> Outcome:
    """What `effect` needs, given the newest `primary` and what `view` knows.

    Raises:
        SourceUnavailable: the kind of the effect's object cannot be read now.
    """
    try:
        return _decide(effect, primary, view)
    except (InvalidObject, PatchError) as error:
        return Refused(error)


def _decide(effect: Effect, primary: AnyObject, view: Lookup) -> Outcome:
    match effect:
        case Sync():
            return _sync(effect, primary, view)
        case Create() | CreateOnce():
            return _creation(effect.object, primary if effect.owned else None, view, primary.metadata.namespace)
        case Patch():
            return _patch(effect, view)
        case PatchPrimary():
            return _patch_primary(effect.patch, primary)
        case Delete():
            return _delete(effect, primary, view)
        case Scale():
            return _scale(effect, view)
        case EnsureFinalizer():
            return _ensure_finalizer(effect.name, primary)
        case RemoveFinalizer():
            return _remove_finalizer(effect.name, primary)
        case Refuse():
            return Refused(effect.error or Refusal(effect.message), effect.retry)
    raise TypeError(f"no effect: {type(effect).__name__}")


def _sync(effect: Sync, primary: AnyObject, view: Lookup) -> Outcome:
    child = _placed(effect.child, primary.metadata.namespace)
    if not child.metadata.name:
        raise InvalidObject(str(child.kind), "metadata.name", "a synced child has a fixed name")
    live = view.get(child.kind, child.key)
    desired = child.content()
    if live is None:
        first = bookkeeping(effect.policy.prefix, content_hash(desired), 1)
        return Creation(_body(child, primary, first, shared=effect.shared_owner))
    if not effect.shared_owner and not is_controlled_by(live, primary):
        return Refused(OwnershipConflict(_foreign(live, primary), live=live))
    found = verdict(live, desired, effect.policy.prefix)
    wish_is_new = found.action is Action.WRITE and not found.edited
    if live.metadata.deletion_timestamp is not None and not wish_is_new:
        return Unchanged(live)  # a deletion moves the generation, too: nobody edited it
    before, metadata = live.content(), desired["metadata"]
    labels: Mapping[str, str] = {}
    annotations = found.annotations
    if effect.policy.metadata == "converge":
        labels = metadata.get("labels") or {}
        annotations = converged(live, metadata.get("annotations") or {}, found, effect.policy.prefix)
    owners = _with_owner(live, primary) if effect.shared_owner else {}
    after = {**before, "metadata": {**_with_maps(before["metadata"], annotations=annotations, labels=labels), **owners}}
    changes = operations(before["metadata"], after["metadata"], "/metadata")
    if found.action is Action.WRITE:
        old, new = declared(before), declared(desired)
        changes += [
            {"op": "replace" if name in old else "add", "path": f"/{name}", "value": value}
            for name, value in sorted(new.items())
        ]
        changes += [{"op": "remove", "path": f"/{name}"} for name in sorted(old.keys() - new.keys())]
        after = {name: value for name, value in after.items() if name not in old} | new
    if not changes:
        return Unchanged(live)
    differ = tuple(differences(before, after))
    bound: Bound = "version" if owners else "generation"  # no owner that came meanwhile may be lost
    return Update(live, bound_patch(live, changes, bound), differ, edited=found.edited)


def _creation(wanted: AnyObject, owner: AnyObject | None, view: Lookup, namespace: str) -> Unchanged | Creation:
    wanted = _placed(wanted, namespace)
    live = view.get(wanted.kind, wanted.key) if wanted.metadata.name else None
    return Creation(_body(wanted, owner, {})) if live is None else Unchanged(live)


def _patch(effect: Patch, view: Lookup) -> Outcome:
    target = effect.target
    live = _newest(target, view)
    if live is None or live.metadata.uid != target.metadata.uid:
        return Refused(Conflict(f"{target.ref} is not the object that was read any more (uid {target.metadata.uid})"))
    changes, differ = _changes(live, effect.patch)
    if not differ:
        return Unchanged(live)
    if effect.same_generation and live.metadata.generation != target.metadata.generation:
        return Refused(Conflict(f"{target.ref} changed since it was read (generation {target.metadata.generation})"))
    return Update(live, bound_patch(live, changes, "generation" if effect.same_generation else "uid"), differ)


def _patch_primary(patch: Change, primary: AnyObject) -> Outcome:
    changes, differ = _changes(primary, patch)
    return Update(primary, bound_patch(primary, changes, "version"), differ) if differ else Unchanged(primary)


def _changes(live: AnyObject, patch: Change) -> tuple[list[dict[str, Any]], tuple[Difference, ...]]:
    """The operations of `patch` on `live`, and what they change. Status has one writer: not this one."""
    before = live.content()
    after = patch.apply(before)
    if (
        live.kind.status_subresource
        and next(changed_paths(before.get("status"), after.get("status")), None) is not None
    ):
        raise InvalidObject(f"{live.kind.kind} {live.key}", "status", "is written by its own reconciler only")
    changes = operations(before, after) if patch.type == "merge" else msgspec.json.decode(patch.body)
    return changes, tuple(differences(before, after))


def _delete(effect: Delete, primary: AnyObject, view: Lookup) -> Outcome:
    target = effect.target
    live = _newest(target, view)
    if live is None or live.metadata.uid != target.metadata.uid:
        return Unchanged(None)
    if effect.owned and not is_controlled_by(live, primary):
        return Refused(OwnershipConflict(_foreign(live, primary), live=live))
    if live.metadata.deletion_timestamp is not None and not _shortens(effect.grace_seconds, live):
        return Unchanged(live)
    if live.metadata.resource_version != target.metadata.resource_version:
        return Refused(Conflict(f"{target.ref} changed since it was read; whether it may go must be decided again"))
    seen = Preconditions(uid=live.metadata.uid, resource_version=live.metadata.resource_version)
    return Deletion(live, seen, effect.propagation, effect.grace_seconds)


def _shortens(grace_seconds: int | None, live: AnyObject) -> bool:
    """Whether an object that is being deleted waits for longer than that."""
    return grace_seconds is not None and grace_seconds < (live.metadata.deletion_grace_period_seconds or 0)


def _scale(effect: Scale, view: Lookup) -> Outcome:
    live = view.get(effect.kind, effect.key)
    if live is None:
        return Unchanged(None)
    replicas = (live.content().get("spec") or {}).get("replicas", ABSENT)
    if replicas == effect.replicas:
        return Unchanged(live)
    patch = bound_patch(live, [{"op": "add", "path": "/spec/replicas", "value": effect.replicas}], "uid")
    return Update(live, patch, (Difference("spec.replicas", replicas, effect.replicas),), subresource="scale")


def _ensure_finalizer(name: str, primary: AnyObject) -> Outcome:
    present = primary.metadata.finalizers
    if name in present:
        return Unchanged(primary)
    if not present:
        add = [{"op": "add", "path": "/metadata/finalizers", "value": [name]}]
        return Update(primary, bound_patch(primary, add, "version"), _finalizers(present, (name,)))
    add = [
        {"op": "test", "path": "/metadata/finalizers", "value": list(present)},
        {"op": "add", "path": "/metadata/finalizers/-", "value": name},
    ]
    return Update(primary, bound_patch(primary, add, "uid"), _finalizers(present, (*present, name)))


def _remove_finalizer(name: str, primary: AnyObject) -> Outcome:
    present = primary.metadata.finalizers
    if name not in present:
        return Unchanged(primary)
    path = f"/metadata/finalizers/{present.index(name)}"
    remove = [{"op": "test", "path": path, "value": name}, {"op": "remove", "path": path}]
    kept = tuple(each for each in present if each != name)
    return Update(primary, bound_patch(primary, remove, "uid"), _finalizers(present, kept))


def _finalizers(old: Sequence[str], new: Sequence[str]) -> tuple[Difference, ...]:
    return (Difference("metadata.finalizers", list(old) or ABSENT, list(new) or ABSENT),)


def _newest(target: AnyObject, view: Lookup) -> AnyObject | None:
    """The target as it is known now; itself where its kind is not cached (it was found in another way)."""
    try:
        found: AnyObject | None = view.get(target.kind, target.key)
    except SourceUnavailable:
        return target
    return found


def _placed(wanted: AnyObject, namespace: str) -> AnyObject:
    """An object of a namespaced kind that names no namespace lives in that of the primary."""
    if wanted.metadata.namespace or not wanted.kind.namespaced:
        return wanted
    content = wanted.content()
    placed: AnyObject = wanted.kind.object({**content, "metadata": {**content["metadata"], "namespace": namespace}})
    return placed


def _body(
    wanted: AnyObject, owner: AnyObject | None, annotations: Mapping[str, str], *, shared: bool = False
) -> AnyObject:
    content = wanted.content()
    metadata = _with_maps(content["metadata"], annotations=annotations)
    if owner is not None and (shared or wanted.metadata.controller is None):
        metadata |= _with_owner(wanted, owner, controller=not shared)
    body: AnyObject = wanted.kind.object({**content, "metadata": metadata})
    return body


def _with_owner(owned: AnyObject, owner: AnyObject, *, controller: bool = False) -> dict[str, Any]:
    """The owner references with one to `owner`; nothing if it is an owner and need not be more."""
    others = [reference for reference in owned.metadata.owner_references if not refers_to(reference, owner)]
    if not controller and len(others) < len(owned.metadata.owner_references):
        return {}
    if owner.metadata.namespace and owner.metadata.namespace != owned.metadata.namespace:
        rule = f"a child lives in its owner's namespace ({owner.metadata.namespace}), or the server collects it"
        raise InvalidObject(f"{owned.kind.kind} {owned.key}", "metadata.namespace", rule)
    reference = owner_reference(owner, controller=controller, block=controller)
    return {"ownerReferences": [msgspec.to_builtins(each) for each in (*others, reference)]}


def _with_maps(metadata: Mapping[str, Any], **maps: Mapping[str, str]) -> dict[str, Any]:
    """`metadata` with the entries of each map added to the map of that name."""
    return {**metadata, **{name: {**(metadata.get(name) or {}), **more} for name, more in maps.items() if more}}


def _foreign(live: AnyObject, primary: AnyObject) -> str:
    owner = live.metadata.controller
    found = f"controlled by {owner.kind} {owner.name} (uid {owner.uid})" if owner else "controlled by nobody"
    return f"{live.ref} is {found}, not by {primary.ref} (uid {primary.metadata.uid})"
