"""Projections: what is kept of an object before it enters the cache.

A projection is a pure, idempotent function on the object's content. It must keep apiVersion, kind, and name, namespace, uid,
resourceVersion, generation, labels, owners, finalizers and deletion state of the metadata. An object read through a projection
must never be written back in full.

A projection that can work on the JSON text itself (`TextProjection`) saves decoding what it drops, which is most of the cost.

Where none is declared, everything but `metadata.managedFields` is kept (it is half of many objects, and no program reads it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec
from msgspec import Raw

from dynamo_ctrl.objects.frozen import JsonMap

Projection: TypeAlias = Callable[[JsonMap], dict[str, Any]]
"""Content in, kept content out. Compared by identity: declare it once, at module level."""


@runtime_checkable
class TextProjection(Protocol):
    """A projection that has a way of its own from text to text. `dynamo_ctrl.cache.keep.KeepOnly` is one."""

    def __call__(self, content: JsonMap) -> dict[str, Any]:
        """The kept part of a decoded object."""

    def text(self, raw: bytes) -> bytes:
        """The kept part of an object's JSON text. Whatever it raises costs that object."""


_KEY = b'"managedFields":'
_NAME = b'managedFields"'


def everything(content: JsonMap) -> dict[str, Any]:
    """Keeps the object as the server sent it, managedFields included."""
    return dict(content)


def without_managed_fields(content: JsonMap) -> dict[str, Any]:
    """Drops `metadata.managedFields`."""
    metadata = {name: value for name, value in content["metadata"].items() if name != "managedFields"}
    return {**content, "metadata": metadata}


def cut_managed_fields(raw: bytes, value: Raw) -> bytes:
    """The JSON text `raw` without `metadata.managedFields`, whose value is `value`.

    It is cut out of the bytes where the text shows beyond doubt where it is: the name occurs once in the whole text (so it is
    this one), directly followed by the value. Whatever is not so plain (nested objects with metadata, white space) goes the
    slow way, through a full decode.
    """
    at = raw.find(_KEY)
    text = bytes(value)
    end = at + len(_KEY) + len(text)
    if at > 0 and raw.count(_NAME) == 1 and raw[at + len(_KEY) : end] == text:
        before, after = raw[at - 1 : at], raw[end : end + 1]
        if after == b",":
            return raw[:at] + raw[end + 1 :]
        if after == b"}" and before in (b",", b"{"):
            return raw[: at - (before == b",")] + raw[end:]
    return msgspec.json.encode(without_managed_fields(msgspec.json.decode(raw)))
