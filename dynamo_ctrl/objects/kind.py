"""`Kind`: the only way to name a type of object.

A kind knows its API address, its scope and the Python model of its objects, so that `view.get(DEPLOYMENT, key)` is typed
as `Deployment`. Two kinds are equal when group and kind are: the version is how we speak about it, not what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from dynamo_ctrl.objects.codec import Codec
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key, Ref

if TYPE_CHECKING:
    from dynamo_ctrl.objects.frozen import JsonMap
    from dynamo_ctrl.objects.object import Object

O_co = TypeVar("O_co", bound="Object[Any, Any]", covariant=True)


class Kind(Generic[O_co]):
    """A typed descriptor of one Kubernetes resource.

    Args:
        model: the `Object` subclass; its type arguments say how `spec` and `status` decode.
        group: API group, empty for core.
        version: the version that is spoken, e.g. `v1`.
        kind: CamelCase singular, e.g. `Deployment`.
        plural: lower-case resource name, e.g. `deployments`.
        namespaced: scope.
        status_subresource: whether `/status` exists, so that the main resource ignores status.
        short: short names, for humans only.
    """

    __slots__ = (
        "_hash", "api_version", "group", "id", "kind", "model", "namespaced", "plural", "short", "spec_codec", "status_codec",
        "status_subresource", "version",
    )  # fmt: skip

    def __init__(
        self,
        model: type[O_co],
        *,
        group: str,
        version: str,
        kind: str,
        plural: str,
        namespaced: bool = True,
        status_subresource: bool = True,
        short: tuple[str, ...] = (),
    ) -> None:
        self.model = model
        self.group = group
        self.version = version
        self.kind = kind
        self.plural = plural
        self.namespaced = namespaced
        self.status_subresource = status_subresource
        self.short = short
        self.api_version = f"{group}/{version}" if group else version
        self.id = f"{kind}.{group}"
        spec, status = model.sections()
        self.spec_codec: Codec[Any] = Codec(spec)
        self.status_codec: Codec[Any] = Codec(status)
        self._hash = hash((group, kind))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Kind) and self.kind == other.kind and self.group == other.group)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Kind({self})"

    def __str__(self) -> str:
        """`deployments.apps`, as kubectl and RBAC rules spell it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def ref(self, key: Key | str) -> Ref:
        """A reference to the object of this kind with that key."""
        return Ref(self, Key.of(key))

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of a collection, an object or a subresource on any API server."""
        parts = ["/apis", self.group] if self.group else ["/api"]
        parts.append(self.version)
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/".join(parts)

    def decode(self, raw: bytes) -> O_co:
        """The object that `raw` spells. Metadata is read now, spec and status on first touch.

        Raises:
            InvalidObject: not JSON, no usable metadata, or an object of another kind.
        """
        return self.model.decode(self, raw)

    def object(self, content: JsonMap) -> O_co:
        """An immutable object of this kind with that content; apiVersion and kind are filled in.

        Raises:
            InvalidObject: the content cannot be written as JSON or has no usable metadata.
        """
        try:
            raw = msgspec.json.encode({"apiVersion": self.api_version, "kind": self.kind, **content})
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise InvalidObject(str(self), "", f"cannot be written as JSON: {error}") from error
        return self.decode(raw)
