"""Immutable JSON trees: what `Object` hands out where no typed model describes the content.

Contract: a frozen tree compares equal to the plain tree that it was made from, encodes to the same JSON, and raises
`TypeError` on every attempt to change it, at any depth. `thaw` gives an independent, plain, mutable copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"
"""A JSON value. Mappings and sequences may be frozen or plain."""

JsonMap: TypeAlias = "Mapping[str, Any]"
"""A JSON object, read-only by type. The values are `Any`: JSON enters the program here."""

K = TypeVar("K")
V = TypeVar("V")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("this JSON tree belongs to the cache and is immutable; use thaw() to get a copy to change")


class FrozenDict(dict[K, V]):
    """A `dict` whose mutators raise `TypeError`. Copies are plain and mutable."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[K, V]:
        return dict(self)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        copy: dict[str, Any] = thaw(self)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


class FrozenList(list[V]):
    """A `list` whose mutators raise `TypeError`. Copies are plain and mutable."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __copy__(self) -> list[V]:
        return list(self)

    def __deepcopy__(self, memo: object) -> list[Any]:
        copy: list[Any] = thaw(self)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenList, (list(self),))


EMPTY: FrozenDict[str, Any] = FrozenDict()
"""The empty JSON object, shared because it cannot change."""


_LEAVES = frozenset((str, int, float, bool, type(None)))
_SEQUENCES = (list, tuple)


def freeze(value: Any) -> Any:
    """Return `value` with every mapping and sequence in it frozen. A tree that is frozen already is returned as it is."""
    kind = type(value)  # asking for the exact type first: abstract classes are slow to ask for
    if kind in _LEAVES or kind is FrozenDict or kind is FrozenList:
        return value
    if kind is dict:
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if kind is list or isinstance(value, _SEQUENCES):
        return FrozenList([freeze(item) for item in value])
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    return value


def thaw(value: Any) -> Any:
    """Return a plain, mutable copy of `value` that shares no mapping or sequence with it."""
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is dict or kind is FrozenDict:
        return {key: thaw(item) for key, item in value.items()}
    if kind is list or isinstance(value, _SEQUENCES):
        return [thaw(item) for item in value]
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return value
