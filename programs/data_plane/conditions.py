"""Conditions as the built-in controllers keep them.

They differ from `metav1.Condition`: for Deployments and ReplicaSets a condition whose status and reason stay is left alone,
message and times included; one that changes moves to the end; and Deployments note when a condition was last updated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from dynamo_ctrl.objects.builtin.core import BuiltinCondition

Conditions = tuple[BuiltinCondition, ...]


@dataclass(frozen=True, slots=True)
class Stamp:
    """Makes the conditions of one attempt. `updates` adds the time of the last update."""

    now: datetime
    updates: bool = False

    def condition(
        self, type_: str, status: Literal["True", "False", "Unknown"], reason: str, message: str = ""
    ) -> BuiltinCondition:
        """A condition that came about now."""
        second = self.now.replace(microsecond=0)
        return BuiltinCondition(type_, status, reason, message, second, second if self.updates else None)


def find(conditions: Iterable[BuiltinCondition], type_: str) -> BuiltinCondition | None:
    """The condition of that type."""
    return next((condition for condition in conditions if condition.type == type_), None)


def without(conditions: Iterable[BuiltinCondition], type_: str) -> Conditions:
    """All but the condition of that type."""
    return tuple(condition for condition in conditions if condition.type != type_)


def with_new(conditions: Conditions, new: BuiltinCondition) -> Conditions:
    """`conditions` with `new`; unchanged if status and reason are what they were."""
    old = find(conditions, new.type)
    if old is not None and (old.status, old.reason) == (new.status, new.reason):
        return conditions
    return replaced(conditions, new)


def refreshed(conditions: Conditions, new: BuiltinCondition) -> Conditions:
    """`conditions` with `new`; unchanged if status, reason and message are what they were (scheduler and kubelet)."""
    old = find(conditions, new.type)
    if old is not None and (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return conditions
    return replaced(conditions, new)


def replaced(conditions: Conditions, new: BuiltinCondition) -> Conditions:
    """`conditions` with `new` in any case; the time of the transition stays if the status does."""
    old = find(conditions, new.type)
    if old is not None and old.status == new.status and old.last_transition_time is not None:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    return (*without(conditions, new.type), new)


def to_json(conditions: Conditions) -> list[dict[str, Any]]:
    """The conditions as the API has them: what is empty is left out."""
    return [
        {name: value for name, value in msgspec.to_builtins(condition).items() if value} for condition in conditions
    ]
