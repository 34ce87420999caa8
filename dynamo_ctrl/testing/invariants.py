"""What must hold of a manager and its server, whatever happened to them. Each check tells what does not hold, in words.

    assert list(cache_faults(manager, core)) == []

They compare with the plainest way to find the same thing: the server's list, and a look at every object of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from dynamo_ctrl.cache.shared_informer import SharedInformer
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.engine.errors import NotFound
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.port import AnyKind, ListOptions
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

AnyObject = Object[Any, Any]

SHOWN: Final = 3
"""Differences that are told of one comparison."""


# --- caches


def cache_faults(manager: Manager, core: Core) -> Iterator[str]:
    """Where an informer of `manager` shows something else than the server has, or finds it differently."""
    for informer in manager.cache.informers:
        for fault in (*_content_faults(informer, core), *_lookup_faults(informer), *_counter_faults(informer)):
            yield f"{informer.kind}: {fault}"


def expected(informer: SharedInformer[Any], core: Core) -> dict[tuple[str, str], AnyObject]:
    """What that informer should hold: the server's list, as the informer reads it."""
    selection = informer.selection
    labels, fields = str(selection.labels), selection.field_query
    try:
        items = [
            raw
            for scope in selection.scopes
            for raw in core.list(
                informer.kind, ListOptions(namespace=scope, label_selector=labels, field_selector=fields)
            ).items
        ]
    except NotFound:
        return {}
    read = (informer.intake.read(raw) for raw in items)
    return {(obj.metadata.namespace, obj.metadata.name): obj for obj in read if obj is not None}


def _content_faults(informer: SharedInformer[Any], core: Core) -> Iterator[str]:
    absent = informer.state.phase is Phase.ABSENT
    if informer.state.phase is not Phase.LIVE and not absent:
        yield f"is {informer.state}"
    there, wanted = _by_key(informer.store.list()), expected(informer, core)
    if absent and wanted:
        yield "is absent, and the server serves it"
    yield from _differences(
        "object", {at: obj.raw for at, obj in there.items()}, {at: o.raw for at, o in wanted.items()}
    )
    told = _by_key(informer.store.told())
    yield from _differences("told", {at: o.raw for at, o in told.items()}, {at: o.raw for at, o in wanted.items()})


def _counter_faults(informer: SharedInformer[Any]) -> Iterator[str]:
    counts = informer.counts()
    for name in ("defects", "malformed", "index_failures", "own_writes", "pending"):
        if number := getattr(counts, name):
            yield f"{number} {name.replace('_', ' ')}"
    objects = informer.store.list()
    if counts.objects != len(objects):
        yield f"counts {counts.objects} objects, and there are {len(objects)}"
    size = sum(len(obj.raw) for obj in objects)
    if counts.bytes != size:
        yield f"counts {counts.bytes} bytes, and there are {size}"


def _lookup_faults(informer: SharedInformer[Any]) -> Iterator[str]:
    """Indexes, labels and owners against a look at every object."""
    store, objects = informer.store, informer.store.list()
    for index in store.indexes:
        filed = {str(value) for obj in objects for value in index.values(obj)}
        for value in (*filed, "nobody has this"):
            found = store.by_index(index.name, value)
            yield from _found(f"index {index.name}={value}", found, [o for o in objects if value in index.values(o)])
    labels = {(key, value) for obj in objects for key, value in obj.metadata.labels.items()}
    for key, value in labels:
        for text in (f"{key}={value}", f"{key}!={value}", key, f"!{key}", f"{key} in ({value},other)"):
            selector = LabelSelector.parse(text)
            wanted = [obj for obj in objects if selector.matches(obj.metadata.labels)]
            yield from _found(f"selector {text}", store.select(selector), wanted)
    for namespace in {obj.metadata.namespace for obj in objects}:
        wanted = [obj for obj in objects if obj.metadata.namespace == namespace]
        yield from _found(f"namespace {namespace}", store.list(namespace), wanted)
    owners = [owner.uid for obj in objects if (owner := obj.metadata.controller) is not None]
    for uid in {*owners, "nobody"}:
        wanted = [o for o in objects if (owner := o.metadata.controller) is not None and owner.uid == uid]
        yield from _found(f"owner {uid}", store.owned(uid), wanted)


def _found(what: str, found: Iterable[AnyObject], wanted: Iterable[AnyObject]) -> Iterator[str]:
    left, right = [str(obj.key) for obj in found], [str(obj.key) for obj in wanted]
    if left != right:
        yield f"{what} finds {left}, not {right}"


def _by_key(objects: Iterable[AnyObject]) -> dict[tuple[str, str], AnyObject]:
    return {(obj.metadata.namespace, obj.metadata.name): obj for obj in objects}


def _differences(what: str, there: Mapping[Any, Any], wanted: Mapping[Any, Any]) -> Iterator[str]:
    differing = [at for at in {**there, **wanted} if there.get(at) != wanted.get(at)]
    for at in differing[:SHOWN]:
        yield f"{what} {at} is {there.get(at)!r}, not {wanted.get(at)!r}"
    if len(differing) > SHOWN:
        yield f"{what}: {len(differing) - SHOWN} more differ"


# --- controllers


def work_faults(controller: Controller, *, waits: bool = True) -> Iterator[str]:
    """What a controller that has nothing to do still has; with `waits` also the keys that wait for their time."""
    queue = controller.queue
    waiting = queue.waiting if waits else 0
    for what, number in (("ready", len(queue)), ("running", queue.processing), ("waiting", waiting)):
        if number:
            yield f"controller {controller.name}: {number} keys are {what}"
    for reason, why in controller.reasons.items():
        yield f"controller {controller.name}: {reason}: {why}"


# --- what a world has come to

_VOLATILE: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def end_state(core: Core, kinds: Iterable[AnyKind]) -> dict[str, list[Any]]:
    """The objects of those kinds without what differs from run to run: uids, versions, times, generated names."""
    state: dict[str, list[Any]] = {}
    for kind in kinds:
        trees = [msgspec.json.decode(raw) for raw in core.list(kind, ListOptions()).items]
        state[str(kind)] = sorted((stable(tree) for tree in trees), key=repr)
    return state


def stable(tree: dict[str, Any]) -> Any:
    """One object without what differs from run to run."""
    metadata = {name: value for name, value in tree["metadata"].items() if name not in _VOLATILE}
    if generated := metadata.get("generateName"):
        metadata["name"] = f"{generated}*"
    owners = [
        {name: value for name, value in owner.items() if name != "uid"} for owner in metadata.pop("ownerReferences", ())
    ]
    return _masked({**tree, "metadata": {**metadata, "owners": owners}})


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _masked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if isinstance(value, str):
        return _UID.sub("<uid>", _TIME.sub("<time>", value))
    return value
