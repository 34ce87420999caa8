"""Write echoes in a whole controller (R 4, 39): found through the cache's own events, told with the path, and slowed down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.controller.echo import EchoOptions
from dynamo_ctrl.controller.mapper import by_label
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

NAME = "a write comes back again and again; its key is held back"
SIZED = by_label("for")


def writing(
    arena: Any, controller: Controller, change: Callable[[int], tuple[str, Kind[Any], dict[str, Any]] | None]
) -> Any:
    """A reconcile that makes one change in each run, given the number of the run, and tells the controller."""
    runs = 0

    def reconcile(key: Key) -> Answer:
        nonlocal runs
        runs += 1
        arena.runs.append(key.name)
        wanted = change(runs)
        if wanted is not None:
            name, kind, content = wanted
            answer: Object[Any, Any] = kind.decode(arena.edit(name, kind, **content))
            controller.written.wrote(answer)
        return DONE

    return reconcile


async def test_r4_39_a_time_stamp_in_its_own_object_is_found_told_and_slowed_down(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller()
    stamped = writing(arena, controller, lambda run: ("a", CONFIG_MAP, {"data": {"stamp": str(run)}}))
    async with arena.running(controller, stamped):
        arena.put("a")
        await asyncio.sleep(600)
        assert len(arena.runs) < 20, "without the detector the loop would never rest"
        assert controller.numbers.echoes == len(arena.runs) - 4
        first, second, *_ = [line for line in arena.lines.entries if line["event"] == NAME]
        assert (first["object"], first["paths"], first["loop"], first["times"], first["hold"]) == (
            "ConfigMap default/a",
            ["data.stamp"],
            "repeated",
            5,
            1.0,
        )
        assert first["key"] == "default/a"
        assert first["reconcile_id"] == "test-5"
        assert (second["times"], second["hold"]) == (6, 2.0)
        assert controller.numbers.error == 0


async def test_r4_39_a_fight_with_another_writer_is_found_with_its_path(new_arena: Any) -> None:
    arena = new_arena()
    watches = watching(CONFIG_MAP).mapping(SECRET, SIZED)
    controller = arena.controller(watches)

    def ours(run: int) -> tuple[str, Kind[Any], dict[str, Any]] | None:
        live = controller.view.get(SECRET, "default/child")
        if live is None or live.content()["data"]["size"] == "Mw==":
            return None
        return "child", SECRET, {"data": {"size": "Mw=="}}

    async with arena.running(controller, writing(arena, controller, ours)):
        arena.put("a")
        arena.put("child", kind=SECRET, labels={"for": "a"})
        for _ in range(10):
            arena.edit("child", SECRET, data={"size": "MQ=="})
            await asyncio.sleep(0.1)
        lines = [line for line in arena.lines.entries if line["event"] == NAME]
        assert lines[0]["loop"] == "reverted"
        assert lines[0]["paths"] == ["data.size"]
        assert "MQ==" not in str(lines), "values are not told"
        assert len(lines) < 6, "it is held back between them"


async def test_the_key_goes_on_when_the_loop_has_ended(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller()
    quiet = False
    stamped = writing(
        arena, controller, lambda run: None if quiet else ("a", CONFIG_MAP, {"data": {"stamp": str(run)}})
    )
    async with arena.running(controller, stamped):
        arena.put("a")
        await asyncio.sleep(100)
        quiet = True
        await asyncio.sleep(300)
        arena.took()
        for number in range(3):
            arena.edit("a", data={"n": str(number)})
            await asyncio.sleep(0.01)
        assert arena.took() == ["a", "a", "a"]


async def test_somebody_elses_new_spec_is_tried_at_once_and_the_loop_is_held_back_again_right_after(
    new_arena: Any,
) -> None:
    arena = new_arena()
    controller = arena.controller()
    stamped = writing(arena, controller, lambda run: ("a", CONFIG_MAP, {"data": {"stamp": str(run)}}))
    async with arena.running(controller, stamped):
        arena.put("a")
        await asyncio.sleep(100)
        before = len(arena.runs)
        for number in range(3):
            arena.edit("a", data={"theirs": str(number)})
            await asyncio.sleep(0.1)
        assert before + 3 <= len(arena.runs) <= before + 6
        await asyncio.sleep(0.5)
        assert len(arena.runs) <= before + 6


async def test_writes_outside_of_a_run_and_of_kinds_that_nobody_watches_pass_through(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller()
    arena.put("s", kind=SECRET)
    secrets = writing(arena, controller, lambda run: ("s", SECRET, {"data": {"x": "eA=="}}))
    async with arena.running(controller, secrets):
        for number in range(10):
            answer = CONFIG_MAP.decode(
                arena.core.create(CONFIG_MAP, "default", msgspec.json.encode({"metadata": {"name": f"x{number}"}}))
            )
            controller.written.wrote(answer)
            assert controller.view.get(CONFIG_MAP, answer.key) is not None, "it is read at once"
            controller.written.deleted(CONFIG_MAP, answer.key, answer.metadata.uid)
            assert controller.view.get(CONFIG_MAP, answer.key) is None
        for number in range(10):
            arena.edit("x" if number else arena.put("x") or "x", data={"n": str(number)})
            await asyncio.sleep(0.1)
        assert len(arena.runs) >= 10
        assert controller.numbers.echoes == 0


async def test_of_several_echoes_in_one_run_the_longest_hold_counts(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller(echo=EchoOptions(threshold=2))
    runs = 0

    def reconcile(key: Key) -> Answer:
        nonlocal runs
        runs += 1
        names = ["b", "a"] if runs >= 3 else ["a"]
        for name in names:
            answer: Object[Any, Any] = CONFIG_MAP.decode(arena.edit(name, data={"stamp": str(runs)}))
            controller.written.wrote(answer)
        return DONE

    arena.put("a", "b")
    async with arena.running(controller, lambda key: reconcile(key) if key.name == "a" else DONE):
        await asyncio.sleep(60)
        assert runs == 7, "after 1, 2, 4, 8, ... seconds"


async def test_r4_39_creating_what_somebody_deletes_every_time_is_found(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller(watching(CONFIG_MAP).mapping(SECRET, SIZED))

    def reconcile(key: Key) -> Answer:
        if controller.view.get(SECRET, "default/child") is None:
            body = {"metadata": {"name": "child", "labels": {"for": "a"}}}
            controller.written.wrote(SECRET.decode(arena.core.create(SECRET, "default", msgspec.json.encode(body))))
        return DONE

    async with arena.running(controller, reconcile):
        arena.put("a")
        for _ in range(8):
            await asyncio.sleep(0.1)
            if arena.cache is not None and controller.view.get(SECRET, "default/child") is not None:
                arena.core.delete(SECRET, Key("default", "child"))
        await asyncio.sleep(0.1)
        line = next(line for line in arena.lines.entries if line["event"] == NAME)
        assert (line["object"], line["paths"]) == ("Secret default/child", ["(the whole object)"])


async def test_why_a_key_last_ran_names_the_paths_that_changed(new_arena: Any) -> None:
    arena = new_arena()
    async with arena.running(arena.controller()) as controller:
        arena.put("a", labels={"x": "1"})
        await asyncio.sleep(0.01)
        arena.edit("a", metadata={"labels": {"x": "2"}}, data={"size": "3"})
        await asyncio.sleep(0.01)
        told = controller.last_run(Key("default", "a"))
        assert told is not None
        ((cause, paths),) = told.causes
        assert (cause.source, cause.event, str(cause.object)) == ("configmaps", "updated", "default/a")
        assert paths == ("data", "metadata.labels.x")
        assert (told.outcome, told.id) == ("success", "test-2")
        assert controller.last_run(Key("default", "nobody")) is None
