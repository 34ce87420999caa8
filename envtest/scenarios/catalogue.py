"""The stories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from data_plane.annotations import CRASH, READY_AFTER

DEADLINE: Final = 3
"""Seconds of progress deadline in the story about it."""

LABELS: Final = {"app": "story"}


@dataclass(frozen=True)
class Change:
    """Somebody merges that patch into the Deployment."""

    patch: Mapping[str, Any]


@dataclass(frozen=True)
class Ready:
    """All Pods that run become ready."""


@dataclass(frozen=True)
class Roll:
    """Wave after wave becomes ready, until there is nothing more to wait for."""


@dataclass(frozen=True)
class Expire:
    """Nothing happens until the progress deadline has passed."""


Act: TypeAlias = Change | Ready | Roll | Expire


@dataclass(frozen=True)
class Story:
    """A Deployment as it is created, and what happens to it.

    Attributes:
        spec: the first spec, as a merge patch.
        bounds: the most Pods and the fewest available ones that may ever be seen once the Deployment has been complete;
            `None` where the story itself changes them.
    """

    name: str
    spec: Mapping[str, Any]
    acts: tuple[Act, ...]
    bounds: tuple[int, int] | None = None


def template(image: str, *, crash: bool = False) -> dict[str, Any]:
    """A pod template with that image, as a merge patch: what is not asked for is `None`."""
    annotations = {CRASH: "true" if crash else None, READY_AFTER: "0s" if crash else None}
    container = {"name": "main", "image": f"example.com/app:{image}"}
    return {"metadata": {"labels": LABELS, "annotations": annotations}, "spec": {"containers": [container]}}


def image(name: str) -> Change:
    """Another image."""
    return Change({"spec": {"template": template(name)}})


def crashing(name: str) -> Change:
    """Another image, whose containers crash at once, again and again."""
    return Change({"spec": {"template": template(name, crash=True)}})


def scale(replicas: int) -> Change:
    """Another number of replicas."""
    return Change({"spec": {"replicas": replicas}})


def paused(value: bool) -> Change:
    """Pause, or resume."""
    return Change({"spec": {"paused": value}})


def _spec(replicas: int, **more: Any) -> dict[str, Any]:
    return {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template("1"), **more}


def _rolling(surge: int | str, unavailable: int | str) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


STORIES: Final = (
    Story("create", _spec(3), (Roll(),)),
    Story("scale-up", _spec(2), (Roll(), scale(5), Roll())),
    Story("scale-down", _spec(5), (Roll(), scale(2), Roll())),
    Story("scale-to-zero-and-back", _spec(2), (Roll(), scale(0), scale(3), Roll())),
    Story("image-change-with-the-default-bounds", _spec(4), (Roll(), image("2"), Roll()), bounds=(5, 3)),
    Story(
        "one-at-a-time-without-surge",
        _spec(3, strategy=_rolling(0, 1)),
        (Roll(), image("2"), Roll()),
        bounds=(3, 2),
    ),
    Story("one-at-a-time-without-gap", _spec(3, strategy=_rolling(1, 0)), (Roll(), image("2"), Roll()), bounds=(4, 3)),
    Story("half-at-a-time", _spec(10, strategy=_rolling("50%", "20%")), (Roll(), image("2"), Roll()), bounds=(15, 8)),
    Story("recreate", _spec(3, strategy={"type": "Recreate"}), (Roll(), image("2"), Roll())),
    Story(
        "pause-change-resume", _spec(3), (Roll(), paused(True), image("2"), scale(4), Ready(), paused(False), Roll())
    ),
    Story("rollback-in-the-middle", _spec(4), (Roll(), image("2"), Ready(), image("1"), Roll()), bounds=(5, 3)),
    Story("change-in-the-middle", _spec(4), (Roll(), image("2"), Ready(), image("3"), Roll()), bounds=(5, 3)),
    Story("crash-looping-image-stalls", _spec(4), (Roll(), crashing("2"), Roll()), bounds=(5, 3)),
    Story(
        "crash-looping-image-is-replaced",
        _spec(4),
        (Roll(), crashing("2"), image("3"), Roll()),
        bounds=(5, 3),
    ),
    Story("scale-in-the-middle", _spec(10, strategy=_rolling(3, 2)), (Roll(), image("2"), Ready(), scale(20), Roll())),
    Story(
        "scale-down-in-the-middle", _spec(10, strategy=_rolling(3, 2)), (Roll(), image("2"), Ready(), scale(5), Roll())
    ),
    Story(
        "progress-deadline",
        _spec(2, progressDeadlineSeconds=DEADLINE),
        (Roll(), crashing("2"), Expire(), image("3"), Roll()),
    ),
    Story(
        "revision-history-limit",
        _spec(1, revisionHistoryLimit=1),
        (Roll(), image("2"), Roll(), image("3"), Roll(), image("4"), Roll()),
    ),
)
