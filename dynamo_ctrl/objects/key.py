"""The names of objects: a key inside one kind, and a reference that names the kind as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dynamo_ctrl.objects.kind import Kind


class Key(NamedTuple):
    """Namespace and name. Objects of cluster scope have the empty namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def parse(cls, text: str) -> Key:
        """Read `namespace/name`, or `name` for cluster scope. Raises `ValueError` on anything else."""
        namespace, slash, name = text.rpartition("/")
        if not name or "/" in namespace or (slash and not namespace):
            raise ValueError(f"not an object key: {text!r} (expected 'namespace/name' or 'name')")
        return cls(namespace, name)

    @classmethod
    def of(cls, value: Key | str) -> Key:
        """`value` itself, or the key that it spells."""
        return value if isinstance(value, Key) else cls.parse(value)


class Ref(NamedTuple):
    """One object of one kind. Two references are equal when kind and key are: uid and version do not take part."""

    kind: Kind[Any]
    key: Key

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.key}"
