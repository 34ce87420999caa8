"""Shapes: which JSON types the fields of an object have, and what a server written in Go makes of other ones.

Contract:

- `check` refuses a value of another type in the server's own words, and leaves one that fits.
- Null is no value: a field that is null is taken out, an element that is null becomes the zero value of its type.
- A field that a shape does not name may be anything. Shapes name what this server itself reads; the first fault in the order of
  the document is the one that is told.
"""

from __future__ import annotations

import base64
import binascii
import re
from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, Final, Self

import msgspec

_JSON_TYPES: Final = {type(None): "nil", bool: "bool", str: "string", list: "array", dict: "object"}
_QUANTITY: Final = re.compile(r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$", re.ASCII)
_TIME: Final = "2006-01-02T15:04:05Z07:00"


class Unreadable(Exception):
    """A value that cannot be read as what its field is."""

    def __init__(self, reason: str, go: str = "") -> None:
        super().__init__(reason)
        self._reason, self._go = reason, go
        self._struct = ""
        self._path: list[str] = []

    @classmethod
    def as_type(cls, value: Any, go: str) -> Self:
        """The value is of another JSON type than the Go type `go`."""
        found = _JSON_TYPES.get(type(value), "number")
        if found == "number" and go.startswith("int"):
            found = f"number {msgspec.json.encode(value).decode()}"
        return cls(f"json: cannot unmarshal {found} into Go", go)

    def inside(self, struct: str, field: str) -> Self:
        """The same, told of the field of a struct that holds the value."""
        self._struct = self._struct if self._path else struct
        self._path.insert(0, field)
        return self

    def __str__(self) -> str:
        if not self._go:
            return self._reason
        where = f"struct field {self._struct}.{'.'.join(self._path)}" if self._path else "value"
        return f"{self._reason} {where} of type {self._go}"


class Shape(ABC):
    """The type of a value.

    Attributes:
        go: its name in Go, as messages tell it.
        plain: the Python type whose every value fits, if there is one: most fields need no look beyond it.
    """

    __slots__ = ("go", "plain")

    def __init__(self, go: str, plain: type | None = None) -> None:
        self.go, self.plain = go, plain

    @abstractmethod
    def check(self, value: Any) -> None:
        """Refuse a value (not null) of another type, and take out nulls in place. Raises `Unreadable`."""

    def zero(self) -> Any:
        """What null means as an element of a list or a map."""
        return None


class Fields(Shape):
    """An object with fields of its own: a struct."""

    __slots__ = ("_name", "fields")

    def __init__(self, go: str, **fields: Shape) -> None:
        super().__init__(go)
        self._name = go.rpartition(".")[2]
        self.fields = fields

    def check(self, value: Any) -> None:
        """Refuse what is no object, and what its fields refuse."""
        if type(value) is not dict:
            raise Unreadable.as_type(value, self.go)
        fields, nulls = self.fields, []
        for name, each in value.items():
            shape = fields.get(name)
            if shape is None or type(each) is shape.plain:
                continue
            if each is None:
                nulls.append(name)
                continue
            try:
                shape.check(each)
            except Unreadable as fault:
                raise fault.inside(self._name, name)  # noqa: B904  (the same one, on its way out)
        for name in nulls:
            del value[name]

    def zero(self) -> Any:
        """A struct without anything."""
        return {}


class Many(Shape):
    """A list."""

    __slots__ = ("_item",)

    def __init__(self, item: Shape) -> None:
        super().__init__(f"[]{item.go}")
        self._item = item

    def check(self, value: Any) -> None:
        """Refuse what is no list, and what its elements refuse."""
        if type(value) is not list:
            raise Unreadable.as_type(value, self.go)
        for index, each in enumerate(value):
            if each is None:
                value[index] = self._item.zero()
            else:
                self._item.check(each)


class Mapped(Shape):
    """An object with any keys: a map."""

    __slots__ = ("_value",)

    def __init__(self, value: Shape, go: str = "") -> None:
        super().__init__(go or f"map[string]{value.go}")
        self._value = value

    def check(self, value: Any) -> None:
        """Refuse what is no object, and what its values refuse."""
        if type(value) is not dict:
            raise Unreadable.as_type(value, self.go)
        for name, each in value.items():
            if each is None:
                value[name] = self._value.zero()
            else:
                self._value.check(each)


class _Scalar(Shape):
    __slots__ = ("_type", "_zero")

    def __init__(self, go: str, type_: type, zero: Any, *, plain: type | None = None) -> None:
        super().__init__(go, plain)
        self._type, self._zero = type_, zero

    def check(self, value: Any) -> None:
        if type(value) is not self._type:
            raise Unreadable.as_type(value, self.go)

    def zero(self) -> Any:
        return self._zero


class _Integer(_Scalar):
    __slots__ = ("_bound",)

    def __init__(self, bits: int) -> None:
        super().__init__(f"int{bits}", int, 0)
        self._bound = 1 << (bits - 1)

    def check(self, value: Any) -> None:
        if type(value) is not int or not -self._bound <= value < self._bound:
            raise Unreadable.as_type(value, self.go)


class _Number(_Scalar):
    __slots__ = ()

    def check(self, value: Any) -> None:
        if type(value) is not int and type(value) is not float:
            raise Unreadable.as_type(value, self.go)


class _IntegerOrText(_Integer):
    __slots__ = ()

    def check(self, value: Any) -> None:
        if type(value) is not str:
            super().check(value)


class _Quantity(_Scalar):
    __slots__ = ()

    def check(self, value: Any) -> None:
        text = value if type(value) is str else msgspec.json.encode(value).decode()
        if not _QUANTITY.match(text):
            raise Unreadable(f"quantities must match the regular expression '{_QUANTITY.pattern}'")


class _Bytes(_Scalar):
    __slots__ = ()

    def check(self, value: Any) -> None:
        super().check(value)
        try:
            base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
        except (ValueError, binascii.Error) as error:
            found = re.search(r"[^A-Za-z0-9+/\r\n]", value)
            at = found.start() if found else len(value)
            raise Unreadable(f"illegal base64 data at input byte {at}") from error


class _Time(_Scalar):
    __slots__ = ()

    def check(self, value: Any) -> None:
        super().check(value)
        try:
            zoned = datetime.fromisoformat(value).tzinfo is not None
        except ValueError:
            zoned = False
        if not zoned or value[10:11] != "T":
            text = msgspec.json.encode(value).decode()
            raise Unreadable(f'parsing time {text} as "{_TIME}": cannot parse {text} as "2006"')


class _Anything(Shape):
    __slots__ = ()

    def check(self, value: Any) -> None:
        return


class OrBool(Shape):
    """A shape, or a boolean; `reason` is told of a value that is neither an object nor one."""

    __slots__ = ("_object", "_reason")

    def __init__(self, object_: Shape, reason: str) -> None:
        super().__init__(object_.go)
        self._object, self._reason = object_, reason

    def check(self, value: Any) -> None:
        """Refuse what is neither an object that fits nor a boolean."""
        if type(value) is dict:
            self._object.check(value)
        elif type(value) is not bool:
            raise Unreadable(self._reason)


TEXT: Final = _Scalar("string", str, "", plain=str)
BOOL: Final = _Scalar("bool", bool, False, plain=bool)
INT32: Final = _Integer(32)
INT64: Final = _Integer(64)
NUMBER: Final = _Number("float64", float, 0)
INT_OR_TEXT: Final = _IntegerOrText(32)
QUANTITY: Final = _Quantity("resource.Quantity", str, "0")
BYTES: Final = _Bytes("[]uint8", str, "")
TIME: Final = _Time("string", str, None)
ANYTHING: Final = _Anything("interface {}")
TEXTS: Final = Many(TEXT)
TEXT_MAP: Final = Mapped(TEXT)
QUANTITIES: Final = Mapped(QUANTITY, "v1.ResourceList")
ENVELOPE: Final = Fields("", apiVersion=TEXT, kind=TEXT)
METADATA: Final = Fields(
    "v1.ObjectMeta",
    name=TEXT,
    generateName=TEXT,
    namespace=TEXT,
    selfLink=TEXT,
    uid=TEXT,
    resourceVersion=TEXT,
    generation=INT64,
    creationTimestamp=TIME,
    deletionTimestamp=TIME,
    deletionGracePeriodSeconds=INT64,
    labels=TEXT_MAP,
    annotations=TEXT_MAP,
    ownerReferences=Many(
        Fields(
            "v1.OwnerReference",
            apiVersion=TEXT,
            kind=TEXT,
            name=TEXT,
            uid=TEXT,
            controller=BOOL,
            blockOwnerDeletion=BOOL,
        )
    ),
    finalizers=TEXTS,
)
"""The metadata of every object."""
