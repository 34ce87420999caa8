"""The annotations that steer the simulated life of a Pod, and those by which Deployments keep their books."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from dynamo_ctrl.objects.builtin.core import Pod
from dynamo_ctrl.objects.duration import InvalidDuration, parse_duration
from dynamo_ctrl.objects.errors import InvalidObject

D = TypeVar("D")

_NUMBER: Final = re.compile("[0-9]{1,9}")

PREFIX: Final = "data-plane.dynamo-ctrl.io/"

READY_AFTER: Final = PREFIX + "ready-after"
"""From the start of the containers to Ready (or to the crash), as `500ms`."""
CRASH: Final = PREFIX + "crash"
"""`true`: the containers end instead of becoming ready, and start again ever more slowly."""
RESTART_AFTER: Final = PREFIX + "restart-after"
"""From a crash to the next start, as `500ms`; without it as long as a kubelet waits."""
RESTARTS: Final = PREFIX + "restarts"
"""How often crashing containers start again before they stay down, as `2`; without it they never give up."""
IMAGE_ERROR: Final = PREFIX + "image-error"
"""`true`: the image cannot be pulled."""
GONE_AFTER: Final = PREFIX + "gone-after"
"""From the deletion to the end, as `2s`."""

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How a Pod behaves."""

    ready_after: timedelta
    gone_after: timedelta
    crash: bool
    image_error: bool
    restart_after: timedelta | None
    restarts: int | None


def behaviour(pod: Pod, *, ready_after: timedelta, gone_after: timedelta) -> Behaviour:
    """What the annotations of `pod` ask for, or what is given.

    Raises:
        InvalidObject: a text that is not a duration, or not a number.
    """
    annotations = pod.metadata.annotations
    return Behaviour(
        ready_after=_duration(pod, annotations, READY_AFTER, ready_after),
        gone_after=_duration(pod, annotations, GONE_AFTER, gone_after),
        crash=annotations.get(CRASH) == "true",
        image_error=annotations.get(IMAGE_ERROR) == "true",
        restart_after=_duration(pod, annotations, RESTART_AFTER, None),
        restarts=_number(pod, annotations, RESTARTS),
    )


def _duration(pod: Pod, annotations: Mapping[str, str], name: str, default: D) -> timedelta | D:
    text = annotations.get(name)
    if text is None:
        return default
    try:
        return parse_duration(text)
    except InvalidDuration as error:
        raise _invalid(pod, name, str(error)) from error


def _number(pod: Pod, annotations: Mapping[str, str], name: str) -> int | None:
    text = annotations.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise _invalid(pod, name, f"not a number: {text!r} (expected e.g. 2)")
    return int(text)


def _invalid(pod: Pod, name: str, rule: str) -> InvalidObject:
    return InvalidObject(f"Pod {pod.key}", f"metadata.annotations[{name}]", rule)
