"""What differs between two JSON trees, where, and what stood there before and after.

Pure: trees that are given are never changed. To JSON `1` and `true` are different, whatever Python holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import msgspec


class _Absent(Enum):
    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent.ABSENT
"""Stands where a tree has nothing: `null` is something."""


class Difference(NamedTuple):
    """One place at which two trees differ.

    Attributes:
        path: as `spec.template.containers[0].image`.
        old: the value before, `ABSENT` if there was none.
        new: the value after, `ABSENT` if there is none.
    """

    path: str
    old: Any
    new: Any


def differences(old: Any, new: Any, path: str = "") -> Iterator[Difference]:
    """Where two trees differ, in the order of the paths.

    Objects are entered; lists of one length are compared entry by entry, lists of different lengths differ as a whole.
    """
    if old is new or same(old, new):
        return
    if _is_map(old) and _is_map(new):
        for key in sorted(old.keys() | new.keys()):
            inner = f"{path}.{key}" if path else str(key)
            if key not in old:
                yield Difference(inner, ABSENT, new[key])
            elif key not in new:
                yield Difference(inner, old[key], ABSENT)
            else:
                yield from differences(old[key], new[key], inner)
    elif _is_list(old) and _is_list(new) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{path}[{index}]")
    elif old != new or (isinstance(old, bool) is not isinstance(new, bool)):
        yield Difference(path, old, new)


def same(old: Any, new: Any) -> bool:
    """Whether two trees are seen at once to be the same JSON; `False` says nothing. Neither is walked in Python."""
    kind = type(old)
    if kind is not type(new) or old != new:
        return False
    return kind is str or (kind in _TREES and _JSON.encode(old) == _JSON.encode(new))  # 1 == True in Python


def changed_paths(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """The paths of the differences alone."""
    return (difference.path for difference in differences(old, new, path))


def _is_map(value: Any) -> bool:
    return type(value) is dict or (type(value) not in _PLAIN and isinstance(value, Mapping))


def _is_list(value: Any) -> bool:
    if type(value) in _PLAIN:
        return type(value) is list
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


_JSON: Final = msgspec.json.Encoder(enc_hook=repr)
_TREES: Final = frozenset({dict, list})
_PLAIN: Final = frozenset({str, bytes, int, float, bool, type(None), dict, list})
"""What JSON is decoded into: asking an abstract class about these costs more than comparing them."""
