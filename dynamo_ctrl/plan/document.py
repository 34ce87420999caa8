"""A plan as JSON data, for other programs. It says what the plan says, under the plan's own names."""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.objects.difference import ABSENT, Difference
from dynamo_ctrl.objects.frozen import thaw
from dynamo_ctrl.objects.key import Ref
from dynamo_ctrl.plan.plan import Plan, PlannedFailure, PlannedStatus, PlannedWrite


def document(plan: Plan) -> dict[str, Any]:
    """The plan as JSON data. Of a difference `old` or `new` is missing where there is nothing."""
    return {
        "settled": plan.settled,
        "passes": plan.passes,
        "counts": {str(action): count for action, count in plan.counts.items()},
        "writes": [written(write) for write in plan.writes],
        "statuses": [_status(status) for status in plan.statuses],
        "failures": [_failure(failure) for failure in plan.failures],
        "later": [
            {"controller": later.controller, "primary": _ref(later.primary), "seconds": later.seconds}
            for later in plan.later
        ],
        "restless": list(plan.restless),
    }


def written(write: PlannedWrite) -> dict[str, Any]:
    """What becomes of one object."""
    told: dict[str, Any] = {"action": str(write.action), "object": _ref(write.object)}
    if write.content:
        told["content"] = thaw(write.content)
    if write.differences:
        told["differences"] = [_difference(difference) for difference in write.differences]
    if write.held:
        told["held"] = list(write.held)
    told["authors"] = [
        {
            "controller": author.controller,
            "primary": _ref(author.primary),
            "step": author.step,
            "effect": author.effect,
        }
        for author in write.authors
    ]
    return told


def _status(status: PlannedStatus) -> dict[str, Any]:
    return {
        "object": _ref(status.object),
        "status": thaw(status.status),
        "differences": [_difference(difference) for difference in status.differences],
    }


def _failure(failure: PlannedFailure) -> dict[str, Any]:
    return {
        "controller": failure.controller,
        "primary": _ref(failure.primary),
        "step": failure.step,
        "reason": failure.reason,
        "message": failure.message,
        "fatal": failure.fatal,
        "terminal": failure.terminal,
    }


def _difference(difference: Difference) -> dict[str, Any]:
    values = {"old": difference.old, "new": difference.new}
    return {"path": difference.path, **{name: thaw(value) for name, value in values.items() if value is not ABSENT}}


def _ref(ref: Ref) -> dict[str, str]:
    place = {"namespace": ref.key.namespace} if ref.key.namespace else {}
    return {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, **place, "name": ref.key.name}
