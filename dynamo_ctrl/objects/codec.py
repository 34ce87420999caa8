"""How one section of an object (its spec, its status, its data) becomes a Python value.

msgspec structs and frozen JSON trees are decoded by msgspec, pydantic models by pydantic. Every failure is an
`InvalidObject` that names the field. To a built-in kind a null is an absent field, as it is to the server, which writes one for
some of its empty lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import EMPTY, freeze

T = TypeVar("T")


def _dotted(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def invalid(what: str, prefix: str, error: ValidationError | msgspec.MsgspecError) -> InvalidObject:
    """The first failure in `error` as an `InvalidObject` whose path begins with `prefix`."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        path = _dotted(first["loc"])
        rule = first["msg"]
    else:  # "Expected `int`, got `str` - at `$.replicas`"
        rule, _, at = str(error).partition(" - at `$")
        path = at.rstrip("`").lstrip(".")
    joined = f"{prefix}{'' if not path or path.startswith('[') else '.'}{path}" if prefix else path
    return InvalidObject(what, joined, rule)


def decoded(decoder: msgspec.json.Decoder[T], text: bytes) -> T:
    """What `decoder` reads; where the type takes no null, it is read without any. Raises `msgspec.MsgspecError`."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        tree = msgspec.json.decode(text)
        sparse = _without_nulls(tree)
        if sparse == tree:
            raise
        return decoder.decode(msgspec.json.encode(sparse))


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value


class Codec(Generic[T]):
    """Decodes and encodes values of one type. `type(None)` stands for a section that the kind does not have."""

    __slots__ = ("_decoder", "_frozen", "_model", "_within", "type")

    def __init__(self, type_: type[T]) -> None:
        self.type = type_
        self._model: type[BaseModel] | None = None
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._within: dict[str, msgspec.json.Decoder[Any]] = {}
        origin = getattr(type_, "__origin__", type_)
        self._frozen = isinstance(origin, type) and issubclass(origin, Mapping)
        if isinstance(origin, type) and issubclass(origin, BaseModel):
            self._model = origin
        elif not self._frozen and origin is not type(None):
            self._decoder = msgspec.json.Decoder(type_, dec_hook=lambda _, value: freeze(value))

    def decode(self, raw: bytes | msgspec.Raw | memoryview, *, what: str, path: str) -> T:
        """The value that `raw` spells; empty `raw` stands for `{}`.

        Raises:
            InvalidObject: with the path of the offending field, beginning with `path`.
        """
        text: Any = bytes(raw) or b"{}"
        try:
            if self._model is not None:
                value: Any = self._model.model_validate_json(text)
            elif self._frozen:
                tree = freeze(msgspec.json.decode(text))
                if not isinstance(tree, Mapping):
                    raise InvalidObject(what, path, "must be an object")
                value = tree or EMPTY
            elif self._decoder is not None:
                value = decoded(self._decoder, text)
            else:
                value = None
        except (ValidationError, msgspec.MsgspecError) as error:
            raise invalid(what, path, error) from error
        return value  # type: ignore[no-any-return]

    def within(self, name: str) -> msgspec.json.Decoder[Any] | None:
        """A decoder of whole objects whose result has the field `name` as `value`, `None` where it is absent or null.

        It reads the section where it stands, and skips over the others: half the time of cutting the section out first.
        `None` for types that msgspec does not decode.
        """
        decoder = self._within.get(name)
        if decoder is None and self._decoder is not None:
            holder = msgspec.defstruct("Section", [("value", self.type | None, None)], rename={"value": name}, gc=False)
            decoder = self._within[name] = msgspec.json.Decoder(holder, dec_hook=lambda _, value: freeze(value))
        return decoder

    def encode(self, value: T) -> Any:
        """`value` as plain JSON data, without absent (`None`) fields and with the names that the wire uses."""
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json", by_alias=True, exclude_none=True)
        return msgspec.to_builtins(value)
