"""`Ports`: how the executor asks what lies outside of what a program watches: its ports, and the sources of copied secrets.

A program hands its ports to the effects that need them. Who only wants to know what would happen (a plan) puts others in their
place, so that nothing outside is asked, and no secret is made or read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.key import Ref
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import CreateOnce


class Ports(Protocol):
    """What the executor asks for the effects of a program."""

    async def fill(self, effect: CreateOnce) -> Mapping[str, bytes]:
        """The data of a generated secret; never asked for one that is copied. What it raises is the effect's failure."""

    async def source(self, engine: Engine, ref: Ref) -> Object[Any, Any]:
        """The object that a secret is copied from. What it raises is the effect's failure."""


class OwnPorts:
    """Asks the program's own ports."""

    async def fill(self, effect: CreateOnce) -> Mapping[str, bytes]:
        """What the effect's own `fill` makes."""
        assert callable(effect.fill), "a copy is no port's business"  # noqa: S101
        return await effect.fill()

    async def source(self, engine: Engine, ref: Ref) -> Object[Any, Any]:
        """The object as the server has it now. Raises `NotFound`."""
        live: Object[Any, Any] = ref.kind.decode(await engine.get(ref.kind, ref.key))
        return live


class NoPorts:
    """Asks nobody: secrets stay empty, and every source is believed to be there."""

    async def fill(self, effect: CreateOnce) -> Mapping[str, bytes]:
        """Nothing."""
        del effect
        return {}

    async def source(self, engine: Engine, ref: Ref) -> Object[Any, Any]:
        """An object of that name without content."""
        del engine
        name, namespace = ref.key.name, ref.key.namespace
        empty: Object[Any, Any] = ref.kind.object({"metadata": {"name": name, "namespace": namespace}})
        return empty
