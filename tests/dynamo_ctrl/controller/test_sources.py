"""Sources as handles: added to and taken from a running controller (R 4, 50), and who waits for whom (R 4, 54)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.builder import Watch, watching
from dynamo_ctrl.controller.mapper import by_label, to_self
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.entry import LOW

GADGET: Kind[Object[Any, Any]] = Kind(Object, group="example.com", version="v1", kind="Gadget", plural="gadgets")
FOR = by_label("for")


async def test_r4_50_a_source_can_be_added_to_a_running_controller_and_closed_again(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a")
    async with arena.running(arena.controller()) as controller:
        arena.put("s", kind=SECRET, labels={"for": "x"})
        assert arena.took() == ["a"]
        handle = controller.watch(Watch(kind=SECRET, mapper=FOR))
        await asyncio.wait_for(handle.wait_settled(), 1)
        assert handle.settled
        assert handle.state.phase is Phase.LIVE
        await asyncio.sleep(0.01)
        assert "x" in arena.took()
        assert [secret.metadata.name for secret in controller.view.list(SECRET)] == ["s"]
        handle.close()
        handle.close()
        arena.put("t", kind=SECRET, labels={"for": "y"})
        await asyncio.sleep(0.01)
        assert arena.took() == []
        assert {str(informer.kind) for informer in arena.cache.informers} == {"configmaps"}
        assert list(controller.sources) == ["configmaps"]
        with pytest.raises(SourceUnavailable, match="neither watched nor read"):
            controller.view.list(SECRET)


async def test_r4_50_sources_come_and_go_without_a_trace(new_arena: Any) -> None:
    arena = new_arena()
    async with arena.running(arena.controller()) as controller:
        before = len(asyncio.all_tasks())
        for number in range(20):
            handle = controller.watch(Watch(kind=SECRET, mapper=FOR))
            if number % 2:
                await asyncio.sleep(0.01)
            handle.close()
        await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) == before
        assert len(list(arena.cache.informers)) == 1
        assert controller.ready


async def test_r4_54_a_source_that_is_added_holds_back_only_who_reads_it(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("reader", "other")
    controller = arena.controller()

    def reconcile(key: Key) -> Answer:
        if key.name == "reader":
            try:
                controller.view.list(GADGET)
            except SourceUnavailable as error:
                return Answer(error=error)
        arena.runs.append(key.name)
        return DONE

    async with arena.running(controller, reconcile):
        assert arena.took() == ["other"], "the reader's kind is not declared yet"
        handle = controller.watch(Watch(kind=GADGET, mapper=None))
        await asyncio.sleep(30)
        assert handle.state.phase is Phase.ABSENT
        assert not controller.ready
        assert arena.took() == ["other"], "what a program may read has changed"
        arena.put("new")
        await asyncio.sleep(0.01)
        assert arena.took() == ["new"]
        errors = controller.numbers.error
        arena.edit("reader", data={"a": "b"})
        await asyncio.sleep(0.01)
        arena.core.register(GADGET)
        await asyncio.sleep(60)
        assert controller.ready
        assert "reader" in arena.took()
        assert controller.numbers.error == errors, "it waited quietly"


async def test_a_second_source_of_a_kind_outlives_the_first_and_keeps_the_view(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("s", kind=SECRET, labels={"for": "x"})
    async with arena.running(arena.controller()) as controller:
        first = controller.watch(Watch(kind=SECRET, mapper=None))
        second = controller.watch(Watch(kind=SECRET, mapper=FOR))
        await asyncio.sleep(0.01)
        first.close()
        await asyncio.sleep(0.01)
        assert len(controller.view.list(SECRET)) == 1
        arena.took()
        arena.put("t", kind=SECRET, labels={"for": "y"})
        await asyncio.sleep(0.01)
        assert arena.took() == ["y"]
        second.close()


async def test_a_kind_is_as_optional_as_the_sources_that_are_left_say(new_arena: Any) -> None:
    arena = new_arena()
    async with arena.running(arena.controller()) as controller:
        needed = controller.watch(Watch(kind=GADGET, mapper=None))
        optional = controller.watch(Watch(kind=GADGET, mapper=None, optional=True))
        await asyncio.sleep(10)
        with pytest.raises(SourceUnavailable):
            controller.view.list(GADGET)
        needed.close()
        assert controller.view.list(GADGET) == ()
        assert controller.ready
        optional.close()


async def test_a_source_is_added_with_its_indexes(new_arena: Any) -> None:
    arena = new_arena()
    by_app: Index[Any] = Index("app", SECRET, lambda secret: (secret.metadata.labels.get("app", ""),))
    arena.put("s", kind=SECRET, labels={"app": "x"})
    async with arena.running(arena.controller()) as controller:
        controller.watch(Watch(kind=SECRET, mapper=None), by_app)
        await asyncio.sleep(0.01)
        assert len(controller.view.by_index(by_app, "x")) == 1
        other: Index[Any] = Index("app", CONFIG_MAP, lambda obj: ())
        with pytest.raises(ValueError, match="cannot be kept by the informer of secrets"):
            controller.watch(Watch(kind=SECRET, mapper=None), other)
        assert len(list(arena.cache.informers)) == 2


async def test_a_source_that_would_make_reads_ambiguous_is_refused(new_arena: Any) -> None:
    arena = new_arena()
    async with arena.running(arena.controller(watching(CONFIG_MAP).reading(SECRET))) as controller:
        with pytest.raises(ValueError, match="watched twice with different values of label_selector"):
            controller.watch(Watch(kind=SECRET, mapper=to_self, label_selector="a=b"))
        assert len(list(arena.cache.informers)) == 2


async def test_a_closed_controller_takes_no_source(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller()
    controller.close()
    with pytest.raises(RuntimeError, match="controller test: closed"):
        controller.watch(Watch(kind=SECRET, mapper=None))
    assert list(arena.cache.informers) == []


async def test_closing_a_source_that_a_starting_controller_waits_for_lets_it_go_on(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a")
    controller = arena.controller(watching(CONFIG_MAP).reading(GADGET))
    async with arena.running(controller):
        await asyncio.sleep(10)
        assert arena.runs == []
        (handle,) = [handle for handle in controller._sources.needed if handle.watch.kind == GADGET]
        handle.close()
        await asyncio.sleep(0.01)
        assert arena.runs == ["a"]


async def test_r4_23_waking_everybody_is_done_at_low_priority(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a", "b")
    async with arena.running(arena.controller(watching(CONFIG_MAP).owning(GADGET, optional=True))):
        arena.took()
        arena.core.register(GADGET)
        await asyncio.sleep(15)
        assert {(entry.key.name, entry.priority) for entry in arena.entries} == {("a", LOW), ("b", LOW)}


async def test_an_api_that_comes_lets_a_failed_key_run_before_its_back_off_is_over(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a")
    arena.answer = Answer(error=RuntimeError("there is no gadget"))
    async with arena.running(arena.controller(watching(CONFIG_MAP).owning(GADGET, optional=True))) as controller:
        await asyncio.sleep(200)  # the next attempt is minutes away
        arena.took()
        arena.answer = DONE
        arena.core.register(GADGET)
        await asyncio.sleep(15)
        assert arena.runs == ["a"]
        assert controller.queue.failures(Key("default", "a")) == 0


async def test_a_mapper_that_looks_at_the_view_sees_added_kinds(new_arena: Any) -> None:
    arena = new_arena()

    def mapper(obj: Object[Any, Any], view: View) -> list[Key]:
        return [Key("default", f"{len(view.list(SECRET))}-{obj.metadata.name}")]

    arena.put("s", kind=SECRET)
    async with arena.running(arena.controller(watching(CONFIG_MAP).reading(SECRET))) as controller:
        controller.watch(Watch(kind=GADGET, mapper=mapper, optional=True))
        arena.core.register(GADGET)
        await asyncio.sleep(15)
        arena.put("g", kind=GADGET)
        await asyncio.sleep(0.01)
        assert "1-g" in arena.runs
