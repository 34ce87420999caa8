"""A user at work on his graphs, from a seed: whatever he does, the graphs that he wants in the end are known."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

import msgspec

from dynamo_ctrl.engine.errors import NotFound
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.engine.port import Propagation
from dynamo_ctrl.objects.builtin.core import SERVICE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as ADAPTER
from dynamo_graph.testing import component, graph
from tests.simulation.graphs.site import worker

PATIENCE: Final = 900
"""Seconds for which he waits until a name is free, or an adapter is there."""

LONGEST_PAUSE: Final = 8.0
SHARES: Final = (None, ("0", "1"), ("1", "0"), ("100%", "0"), ("50%", "50%"))
DEEDS: Final = (
    *("image", "image", "there and back", "burst", "frontend", "restart", "scale", "scale"),
    *("crash", "annotations lost", "service deleted", "component", "deleted"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A graph as its user wants it.

    Attributes:
        frontend, image: the numbers of the images of the frontend and of the workers.
        crash: whether the workers crash.
        more: whether there is a third worker component.
        size: of the component that is never scaled.
        scaled: what the other one is scaled to.
        shares: surge and unavailable of the workers.
    """

    frontend: int = 0
    image: int = 0
    crash: bool = False
    more: bool = False
    size: int = 2
    scaled: int = 1
    shares: tuple[str, str] | None = None

    def components(self, scaled: int) -> list[dict[str, Any]]:
        """Its components, as they are written."""
        life: dict[str, Any] = {"crash": self.crash, "shares": self.shares}
        return [
            component("Frontend", "frontend", image=f"registry.example/f:1.4.{self.frontend}"),
            worker("w", self.image, replicas=self.size, **life),
            worker("s", self.image, replicas=scaled, scalingAdapter={}, **life),
            *([worker("x", self.image, replicas=1, **life)] if self.more else []),
        ]


class User:
    """Works on one graph.

    Attributes:
        wanted: what he wants now.
    """

    def __init__(self, name: str, seed: str, deeds: int) -> None:
        self._random = Random(seed)
        self._name = name
        self._deeds = deeds
        self.wanted = Wanted(size=self._random.randint(1, 3), shares=self._random.choice(SHARES))

    async def work(self, core: Core) -> None:
        """Everything he does, one after the other; he never leaves workers that crash behind."""
        create(core, self._name, self.wanted)
        for number in range(self._deeds):
            await asyncio.sleep(LONGEST_PAUSE * self._random.random())
            await self._do(core, self._random.choice(DEEDS), number)
        if self.wanted.crash:
            self._apply(core, crash=False)

    async def _do(self, core: Core, deed: str, number: int) -> None:
        random, wanted = self._random, self.wanted
        match deed:
            case "image":
                self._apply(core, image=random.randrange(3), crash=False)
            case "there and back":
                self._apply(core, image=wanted.image + 1)
                await asyncio.sleep(LONGEST_PAUSE * random.random() ** 2)
                self._apply(core, image=wanted.image)
            case "burst":
                for image in random.choices(range(3), k=3):
                    self._apply(core, image=image)
                    await asyncio.sleep(0.3 * random.random())
            case "frontend":
                self._apply(core, frontend=random.randrange(3))
            case "restart":
                strategy = {"strategy": {"type": random.choice(["Sequential", "Parallel"])}}
                edit(core, self._name, {"spec": {"restart": {"id": f"r{number}", **strategy}}})
            case "scale":
                await self._scale(core, random.randint(0, 4))
            case "crash":
                self._apply(core, crash=True)
            case "annotations lost":
                edit(core, self._name, {"metadata": {"annotations": None}})
                self._apply(core, image=(wanted.image + 1) % 3)
            case "service deleted":
                with suppress(NotFound):
                    core.delete(SERVICE, Key("ns", f"{self._name}-frontend"))
            case "component":
                self._apply(core, more=not wanted.more)
            case "deleted":
                await self._delete(core)

    def _apply(self, core: Core, **changes: Any) -> None:
        """Another spec; what he has scaled stays as it is now."""
        self.wanted = replace(self.wanted, **changes)
        found = DGD.decode(core.get(DGD, Key("ns", self._name))).spec.component("s")
        scaled = 1 if found is None else found.desired_replicas
        edit(core, self._name, {"spec": {"components": self.wanted.components(scaled)}})

    async def _scale(self, core: Core, size: int) -> None:
        patch = Patch.merge({"spec": {"replicas": size}})
        await until(lambda: exists(core, ADAPTER, f"{self._name}-s"))
        core.patch(ADAPTER, Key("ns", f"{self._name}-s"), patch, subresource="scale")
        self.wanted = replace(self.wanted, scaled=size)

    async def _delete(self, core: Core) -> None:
        """Gone, and made anew when the name is free."""
        propagation: Propagation = self._random.choice(("Foreground", "Background"))
        core.delete(DGD, Key("ns", self._name), propagation=propagation)
        await until(lambda: not exists(core, DGD, self._name))
        self.wanted = replace(self.wanted, scaled=1)
        await asyncio.sleep(self._random.choice([0.0, 3.0]))
        create(core, self._name, self.wanted)


def create(core: Core, name: str, wanted: Wanted) -> None:
    """Make a graph."""
    obj = graph(*wanted.components(wanted.scaled), name=name)
    core.create(DGD, "ns", msgspec.json.encode(obj.content()))


def edit(core: Core, name: str, patch: dict[str, Any]) -> None:
    """Change a graph."""
    core.patch(DGD, Key("ns", name), Patch.merge(patch))


def exists(core: Core, kind: Any, name: str) -> bool:
    """Whether that object is there."""
    try:
        core.get(kind, Key("ns", name))
    except NotFound:
        return False
    return True


async def until(happens: Any) -> None:
    """Look every second. Raises `TimeoutError`."""
    async with asyncio.timeout(PATIENCE):
        while not happens():  # noqa: ASYNC110  (a user has nothing better)
            await asyncio.sleep(1)
