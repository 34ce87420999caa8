"""Conditions: the transition time moves only when the status does."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.functional_serializers import PlainSerializer

from dynamo_ctrl.objects.schema.marks import Int64

ConditionStatus = Literal["True", "False", "Unknown"]

Time = Annotated[datetime, PlainSerializer(lambda t: rfc3339(t), return_type=str, when_used="json")]
"""A `metav1.Time`: whole seconds, UTC."""


def rfc3339(moment: datetime) -> str:
    """`moment` as Kubernetes writes a `metav1.Time`: UTC, whole seconds, `Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Condition(BaseModel):
    """`metav1.Condition`. Absent times and generations are left out when it is written."""

    # Built with the first use: the first model of a process takes 10 ms, which a start need not wait for.
    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore", defer_build=True
    )

    type: Annotated[str, Field(max_length=316)]
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    observed_generation: Int64 | None = None
    last_transition_time: Time | None = None


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """The condition of that type, if there is one."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    """Whether the condition of that type is present and True."""
    found = find(conditions, type_)
    return found is not None and found.status == "True"


def with_condition(conditions: Iterable[Condition], new: Condition, now: datetime) -> tuple[Condition, ...]:
    """`conditions` with `new` in the place of its type, or at the end.

    `last_transition_time` is `now` when the status differs from before (or nothing was there), else the old time.
    """
    conditions = tuple(conditions)
    old = find(conditions, new.type)
    moved = old is None or old.status != new.status or old.last_transition_time is None
    stamped = new.model_copy(
        update={
            "last_transition_time": now.astimezone(UTC).replace(microsecond=0)
            if moved or old is None
            else old.last_transition_time
        }
    )
    if old is None:
        return (*conditions, stamped)
    return tuple(stamped if condition.type == new.type else condition for condition in conditions)
