"""Plays the acts of a story on either stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from envtest.scenarios.catalogue import Change, Expire, Ready, Roll, Story
from envtest.scenarios.observed import Rest, Seen, Told

WAVES: Final = 30
"""Waves of a rollout until it must be through."""


class Stage(Protocol):
    """One Deployment, and what can happen to it."""

    def change(self, patch: Any) -> None:
        """Merge `patch` into it."""

    def ready(self) -> None:
        """Its running Pods become ready."""

    def expire(self) -> None:
        """Its progress deadline passes."""

    def rest(self) -> Rest:
        """Wait until nothing moves by itself any more, and look."""

    @property
    def waits(self) -> bool:
        """Whether there are Pods that can still become ready."""

    @property
    def statuses(self) -> Sequence[Seen]:
        """Every status that was written so far."""


def tell(story: Story, stage: Stage) -> Told:
    """Play `story`; equal rests in a row are told once."""
    rests = [stage.rest()]

    def look() -> None:
        rest = stage.rest()
        if rest != rests[-1]:
            rests.append(rest)

    for act in story.acts:
        match act:
            case Change(patch):
                stage.change(patch)
                look()
            case Ready():
                stage.ready()
                look()
            case Expire():
                stage.expire()
                look()
            case Roll():
                for _ in range(WAVES):
                    if not stage.waits:
                        break
                    stage.ready()
                    look()
                else:
                    raise AssertionError(f"{story.name}: still Pods to wait for after {WAVES} waves")
    return Told(tuple(rests), tuple(stage.statuses))
