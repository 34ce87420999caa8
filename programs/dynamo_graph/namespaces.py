"""The event filter of an operator that leaves short-lived namespaces to others (P 7.4). Off unless it is configured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.controller.builder import Watch, Watches
from dynamo_ctrl.controller.predicate import Predicate
from dynamo_ctrl.objects.object import Object
from dynamo_graph.api.config import OperatorConfig

P = TypeVar("P", bound=Object[Any, Any])

EPHEMERAL: Final = "ephemeral"
"""What the name of a namespace holds that `namespace.ignoreEphemeral` is about."""


@dataclass(frozen=True, slots=True)
class Lasting:
    """Predicate: what another passes, unless it happened in an ephemeral namespace. Equal for equal predicates."""

    when: Predicate[Any]

    def __call__(self, change: Change[Any]) -> bool:
        """Whether it passes."""
        return EPHEMERAL not in change.latest.metadata.namespace and self.when(change)


def heard(watches: Watches[P], config: OperatorConfig) -> Watches[P]:
    """The watches, deaf to ephemeral namespaces if `config` says so."""
    if not config.namespace.ignore_ephemeral:
        return watches
    return replace(watches, primary=_lasting(watches.primary), others=tuple(map(_lasting, watches.others)))


def _lasting(watch: Watch[P]) -> Watch[P]:
    return replace(watch, when=Lasting(watch.when))
