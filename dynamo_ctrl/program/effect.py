"""Effects: the closed set of things that a program can ask for.

An effect is a value. It says what should be so; `dynamo_ctrl.program.outcome` decides, just before sending, whether that needs
a write. Each effect is its own identity: two equal-looking effects are two entries of a report.

An `event` hung on an effect is told only after a real write.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeAlias

from dynamo_ctrl.engine.port import Propagation
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch as Change

AnyObject: TypeAlias = Object[Any, Any]


class Retry(Enum):
    """What follows a failure."""

    BACKOFF = "backoff"
    """Try again later, ever more slowly."""
    NEVER = "never"
    """Terminal: only a change of the object (or of what it depends on) brings the next attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A Kubernetes event about the primary, or about `regarding`."""

    type: Literal["Normal", "Warning"]
    reason: str
    note: str
    action: str = "Reconcile"
    regarding: AnyObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPolicy:
    """How `Sync` recognises that a child must be written.

    The child carries two annotations: the hash of the spec that was last applied, and the generation that it led to. A child
    whose spec was edited by hand since is written again; fields that the server defaults are not (G 3.10). One that is being
    deleted is written for a new wish only.

    Attributes:
        prefix: of the two annotations, as `nvidia.com/`: `<prefix>last-applied-hash`, `<prefix>last-applied-generation`.
        metadata: `converge` also brings labels and annotations that the child declares to their declared values;
            `create` sets them at creation only.
    """

    prefix: str
    metadata: Literal["create", "converge"] = "create"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sync:
    """The child exists, is controlled by the primary, and has that spec.

    Attributes:
        child: what is wanted. Its owner reference is added by the executor.
        policy: how a difference is recognised.
        shared_owner: the primary is one of its owners, and controls it no more than the others do; whoever controls it, it is
            not refused. It goes with the last of its owners.
        event: told after a real write.
    """

    child: AnyObject
    policy: SyncPolicy
    shared_owner: bool = False
    event: Event | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Create:
    """An object with that name exists. It is never changed afterwards. With `generateName` every attempt makes a new one.

    `owned` adds the controller reference to the primary.
    """

    object: AnyObject
    owned: bool = True
    event: Event | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CreateOnce:
    """A generated secret exists. `fill` makes its data only when it is missing.

    A key for `fill` copies data and type of the object of the same kind that has that key, which must be there.

    The filled object is never compared, cached, planned, explained or logged.
    """

    object: AnyObject
    fill: Callable[[], Awaitable[Mapping[str, bytes]]] | Key
    owned: bool = True
    event: Event | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Patch:
    """Another object carries that patch. Nothing is sent when the object as it was read already satisfies it.

    The write is bound to the uid of `target` and, with `same_generation`, to its generation. `failed` is told, with the text
    of the error after its own, when the write did not come about: it was refused, or somebody else was faster.
    """

    target: AnyObject
    patch: Change
    same_generation: bool = False
    event: Event | None = None
    failed: Event | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PatchPrimary:
    """The primary carries that merge patch (metadata and spec; status has no API here)."""

    patch: Change
    event: Event | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Delete:
    """That very object is gone. Sent with its uid and resourceVersion; "not found" is success.

    `owned` refuses (ownership conflict) when the primary does not control it. `grace_seconds` (Pods only) takes the place of
    the grace that the object asks for, and shortens that of one that is being deleted already: 0 ends it, as a kubelet does.
    """

    target: AnyObject
    owned: bool = True
    propagation: Propagation = "Background"
    grace_seconds: int | None = None
    event: Event | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scale:
    """The object has that many replicas, written through its scale subresource. A missing object is left alone."""

    kind: Kind[Any]
    key: Key
    replicas: int
    event: Event | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EnsureFinalizer:
    """The primary carries that finalizer. Written by a JSON patch with a test, so that nobody's entry is lost."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RemoveFinalizer:
    """The primary does not carry that finalizer any more; written as `EnsureFinalizer` is."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Refuse:
    """The program's own failure, at its place in the order of the steps.

    Attributes:
        message: for people.
        retry: whether trying again can help.
        error: the error that led here, if there was one.
    """

    message: str
    retry: Retry = Retry.BACKOFF
    error: Exception | None = None


Effect: TypeAlias = (
    Sync | Create | CreateOnce | Patch | PatchPrimary | Delete | Scale | EnsureFinalizer | RemoveFinalizer | Refuse
)
"""Everything that a step can hold."""


def subject(effect: Effect, primary: AnyObject) -> Ref | None:
    """The object that an effect of `primary` is about, as far as the effect itself knows it; `None` for a refusal."""
    match effect:
        case Sync():
            return effect.child.ref
        case Create() | CreateOnce():
            return effect.object.ref
        case Patch() | Delete():
            return effect.target.ref
        case Scale():
            return effect.kind.ref(effect.key)
        case Refuse():
            return None
        case _:
            return primary.ref
