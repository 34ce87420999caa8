"""`Object`: one immutable, lazily decoded Kubernetes object.

Contract:

- It holds the JSON bytes as the server sent them (after projection), with typed metadata; `spec` and `status` decode on
  first touch and stay decoded. Two reads give the same value.
- It never changes. Assigning an attribute, or changing any mapping or list that it hands out, raises.
- It may be shared by everybody without a copy. `content()` gives a plain copy to edit; `Kind.object` makes a new object of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args, get_origin

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

from dynamo_ctrl.objects.codec import Codec, decoded, invalid
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.metadata import Metadata

if TYPE_CHECKING:
    from typing import Self

    from dynamo_ctrl.objects.kind import Kind

SpecT = TypeVar("SpecT")
StatusT = TypeVar("StatusT")
T = TypeVar("T")


class _Envelope(Struct, gc=False):
    metadata: Metadata
    kind: str = ""
    apiVersion: str = ""  # noqa: N815  (the wire's own name)


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_SECTIONS = msgspec.json.Decoder(dict[str, Raw])


if TYPE_CHECKING:

    class _Frozen:
        """What the type checker sees of the struct below: read-only attributes, and no dataclass rules for subclasses."""

        def __init__(self, kind: Kind[Any], raw: bytes, metadata: Metadata) -> None: ...

        @property
        def kind(self) -> Kind[Any]: ...
        @property
        def raw(self) -> bytes: ...
        @property
        def metadata(self) -> Metadata: ...
        @property
        def _spec(self) -> Any: ...
        @property
        def _status(self) -> Any: ...

else:

    class _Frozen(Struct, frozen=True, gc=False, eq=False):
        kind: Any
        raw: bytes
        metadata: Metadata
        _spec: Any = None
        _status: Any = None


class Object(_Frozen, Generic[SpecT, StatusT]):
    """A Kubernetes object. Subclass it with the types of spec and status: `class Widget(Object[WidgetSpec, WidgetStatus])`.

    A section that the kind does not have is `None`: `class Role(Object[None, None])`. Further top-level fields
    (`data`, `rules`) become properties that call `field`.

    Attributes:
        kind: the descriptor of its kind.
        raw: the JSON text, as it came from the server (after projection).
        metadata: typed metadata.
    """

    DEFAULT_SECTIONS: ClassVar[tuple[type, type]] = (Mapping, Mapping)

    @classmethod
    def sections(cls) -> tuple[type, type]:
        """The types of spec and status, read from the class statement; frozen JSON trees where it names none."""
        for base in cls.__mro__:
            for generic in vars(base).get("__orig_bases__", ()):
                arguments = get_args(generic)
                origin = get_origin(generic)
                if (
                    isinstance(origin, type)
                    and issubclass(origin, Object)
                    and len(arguments) == 2
                    and not any(isinstance(a, TypeVar) for a in arguments)
                ):
                    spec, status = arguments
                    return spec, status
        return cls.DEFAULT_SECTIONS

    @classmethod
    def decode(cls, kind: Kind[Any], raw: bytes) -> Self:
        """Read `raw`. Prefer `Kind.decode`, which knows the type. Raises `InvalidObject`."""
        try:
            envelope = decoded(_ENVELOPE, raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise invalid(str(kind), "", _as_msgspec(error)) from error
        if (envelope.kind and envelope.kind != kind.kind) or (
            envelope.apiVersion and envelope.apiVersion.rpartition("/")[0] != kind.group
        ):
            found = f"{envelope.apiVersion} {envelope.kind}".strip()
            raise InvalidObject(str(kind), "kind", f"expected {kind.api_version} {kind.kind}, found {found}")
        return cls(kind, raw, envelope.metadata)

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def ref(self) -> Ref:
        """Kind and key."""
        return Ref(self.kind, self.key)

    @property
    def spec(self) -> SpecT:
        """The typed spec. Raises `InvalidObject` when the object does not fit its model."""
        if self._spec is None:
            self._remember("_spec", self._section("spec", self.kind.spec_codec))
        return self._spec  # type: ignore[no-any-return]

    @property
    def status(self) -> StatusT:
        """The typed status; its defaults when the object has none. Raises `InvalidObject` as `spec` does."""
        if self._status is None:
            self._remember("_status", self._section("status", self.kind.status_codec))
        return self._status  # type: ignore[no-any-return]

    def field(self, name: str, codec: Codec[T]) -> T:
        """Another top-level field of the object, decoded anew at each call."""
        return self._section(name, codec)

    def section(self, name: str) -> bytes:
        """The JSON text of one top-level field, empty when it is absent."""
        raw = _SECTIONS.decode(self.raw).get(name)
        return b"" if raw is None else bytes(raw)

    def content(self) -> dict[str, Any]:
        """The whole object as plain, mutable JSON data that belongs to the caller."""
        tree: dict[str, Any] = msgspec.json.decode(self.raw)
        return {**tree, "apiVersion": self.kind.api_version, "kind": self.kind.kind}

    def inherit(self, older: Object[Any, Any]) -> None:
        """Take over the decoded spec of an older version of the same object, if the spec is the same text.

        The store calls this before the object is shared: a status write then does not validate the spec again.
        """
        if self._spec is None and older._spec is not None and older.metadata.uid == self.metadata.uid:
            if older.metadata.generation != self.metadata.generation:
                return
            if older.section("spec") == self.section("spec"):
                self._remember("_spec", older._spec)

    def _section(self, name: str, codec: Codec[T]) -> T:
        decoder = codec.within(name)
        if decoder is not None:
            try:
                value = decoded(decoder, self.raw).value
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise invalid(self._what, "", _as_msgspec(error)) from error
            if value is not None:
                return value  # type: ignore[no-any-return]
            text = b""
        else:
            text = self.section(name)
        return codec.decode(b"" if text == b"null" else text, what=self._what, path=name)

    @property
    def _what(self) -> str:
        return f"{self.kind.kind} {self.key}"

    def _remember(self, name: str, value: object) -> None:
        force_setattr(self, name, value)  # type: ignore[arg-type]  # a Struct at run time, see _Frozen

    def __repr__(self) -> str:
        return f"<{self.kind.kind} {self.key} uid={self.metadata.uid} rv={self.metadata.resource_version}>"


def _as_msgspec(error: msgspec.MsgspecError | UnicodeDecodeError) -> msgspec.MsgspecError:
    return error if isinstance(error, msgspec.MsgspecError) else msgspec.DecodeError("not UTF-8")
