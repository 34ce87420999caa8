"""`watching(KIND)...`: how a program says what wakes it and what it reads.

    watches = (
        watching(GRAPH, when=spec_or_deletion_changed)
        .owning(COMPONENT)
        .mapping(POD, by_label("example.com/graph"), when=crash_loop_changed, project=slim_pod)
        .reading(SECRET)
        .indexing(PODS_BY_COMPONENT)
    )

The result is a value: it starts nothing. Informers are shared between all programs of a manager by kind, selector and
projection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.projection import Projection
from dynamo_ctrl.controller.mapper import Mapper, to_controller, to_owners, to_self
from dynamo_ctrl.controller.predicate import Predicate, always
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

P = TypeVar("P", bound=Object[Any, Any])
O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch(Generic[O]):
    """One kind that a program watches or reads.

    Attributes:
        kind: what.
        mapper: whom its changes wake; `None` when it is only read.
        when: which changes count.
        label_selector: restricts the informer on the server; "" for all.
        project: what is kept of each object in the cache; `None` keeps everything but managedFields.
        optional: the program works without that API; it reads as empty while it is absent, or has cluster scope and may not be
            read by a manager of some namespaces.
        debounce: seconds that a wake waits for others of its key, so that all of them are one run; `None` leaves it to the
            controller's options.
        mends: what passes may be what a failed run of its key waits for: the first one ends that wait, as a new spec does.

    Raises:
        ValueError: a negative debounce.
    """

    kind: Kind[O]
    mapper: Mapper[O] | None
    when: Predicate[O] = always
    label_selector: str = ""
    project: Projection | None = None
    optional: bool = False
    debounce: float | None = None
    mends: bool = False

    def __post_init__(self) -> None:
        """See the class."""
        if self.debounce is not None and not 0 <= self.debounce < math.inf:
            raise ValueError(f"{self.kind}: debounce must be a number of seconds, not negative, got {self.debounce}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watches(Generic[P]):
    """Everything that a program watches, reads and indexes. Build it with `watching`."""

    primary: Watch[P]
    others: tuple[Watch[Any], ...] = ()
    indexes: tuple[Index[Any], ...] = field(default=())

    def owning(
        self,
        kind: Kind[O],
        *,
        when: Predicate[O] = always,
        label_selector: str = "",
        project: Projection | None = None,
        optional: bool = False,
        debounce: float | None = None,
        every_owner: bool = False,
    ) -> Watches[P]:
        """Changes of an object of `kind` wake the primary that controls it, or with `every_owner` all that own it."""
        mapper = (to_owners if every_owner else to_controller)(self.primary.kind)
        return self._and(kind, mapper, when, label_selector, project, optional, debounce)

    def mapping(
        self,
        kind: Kind[O],
        mapper: Mapper[O],
        *,
        when: Predicate[O] = always,
        label_selector: str = "",
        project: Projection | None = None,
        optional: bool = False,
        debounce: float | None = None,
        mends: bool = False,
    ) -> Watches[P]:
        """Changes of an object of `kind` wake the primaries that `mapper` names."""
        return self._and(kind, mapper, when, label_selector, project, optional, debounce, mends)

    def reading(
        self, kind: Kind[Any], *, label_selector: str = "", project: Projection | None = None, optional: bool = False
    ) -> Watches[P]:
        """Objects of `kind` are cached for reading and wake nobody."""
        return self._and(kind, None, always, label_selector, project, optional)

    def indexing(self, *indexes: Index[Any]) -> Watches[P]:
        """Adds indexes; the kind of each must be watched or read. Raises `ValueError` otherwise."""
        kinds = {self.primary.kind, *(watch.kind for watch in self.others)}
        for index in indexes:
            if index.kind not in kinds:
                raise ValueError(f"{index!r}: {index.kind} is neither watched nor read")
        return replace(self, indexes=(*self.indexes, *indexes))

    @property
    def all(self) -> tuple[Watch[Any], ...]:
        """The primary's watch and the others."""
        return (self.primary, *self.others)

    def _and(
        self,
        kind: Kind[O],
        mapper: Mapper[O] | None,
        when: Predicate[O],
        label_selector: str,
        project: Projection | None,
        optional: bool,
        debounce: float | None = None,
        mends: bool = False,
    ) -> Watches[P]:
        watch = Watch(
            kind=kind,
            mapper=mapper,
            when=when,
            label_selector=label_selector,
            project=project,
            optional=optional,
            debounce=debounce,
            mends=mends,
        )
        return replace(self, others=(*self.others, watch))


def watching(
    kind: Kind[P],
    *,
    when: Predicate[P] = always,
    label_selector: str = "",
    project: Projection | None = None,
    debounce: float | None = None,
) -> Watches[P]:
    """Start from the primary kind: its own changes wake it, those that pass `when`.

    Once the program has answered with a status, one that somebody else writes wakes it as well, whatever `when` says.
    """
    primary = Watch(
        kind=kind, mapper=to_self, when=when, label_selector=label_selector, project=project, debounce=debounce
    )
    return Watches(primary=primary)
