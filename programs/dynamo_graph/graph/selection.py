"""Which workload provider serves a graph (G 6.1). Pure.

The choice is made once and stored in an annotation; a stored choice is honoured whatever the cluster or other annotations say
later. Without one, the children that the graph already controls decide, and only then its author's intent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from dynamo_graph.api.names import Annotation

COMPONENT: Final = "component"
GROVE: Final = "grove"
DISAGGREGATED_SET: Final = "disaggregatedset"
PROVIDERS: Final = frozenset({COMPONENT, GROVE, DISAGGREGATED_SET})
"""The providers that every installation knows by name, whether it can serve them or not."""


class UnsupportedProvider(ValueError):
    """The annotation names no known provider. Only an edit of the graph can mend that."""

    def __init__(self, value: str, known: Iterable[str]) -> None:
        self.value = value
        where = f'metadata.annotations["{Annotation.WORKLOAD_PROVIDER}"]'
        super().__init__(f'{where}: unsupported workload provider "{value}" (one of: {", ".join(sorted(known))})')


class ConflictingProviders(Exception):
    """The graph controls children of several providers: choosing one would leave the others behind."""

    def __init__(self, families: Iterable[str]) -> None:
        self.families = tuple(sorted(families))
        found = ", ".join(self.families)
        super().__init__(
            f"the graph controls workloads of more than one provider ({found}); delete those of all but one"
        )


def stored(annotations: Mapping[str, str], installed: Collection[str] = ()) -> str | None:
    """The provider that was chosen before, of those known by name or `installed` besides.

    Raises:
        UnsupportedProvider: any other value; the empty one is a value too.
    """
    value = annotations.get(Annotation.WORKLOAD_PROVIDER)
    known = PROVIDERS | frozenset(installed)
    if value is not None and value not in known:
        raise UnsupportedProvider(value, known)
    return value


def adopted(families: Collection[str]) -> str | None:
    """The provider of the children that the graph controls, if there are any. Raises `ConflictingProviders`."""
    if len(families) > 1:
        raise ConflictingProviders(families)
    return next(iter(families), None)


def intended(annotations: Mapping[str, str], available: Collection[str]) -> str:
    """The provider that a new graph asks for; `available` are the providers that could serve it here."""
    if GROVE in available and annotations.get(Annotation.ENABLE_GROVE, "").lower() != "false":
        return GROVE
    if annotations.get(Annotation.ENABLE_DISAGGREGATED_SET, "").lower() == "true":
        return DISAGGREGATED_SET
    return COMPONENT
