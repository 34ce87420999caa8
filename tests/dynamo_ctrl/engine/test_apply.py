"""Applying objects: created or merged, definitions first and waited for, refusals as types."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from dynamo_ctrl import Key, Kind, Manager, NotEstablished, Object, Request, Result, apply, watching
from dynamo_ctrl.engine.errors import BadRequest, Invalid, NotFound
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.schema.crd import CustomResource, definition
from dynamo_ctrl.objects.schema.marks import Int32
from dynamo_ctrl.testing import LoopClock


class SiteSpec(BaseModel):
    size: Annotated[Int32, Field(ge=0)] = 1


class Site(Object[SiteSpec, None]):
    """A kind of its own."""


SITE = Kind(Site, group="example.com", version="v1", kind="Site", plural="sites", status_subresource=False)
CRD = definition(CustomResource(kind=SITE, description="A site."))


class SiteProgram:
    name = "site"
    watches = watching(SITE)

    def reconcile(self, request: Request[Site]) -> Result[None]:
        return Result()

    def definitions(self) -> tuple[Any, ...]:
        return (CRD,)


def site(**spec: Any) -> Site:
    return SITE.object({"metadata": {"name": "s", "namespace": "default"}, "spec": spec})


def config(**data: str) -> Any:
    return CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "default"}, "data": data})


async def test_what_is_missing_is_created_and_what_is_there_is_merged() -> None:
    core = Core(clock=LoopClock())
    (first,) = await apply(MemoryEngine(core), config(x="1", y="1"))
    (second,) = await apply(MemoryEngine(core), config(x="2"))
    assert first.metadata.uid == second.metadata.uid
    assert CONFIG_MAP.decode(core.get(CONFIG_MAP, Key("default", "c"))).data == {"x": "2", "y": "1"}


async def test_definitions_come_first() -> None:
    engine = MemoryEngine(Core(clock=LoopClock()))
    done = await apply(engine, site(size=3), CUSTOM_RESOURCE_DEFINITION.object(CRD))
    assert [obj.kind for obj in done] == [CUSTOM_RESOURCE_DEFINITION, SITE]
    assert done[1].spec.size == 3


async def test_a_definition_that_is_not_served_in_time_is_told() -> None:
    class Slow(MemoryEngine):
        async def get(self, kind: Any, key: Key, *, subresource: str = "") -> bytes:
            found = kind.decode(await super().get(kind, key, subresource=subresource)).content()
            raw: bytes = kind.object({**found, "status": {}}).raw
            return raw

    with pytest.raises(NotEstablished, match=r"sites\.example\.com: the server did not establish") as raised:
        await apply(Slow(Core(clock=LoopClock())), CUSTOM_RESOURCE_DEFINITION.object(CRD))
    assert raised.value.name == "sites.example.com"


async def test_refusals_are_the_servers() -> None:
    engine = MemoryEngine(Core(clock=LoopClock()))
    await apply(engine, CUSTOM_RESOURCE_DEFINITION.object(CRD))
    with pytest.raises(Invalid, match=r"spec\.size"):
        await apply(engine, site(size=-1))
    with pytest.raises(BadRequest, match=r'unknown field "spec\.sice"'):
        await apply(engine, site(sice=1))


async def test_a_missing_namespace_is_told_before_anything_is_written() -> None:
    core = Core(clock=LoopClock())
    with pytest.raises(InvalidObject, match=r"metadata\.namespace: must be set"):
        await apply(MemoryEngine(core), config(), CONFIG_MAP.object({"metadata": {"name": "d"}}))
    with pytest.raises(NotFound):
        core.get(CONFIG_MAP, Key("default", "c"))


async def test_a_manager_installs_the_definitions_of_its_programs() -> None:
    async with Manager(engine=MemoryEngine(Core(clock=LoopClock())), programs=[SiteProgram()]) as manager:
        await manager.install()
        await manager.install()
        (made,) = await apply(manager.engine, site(size=2))
        assert made.spec.size == 2
