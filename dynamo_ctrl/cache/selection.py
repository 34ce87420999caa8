"""`Selection`: which objects of a kind an informer follows, and whether an object is one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import EVERYTHING, FieldSelector, LabelSelector

_EVERY_FIELD: Final = FieldSelector()
_NAMESPACE: Final = "metadata.namespace"


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

    @property
    def everything(self) -> bool:
        """Whether every object is followed."""
        return not (self.labels or self.fields or self.namespaces or self.excluded)

    def matches(self, obj: Object[Any, Any]) -> bool:
        """Whether `obj`, whole as the server has it, is followed."""
        metadata = obj.metadata
        return (
            self.follows(metadata.namespace)
            and self.labels.matches(metadata.labels)
            and (not self.fields or self.fields.matches(obj.content()))
        )

    def refusal(self, obj: Object[Any, Any]) -> str:
        """Why `obj` would not be followed if it were written like this; empty if it would or might be.

        A field that is not there does not count: the server or somebody else may fill it in.
        """
        metadata = obj.metadata
        if not self.follows(metadata.namespace):
            return f"the cache does not follow namespace {metadata.namespace!r}"
        if not self.labels.matches(metadata.labels):
            return f"its labels do not match {str(self.labels)!r}, by which the cache selects {obj.kind}"
        if self.fields:
            content = obj.content()
            for term in self.fields.terms:
                only = FieldSelector((term,))
                if _has(content, term[0]) and not only.matches(content):
                    return f"its fields do not match {str(only)!r}, by which the cache selects {obj.kind}"
        return ""


def _has(content: Any, path: str) -> bool:
    for part in path.split("."):
        if not isinstance(content, Mapping) or part not in content:
            return False
        content = content[part]
    return True
