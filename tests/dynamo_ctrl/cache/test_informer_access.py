"""A missing right and a missing API are states of the source that say what mends them, and that heal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.state import Phase, SourceState
from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.engine.errors import Forbidden, NotFound, Unavailable
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NODE, ConfigMap
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

Make = Callable[..., ConfigMap]


async def test_r4_51_a_missing_right_is_told_as_the_rule_that_grants_it(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.refuse_list(Forbidden('configmaps is forbidden: User "u" cannot list resource "configmaps"'))
    async with scene(engine) as it:
        assert it.phase is Phase.FORBIDDEN
        assert it.informer.state.reason == (
            'configmaps is forbidden: User "u" cannot list resource "configmaps"; '
            "add this rule to a ClusterRole of this user: "
            '- {apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"]}'
        )
        engine.page(config_map("a", 1), version=10)
        engine.stream()
        await it.passing(2)
        assert it.phases == [Phase.FORBIDDEN, Phase.LIVE]
        assert it.names() == ["a"]


async def test_a_right_to_watch_that_is_missing_does_not_flap(scene: Any, scripted: Any) -> None:
    engine = scripted()
    for version in range(10, 13):
        engine.page(version=version)
        engine.refuse_watch(Forbidden("cannot watch"))
    async with scene(engine) as it:
        await it.passing(10)
        assert it.phases == [Phase.LIVE, Phase.FORBIDDEN]
        assert not it.informer.ready


async def test_a_refusal_of_an_api_that_is_not_there_is_absence(scene: Any, scripted: Any) -> None:
    engine = scripted()
    engine.served = NotFound("no such group version")
    engine.refuse_list(Forbidden("cannot list"))
    async with scene(engine) as it:
        assert it.phase is Phase.ABSENT


async def test_an_absent_api_is_polled_and_picked_up(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.served = ()
    engine.refuse_list(*[NotFound("the server could not find the requested resource")] * 3)
    async with scene(engine) as it:
        assert it.phase is Phase.ABSENT
        assert "install its CustomResourceDefinition" in it.informer.state.reason
        engine.page(config_map("a", 1), version=10)
        engine.stream()
        await it.passing(20)
        assert it.names() == ["a"]
        assert it.phases == [Phase.ABSENT, Phase.LIVE]


async def test_retry_does_not_sit_out_the_backoff(scene: Any, scripted: Any) -> None:
    engine = scripted()
    engine.served = ()
    engine.refuse_list(NotFound("not yet"))
    engine.page(version=10)
    async with scene(engine) as it:
        it.informer.retry()
        await settle()
        assert it.phase is Phase.LIVE


async def test_an_api_that_goes_takes_its_objects_along_and_comes_back(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    first = engine.stream()
    async with scene(engine) as it:
        it.changes()
        engine.served = NotFound("no such group version")
        engine.refuse_watch(NotFound("gone"))
        engine.refuse_list(NotFound("gone"))
        await it.passing(5)
        first.end()
        await it.passing(2)
        assert it.phase is Phase.ABSENT
        assert [(c.key.name, c.new) for c in it.changes()] == [("a", None)]
        engine.page(config_map("a", 30, uid="again"), version=30)
        engine.stream()
        await it.passing(20)
        assert it.names() == ["a"]
        assert [(c.key.name, c.old, c.initial) for c in it.changes()] == [("a", None, False)]


async def test_a_404_for_an_api_that_discovery_tells_does_not_empty_the_cache(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    engine.refuse_watch(NotFound("the server is still starting"))
    engine.refuse_list(NotFound("the server is still starting"))
    async with scene(engine) as it:
        it.changes()
        await it.passing(2)
        assert it.phase is Phase.STALE
        assert it.names() == ["a"]
        assert it.changes() == []
        engine.page(config_map("a", 1), version=10)
        engine.stream()
        await it.passing(10)
        assert it.phases == [Phase.LIVE, Phase.STALE, Phase.LIVE]


async def test_where_discovery_does_not_answer_the_refusal_counts(scene: Any, scripted: Any) -> None:
    engine = scripted()
    engine.served = Unavailable("down")
    engine.refuse_list(Forbidden("cannot list"))
    async with scene(engine) as it:
        assert it.phase is Phase.FORBIDDEN


@pytest.mark.parametrize(
    ("kind", "namespaces", "optional", "excused"),
    [
        pytest.param(NODE, ("ns",), True, True, id="cluster scope beside namespaces"),
        pytest.param(NODE, ("ns",), False, False, id="and it is needed"),
        pytest.param(NODE, (), True, False, id="everything is followed"),
        pytest.param(CONFIG_MAP, ("ns",), True, False, id="a Role could grant it"),
    ],
)
async def test_a_right_that_no_role_of_a_namespace_can_grant_is_needed_only_by_who_needs_it(
    scripted: Any, kind: Kind[Any], namespaces: tuple[str, ...], optional: bool, excused: bool
) -> None:
    engine = scripted()
    engine.served = (kind.plural,)
    engine.refuse_list(Forbidden("cannot list"))
    cache = Cache(engine, clock=LoopClock(), random=Random(3), options=CacheOptions(namespaces=namespaces))
    informer = cache.informer(kind, optional=optional)
    view = cache.view({kind: informer})
    states: list[SourceState] = []
    informer.watch_state(states.append)
    task = asyncio.create_task(cache.run())
    await settle()
    assert [state.phase for state in states] == [Phase.FORBIDDEN]
    assert f'- {{apiGroups: [""], resources: ["{kind.plural}"]' in informer.state.reason
    assert informer.ready is excused
    assert view.serves(kind) is not (bool(namespaces) and not kind.namespaced)
    if excused:
        assert list(view.list(kind)) == []
        assert view.get(kind, "n") is None
    else:
        with pytest.raises(SourceUnavailable):
            view.list(kind)
    engine.page(NODE.object({"metadata": {"name": "n", "resourceVersion": "1"}}) if kind is NODE else b"{}", version=10)
    engine.stream()
    await asyncio.sleep(2)
    await settle()
    assert [state.phase for state in states] == [Phase.FORBIDDEN, Phase.LIVE]
    assert informer.ready
    assert view.serves(kind)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
