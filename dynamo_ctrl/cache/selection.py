"""`Selection`: which objects of a kind an informer follows, and whether an object is one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dynamo_ctrl.objects.key import Ref
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import EVERYTHING, FieldSelector, LabelSelector

_EVERY_FIELD: Final = FieldSelector()
_NAMESPACE: Final = "metadata.namespace"
_KNOWN: Final = ("metadata.name", _NAMESPACE)


class WriteRefused(Exception):
    """A write was not sent: the object would be outside of what the cache follows, and could never be read back.

    Attributes:
        ref: the object.
        reason: what it does not match.
    """

    def __init__(self, ref: Ref, reason: str) -> None:
        self.ref = ref
        self.reason = reason
        super().__init__(f"{ref} was not written: {reason}")


@dataclass(frozen=True, slots=True)
class Selection:
    """All conditions must hold.

    Attributes:
        labels: the label selector.
        fields: the field selector.
        namespaces: those that are followed, each by itself; empty for all, and for kinds of cluster scope.
        excluded: those that are left out where all are followed.
    """

    labels: LabelSelector = EVERYTHING
    fields: FieldSelector = _EVERY_FIELD
    namespaces: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def scopes(self) -> tuple[str, ...]:
        """The collections that make up the whole, as lists and watches name them."""
        return self.namespaces or ("",)

    @property
    def field_query(self) -> str:
        """The field selector in query form; namespaces that are left out are a part of it."""
        left_out = tuple((_NAMESPACE, False, namespace) for namespace in self.excluded)
        return str(FieldSelector((*self.fields.terms, *left_out)))

    def follows(self, namespace: str) -> bool:
        """Whether objects of that namespace are followed at all. The empty namespace is that of kinds of cluster scope."""
        return namespace in self.namespaces if self.namespaces else namespace not in self.excluded

    def mismatch(self, obj: Object[Any, Any]) -> str:
        """What keeps `obj`, whole as the server has it, out of the selection; empty if nothing does.

        A field that only the server fills in counts as empty while it is missing.
        """
        metadata = obj.metadata
        if not self.follows(metadata.namespace):
            return f"the cache does not follow namespace {metadata.namespace!r}"
        if not self.labels.matches(metadata.labels):
            return f"its labels do not match {str(self.labels)!r}, by which the cache selects {obj.kind}"
        if self.fields and not self._fields(obj):
            return f"its fields do not match {str(self.fields)!r}, by which the cache selects {obj.kind}"
        return ""

    def _fields(self, obj: Object[Any, Any]) -> bool:
        if all(path in _KNOWN for path, _, _ in self.fields.terms):
            return self.fields.matches({"metadata": {"name": obj.metadata.name, "namespace": obj.metadata.namespace}})
        return self.fields.matches(obj.content())
