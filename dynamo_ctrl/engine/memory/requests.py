"""What a client sends: read, brought into shape, and refused where it does not even make sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dynamo_ctrl.engine.memory import failure
from dynamo_ctrl.engine.memory.history import Filter
from dynamo_ctrl.engine.memory.metadata import read_metadata, unknown_metadata
from dynamo_ctrl.engine.memory.scaling import SCALE
from dynamo_ctrl.engine.memory.served import Served, Tree
from dynamo_ctrl.engine.memory.shape import ENVELOPE, METADATA, Unreadable
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.selector import FieldSelector, InvalidSelector, LabelSelector

_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata"})
_METADATA_FIELDS: Final = ("metadata.name", "metadata.namespace")
SCALE_VERSION: Final = "autoscaling/v1"


def read(served: Served, version: str, body: bytes, *, strict: bool = False) -> Tree:
    """The object in the body of a create or an update.

    Raises:
        BadRequest: not JSON, not an object, or an object of another kind; with `strict`, a field that the kind does not have.
    """
    tree = _decode(body, served.kind)
    try:
        content = check(served, version, tree)
    except Unreadable as fault:
        raise failure.unreadable(served.kind, version, fault) from fault
    if strict and (fields := unknown(served, version, tree)):
        raise failure.unreadable(served.kind, version, failure.unknown_fields(fields))
    return content


def read_patched(served: Served, version: str, tree: Tree, *, strict: bool = False) -> Tree:
    """The object that a patch made.

    Raises:
        BadRequest: an object of another kind.
        Invalid: a field of another type; with `strict`, a field that the kind does not have.
    """
    try:
        content = check(served, version, tree)
    except Unreadable as fault:
        raise failure.unreadable_patch(tree, fault) from fault
    if strict and (fields := unknown(served, version, tree)):
        raise failure.unreadable_patch(tree, failure.unknown_fields(fields))
    return content


def _decode(body: bytes, kind: str) -> Tree:
    """The object in a body, whose envelope can be read. Raises `BadRequest`."""
    told = f"{_unrecognised(kind)}: couldn't get version/kind; json parse error"
    try:
        tree = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise failure.bad_request(f"{told}: {error}") from error
    if not isinstance(tree, dict):
        raise failure.bad_request(f"{told}: not an object")
    try:
        ENVELOPE.check(tree)
    except Unreadable as fault:
        raise failure.bad_request(f"{told}: {fault}") from fault
    return tree


def unknown(served: Served, version: str, tree: Tree) -> list[str]:
    """The fields of an object that its kind does not have. Of built-in kinds only the first level is known here."""
    found = [f"metadata.{name}" for name in unknown_metadata(tree.get("metadata") or {})]
    if served.sections:
        known = served.sections | _ENVELOPE
        return found + sorted(name for name in tree if name not in known)
    return found + sorted(served.versions[version].unknown(tree))


def check(served: Served, version: str, tree: Tree) -> Tree:
    """The object with only the fields that its envelope has.

    Raises:
        BadRequest, Invalid: it is of another kind.
        Unreadable: a field is of another type. Everything after this relies on the types that the shape of the kind tells.
    """
    ENVELOPE.check(tree)
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    if served.custom:
        _check_custom(served, version, tree)
    elif (api_version or served.spoken(version)) != served.spoken(version) or (kind or served.kind) != served.kind:
        raise failure.bad_request(
            f'{kind} in version "{api_version}" cannot be handled as a {served.kind}: no kind "{kind}" is registered for '
            f'version "{api_version}"'
        )
    if served.shape is not None:
        served.shape.check(tree)
    elif tree.get("metadata") is not None:
        METADATA.check(tree["metadata"])
    metadata = read_metadata(tree.get("metadata") or {})
    rest = tree.items()
    if served.sections:
        rest = {name: value for name, value in tree.items() if name in served.sections and value is not None}.items()
    content = {name: value for name, value in rest if name not in _ENVELOPE}
    return {"apiVersion": served.api_version, "kind": served.kind, "metadata": metadata, **content}


def _check_custom(served: Served, version: str, tree: Tree) -> None:
    if not tree.get("kind"):
        text = msgspec.json.encode(tree).decode()
        raise failure.bad_request(f"{_unrecognised(served.kind)}: Object 'Kind' is missing in '{text}'")
    if not tree.get("apiVersion"):
        text = msgspec.json.encode(tree).decode()
        raise failure.bad_request(f"{_unrecognised(served.kind)}: Object 'apiVersion' is missing in '{text}'")
    if tree["apiVersion"] != served.spoken(version):
        raise failure.bad_request(
            f"the API version in the data ({tree['apiVersion']}) does not match the expected API version "
            f"({served.spoken(version)})"
        )
    if tree["kind"] != served.kind:
        metadata = tree.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        raise failure.wrong_kind(served, name if isinstance(name, str) else "", tree["kind"])


def _unrecognised(kind: str) -> str:
    return f"the object provided is unrecognized (must be of type {kind})"


def read_scale(body: bytes) -> Tree:
    """The Scale in the body of an update. Raises `BadRequest`."""
    try:
        return _check_scale(_decode(body, "Scale"))
    except Unreadable as fault:
        raise failure.unreadable("Scale", "v1", fault) from fault


def read_patched_scale(tree: Tree) -> Tree:
    """The Scale that a patch made. Raises `BadRequest` for another kind, `Invalid` for a field of another type."""
    try:
        return _check_scale(tree)
    except Unreadable as fault:
        raise failure.unreadable_patch(tree, fault) from fault


def _check_scale(tree: Tree) -> Tree:
    SCALE.check(tree)
    if tree.get("kind", "Scale") != "Scale" or tree.get("apiVersion", SCALE_VERSION) != SCALE_VERSION:
        raise failure.bad_request(f"expected {SCALE_VERSION} Scale, got {tree.get('apiVersion')} {tree.get('kind')}")
    return {**tree, "metadata": tree.get("metadata") or {}, "spec": tree.get("spec") or {}}


def check_name_of(metadata: Mapping[str, Any], key: Key, served: Served) -> None:
    """Refuse an object whose name or namespace is not that of the request. Raises `BadRequest`."""
    name = metadata.get("name", "")
    if not name:
        raise failure.bad_request(
            f"the name of the object ({key.name} based on URL) was undeterminable: name must be provided"
        )
    if name != key.name:
        raise failure.bad_request(f"the name of the object ({name}) does not match the name on the URL ({key.name})")
    check_namespace_of(served, metadata, key.namespace)


def check_namespace_of(served: Served, metadata: Mapping[str, Any], namespace: str) -> None:
    """Refuse an object whose namespace is not that of the request. Raises `BadRequest`."""
    given = metadata.get("namespace", "")
    if given and given != (namespace if served.namespaced else ""):
        raise failure.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def parse_filter(served: Served, namespace: str, labels: str, fields: str) -> Filter:
    """What a list or a watch selects. Raises `BadRequest`."""
    try:
        selector = Filter(
            namespace if served.namespaced else "",
            LabelSelector.parse(labels) if labels else LabelSelector(),
            FieldSelector.parse(fields) if fields else FieldSelector(),
        )
    except InvalidSelector as error:
        raise failure.bad_request(f"unable to parse requirement: {error}") from error
    for path, _, _ in selector.fields.terms:
        if path not in _METADATA_FIELDS and path not in served.selectable:
            raise failure.unknown_field(served, path)
    return selector


def success(served: Served, name: str, uid: str) -> bytes:
    """The Status that answers a delete that is complete."""
    details = {"name": name, **({"group": served.group} if served.group else {}), "kind": served.plural, "uid": uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return msgspec.json.encode(status)
