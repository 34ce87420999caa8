"""How far a Pod is. Pure."""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.objects.builtin.core import Pod

TERMINAL: Final = frozenset({"Succeeded", "Failed"})
"""Phases of a Pod whose containers have ended for good."""


def has_ended(pod: Pod) -> bool:
    """Whether its containers have ended for good. One that is being deleted has not: it serves until it ends."""
    return pod.status.phase in TERMINAL
