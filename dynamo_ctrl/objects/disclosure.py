"""What of an object may be shown to people: everything but what a Secret keeps.

The values of a Secret's `data` and `stringData`, and of its annotations (kubectl leaves the whole Secret in one), are shown as a
hash. Equal values have equal hashes, whether they are written in `data` or in `stringData`; so a change of a value is seen, and
the value is not. A value that can be guessed can be found by its hash.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dynamo_ctrl.objects.builtin.core import SECRET
from dynamo_ctrl.objects.difference import ABSENT, Difference
from dynamo_ctrl.objects.kind import Kind

HASH_DIGITS: Final = 16
"""Of the SHA-256 that stands for a value."""

_KEPT: Final = ("data", "stringData", "metadata.annotations")


def disclosed(kind: Kind[Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an object of that kind as it may be shown; a new mapping."""
    shown = dict(content)
    if kind != SECRET:
        return shown
    for name in ("data", "stringData"):
        if name in shown:
            shown[name] = _hashed(shown[name], encoded=name == "data")
    metadata = shown.get("metadata")
    if isinstance(metadata, Mapping) and "annotations" in metadata:
        shown["metadata"] = {**metadata, "annotations": _hashed(metadata["annotations"], encoded=False)}
    return shown


def disclosed_difference(kind: Kind[Any], difference: Difference) -> Difference:
    """A difference of two objects of that kind as it may be shown."""
    if kind != SECRET:
        return difference
    path = difference.path
    if path == "metadata":
        old, new = (_of_metadata(value) for value in (difference.old, difference.new))
        return Difference(path, old, new)
    if not any(path == kept or path.startswith(f"{kept}.") for kept in _KEPT):
        return difference
    encoded = path.startswith("data")
    return Difference(path, _hashed(difference.old, encoded=encoded), _hashed(difference.new, encoded=encoded))


def _of_metadata(metadata: Any) -> Any:
    return disclosed(SECRET, {"metadata": metadata})["metadata"] if isinstance(metadata, Mapping) else metadata


def _hashed(value: Any, *, encoded: bool) -> Any:
    if value is ABSENT or value is None:
        return value
    if isinstance(value, Mapping):
        return {key: _hashed(inner, encoded=encoded) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_hashed(inner, encoded=encoded) for inner in value]
    text = str(value).encode()
    if encoded:
        with contextlib.suppress(binascii.Error):
            text = base64.b64decode(text, validate=True)
    return f"sha256:{hashlib.sha256(text).hexdigest()[:HASH_DIGITS]}"
