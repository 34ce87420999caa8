"""`keep_only`: a projection that keeps the named paths, without ever decoding the rest.

    SLIM_POD = keep_only("spec.nodeName", "status.phase", "status.containerStatuses[].restartCount")

It works on the text: what is not kept is skipped over while it is read, and what is kept is copied as it is. That costs a
fraction of a projection that is a function on the decoded object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dynamo_ctrl.objects.frozen import JsonMap

_ALWAYS: Final = (
    "apiVersion",
    "kind",
    *(
        f"metadata.{name}"
        for name in (
            "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
            "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "ownerReferences", "finalizers",
        )
    ),
)  # fmt: skip

_SEGMENT: Final = re.compile(r"\.?(?:(?P<name>[^.\[\]]+)|\[(?P<key>[^\[\]]+)\]|(?P<each>\[\]))")

_EACH: Final = "[]"

_Tree = dict[str, "_Tree"]


class InvalidPath(ValueError):
    """A path that cannot be read, or that is kept in two ways; the text says which and why."""


class KeepOnly:
    """A projection (see `dynamo_ctrl.cache.projection`) that keeps some paths. Make it with `keep_only`."""

    def __init__(self, tree: _Tree, then: Callable[[JsonMap], dict[str, Any]] | None) -> None:
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_struct(tree))
        self._then = then

    def __call__(self, content: JsonMap) -> dict[str, Any]:
        """The kept part of a decoded object."""
        kept: dict[str, Any] = msgspec.json.decode(self.text(msgspec.json.encode(content)))
        return kept

    def text(self, raw: bytes) -> bytes:
        """The kept part of an object's JSON text. Raises `msgspec.MsgspecError`, `UnicodeDecodeError`, or what `then` raises."""
        text = msgspec.json.encode(self._decoder.decode(raw))
        return text if self._then is None else msgspec.json.encode(self._then(msgspec.json.decode(text)))


def keep_only(*paths: str, then: Callable[[JsonMap], dict[str, Any]] | None = None) -> KeepOnly:
    """Keep these paths, and of the metadata what every object needs: everything but annotations and managedFields.

    Args:
        paths: `spec.nodeName`; `status.conditions[].type` for a field of each element of a list;
            `metadata.annotations[example.com/x]` for a key that has dots.
        then: a pure, idempotent function on what was kept, for what paths cannot say.

    Raises:
        InvalidPath: a path that cannot be read, or one inside another.
    """
    tree: _Tree = {}
    for path in (*_ALWAYS, *paths):
        _plant(tree, path)
    return KeepOnly(tree, then)


def _plant(tree: _Tree, path: str) -> None:
    names = tuple(_segments(path))
    if not names or names[0] == _EACH:
        raise InvalidPath(f"{path!r}: a path begins with a field")
    for depth, name in enumerate(names):
        if name in tree and (depth == len(names) - 1) != (not tree[name]):
            raise InvalidPath(f"{path!r}: it and a path inside it cannot both be kept")
        if tree and (name == _EACH) != (_EACH in tree):
            raise InvalidPath(f"{path!r}: it is a list here, and an object in another path")
        tree = tree.setdefault(name, {})


def _segments(path: str) -> Iterator[str]:
    at = 0
    while at < len(path):
        found = _SEGMENT.match(path, at)
        if found is None:
            raise InvalidPath(f"{path!r}: cannot be read from {path[at:]!r} on")
        yield found["name"] or found["key"] or _EACH
        at = found.end()


def _struct(tree: _Tree) -> type[Struct]:
    """The shape of what is kept: a struct whose fields are named by number, each of them absent by default."""
    names = {f"_{number}": name for number, name in enumerate(tree)}
    fields = [(field, _shape(tree[name]) | UnsetType, UNSET) for field, name in names.items()]
    return msgspec.defstruct("Kept", fields, rename=names, gc=False)


def _shape(tree: _Tree) -> Any:
    if not tree:
        return Raw
    if _EACH in tree:
        return list[_shape(tree[_EACH])] | None  # type: ignore[misc]
    return _struct(tree) | None
