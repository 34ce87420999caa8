"""Labels and annotations that a graph hands on to what is made of it: each must be one that a server takes (G 1.2, 1.8)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dynamo_ctrl.objects.errors import InvalidObject

MAX_PREFIX: Final = 253
"""Characters before the slash of a key."""

MAX_ANNOTATIONS: Final = 256 * 1024
"""Bytes of all keys and values of the annotations of one object."""

_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

_KEY_RULE: Final = (
    "is no key: it must be a name of at most 63 letters, digits, '-', '_' or '.' that begins and ends with a letter or a digit,"
    " after a DNS name and '/' or alone"
)
_VALUE_RULE: Final = (
    "must have at most 63 letters, digits, '-', '_' or '.' and begin and end with a letter or a digit, or be empty"
)


def label_problems(labels: Mapping[str, str], what: str, path: str) -> Iterator[InvalidObject]:
    """What no server takes as labels; `path` is where they stand."""
    for key, value in labels.items():
        if not is_key(key):
            yield InvalidObject(what, f"{path}[{key}]", _KEY_RULE)
        elif value and not _NAME.fullmatch(value):
            yield InvalidObject(what, f"{path}[{key}]", _VALUE_RULE)


def annotation_problems(annotations: Mapping[str, str], what: str, path: str) -> Iterator[InvalidObject]:
    """What no server takes as annotations; `path` is where they stand."""
    for key in annotations:
        if not is_key(key.lower()):
            yield InvalidObject(what, f"{path}[{key}]", _KEY_RULE)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > MAX_ANNOTATIONS:
        yield InvalidObject(
            what, path, f"must have at most {MAX_ANNOTATIONS} bytes, keys and values together, has {size}"
        )


def is_key(text: str) -> bool:
    """Whether a text is the key of a label: `name` or `prefix/name`."""
    prefix, slash, name = text.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (
        not slash or (len(prefix) <= MAX_PREFIX and bool(_PREFIX.fullmatch(prefix)))
    )
