"""Projections: what is kept of an object before it enters the cache.

A projection is a pure, idempotent function on the object's content. It must keep apiVersion, kind, and name, namespace, uid,
resourceVersion, generation, labels, owners, finalizers and deletion state of the metadata. An object read through a projection
must never be written back in full.

Where none is declared, everything but `metadata.managedFields` is kept (it is half of many objects, and no program reads it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dynamo_ctrl.objects.frozen import JsonMap

Projection: TypeAlias = Callable[[JsonMap], dict[str, Any]]
"""Content in, kept content out. Compared by identity: declare it once, at module level."""

_KEY = b'"managedFields":'
_NAME = b'managedFields"'


class _Metadata(Struct):
    managedFields: Raw | UnsetType = UNSET  # noqa: N815  (the wire's own name)


class _Envelope(Struct):
    metadata: _Metadata


_ENVELOPE = msgspec.json.Decoder(_Envelope)


def everything(content: JsonMap) -> dict[str, Any]:
    """Keeps the object as the server sent it, managedFields included."""
    return dict(content)


def without_managed_fields(content: JsonMap) -> dict[str, Any]:
    """Drops `metadata.managedFields`."""
    metadata = {name: value for name, value in content["metadata"].items() if name != "managedFields"}
    return {**content, "metadata": metadata}


def project(raw: bytes, projection: Projection | None) -> bytes:
    """The JSON text of what is to be kept of `raw`.

    Raises:
        msgspec.MsgspecError: `raw` is not JSON or has no metadata.
    """
    if projection is everything:
        return raw
    if projection is None:
        return raw if _NAME not in raw else _cut(raw)
    return msgspec.json.encode(projection(msgspec.json.decode(raw)))


def _cut(raw: bytes) -> bytes:
    """`raw` without `metadata.managedFields`, cut out of the bytes where the text shows beyond doubt where that is.

    It does if the name occurs once in the whole text and metadata has the field: then it is this one, directly followed by
    the value that the decoder found. Whatever is not so plain (nested objects with metadata, white space) goes the slow way.
    """
    value = _ENVELOPE.decode(raw).metadata.managedFields
    if value is UNSET:
        return raw
    at = raw.find(_KEY)
    text = bytes(value)
    end = at + len(_KEY) + len(text)
    if at > 0 and raw.count(_NAME) == 1 and raw[at + len(_KEY) : end] == text:
        if raw[end : end + 1] == b",":
            return raw[:at] + raw[end + 1 :]
        if raw[at - 1 : at] in (b",", b"{"):
            return raw[: at - (raw[at - 1 : at] == b",")] + raw[end:]
    return msgspec.json.encode(without_managed_fields(msgspec.json.decode(raw)))
