"""`Ports`: how the executor asks what lies outside of the cluster.

A program hands its ports to the effects that need them. Who only wants to know what would happen (a plan) puts others in their
place, so that nothing outside is asked and no secret is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dynamo_ctrl.program.effect import CreateOnce


class Ports(Protocol):
    """What the executor asks for the effects of a program."""

    async def fill(self, effect: CreateOnce) -> Mapping[str, bytes]:
        """The data of a generated secret; never asked for one that is copied. What it raises is the effect's failure."""


class OwnPorts:
    """Asks the program's own ports."""

    async def fill(self, effect: CreateOnce) -> Mapping[str, bytes]:
        """What the effect's own `fill` makes."""
        assert callable(effect.fill), "a copy is no port's business"  # noqa: S101
        return await effect.fill()


class NoPorts:
    """Asks nobody: generated secrets stay empty."""

    async def fill(self, effect: CreateOnce) -> Mapping[str, bytes]:
        """Nothing."""
        del effect
        return {}
