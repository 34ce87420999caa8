"""`Index`: a declared way to find objects of one kind by a value that a function takes from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


@dataclass(frozen=True, slots=True)
class Index(Generic[O]):
    """An index over the objects of `kind`.

    Attributes:
        name: unique in its kind; it names the index in logs and metrics.
        kind: what is indexed.
        values: the values of one object: none, one or several; duplicates collapse. It must be pure. If it raises, the
            object is indexed under no value, and the failure is logged and counted.
    """

    name: str
    kind: Kind[O]
    values: Callable[[O], Iterable[str]]

    def __repr__(self) -> str:
        return f"Index({self.name} of {self.kind})"
