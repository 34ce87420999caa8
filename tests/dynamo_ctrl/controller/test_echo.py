"""Writes that come back again and again (R 7.11; R 4, 39): what is an echo, what is not, and that memory is bounded."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dynamo_ctrl.controller.echo import WHOLE, Echo, EchoDetector, EchoOptions, Loop
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.backoff import Backoff
from dynamo_ctrl.queue.causes import MAX_CAUSES, REQUEUE, Cause

BY = Key("ns", "primary")
AT = Key("ns", "child")
REF = CONFIG_MAP.ref(AT)
OUTSIDE = (Cause("pods", "updated", Key("ns", "pod"), "1", "2"),)

Any_ = Object[Any, Any]


def child(version: int, *managers: tuple[str, str], **data: str) -> Any_:
    metadata: dict[str, Any] = {"name": AT.name, "namespace": AT.namespace, "resourceVersion": str(version)}
    if managers:
        metadata["managedFields"] = [
            {"manager": name, "operation": "Update", "time": f"2026-01-01T00:00:{second}Z"} for name, second in managers
        ]
    made: Any_ = CONFIG_MAP.object({"metadata": metadata, "data": data})
    return made


def told(version: int, key: Key = AT) -> Cause:
    """The event of the write that made that version."""
    return Cause("configmaps", "updated", key, str(version - 1), str(version))


class World:
    """One object, one detector, and a clock."""

    def __init__(self, options: EchoOptions | None = None) -> None:
        self.detector = EchoDetector(options)
        self.now = 0.0
        self.version = 1
        self.live: Any_ | None = child(1, size="1")

    def write(self, causes: tuple[Cause, ...] = OUTSIDE, by: Key = BY, **data: str) -> Echo | None:
        self.version += 1
        after = child(self.version, **data)
        echo = self.detector.wrote(by, REF, self.live, after, causes, self.now)
        self.live = after
        self.now += 1
        return echo

    def somebody_writes(self, **data: str) -> tuple[Cause, ...]:
        self.version += 1
        self.live = child(self.version, **data)
        return (told(self.version),)


def test_r4_39_a_write_that_another_writer_undoes_every_time_is_an_echo_with_the_path_and_the_length_of_the_row() -> (
    None
):
    world = World()
    echoes = [world.write(size="3", note="n")]
    for _ in range(6):
        causes = world.somebody_writes(size="1", note="n")
        echoes.append(world.write(causes, size="3", note="n"))
    assert echoes[:4] == [None] * 4
    first = echoes[4]
    assert first is not None
    assert (first.object, first.loop, first.times, first.paths, first.hold) == (
        REF,
        Loop.REVERTED,
        5,
        ("data.size",),
        1.0,
    )
    assert [echo.hold for echo in echoes[4:] if echo is not None] == [1, 2, 4]


def test_r4_39_a_write_that_only_our_own_writes_cause_is_an_echo_with_the_fields_that_change() -> None:
    world = World()
    echoes = [world.write((told(world.version),) if number else OUTSIDE, stamp=str(number)) for number in range(6)]
    assert echoes[:4] == [None] * 4
    assert echoes[4] is not None
    assert (echoes[4].loop, echoes[4].times, echoes[4].paths) == (Loop.REPEATED, 5, ("data.stamp",))


def test_a_write_that_is_echoed_through_another_object_of_ours_is_the_same_loop() -> None:
    world, other = World(), Key("ns", "other")
    echo, causes = None, OUTSIDE
    for number in range(5):
        echo = world.write(causes, stamp=str(number))
        before, after = child(100 + 2 * number), child(101 + 2 * number)
        world.detector.wrote(BY, CONFIG_MAP.ref(other), before, after, OUTSIDE, world.now)
        causes = (told(101 + 2 * number, other),)
    assert echo is not None
    assert echo.loop is Loop.REPEATED


def test_an_object_that_is_deleted_behind_our_back_every_time_is_an_echo() -> None:
    world = World()
    world.live = None
    echo = None
    for _ in range(5):
        echo = world.write(size="1")
        world.live = None
    assert echo is not None
    assert (echo.loop, echo.paths) == (Loop.REVERTED, (WHOLE,))


def test_an_object_that_comes_back_whenever_we_delete_it_is_an_echo() -> None:
    world = World()
    echo = None
    for number in range(5):
        world.live = child(100 + number)
        echo = world.detector.wrote(BY, REF, world.live, None, OUTSIDE, float(number))
    assert echo is not None
    assert (echo.loop, echo.paths) == (Loop.REVERTED, (WHOLE,))


@pytest.mark.parametrize(
    "case", ["progress of a rollout", "heartbeat", "own delete and create", "a run that wrote nothing"]
)
def test_what_is_no_echo(case: str) -> None:
    world = World()
    for number in range(50):
        match case:
            case "progress of a rollout":  # somebody else's events, and other values every time
                assert world.write((told(world.version), *OUTSIDE), ready=str(number)) is None
            case "heartbeat":  # the program asked for it
                assert world.write((REQUEUE,), beat=str(number)) is None
            case "own delete and create":
                assert world.detector.wrote(BY, REF, world.live, None, OUTSIDE, world.now) is None
                world.live = None
                assert world.write(size="1") is None
            case _:  # its own event caused a run that wrote nothing; then something else happened
                assert world.write(OUTSIDE, size=str(number)) is None


def test_another_writer_that_changes_other_fields_is_no_echo() -> None:
    world = World()
    for number in range(20):
        causes = world.somebody_writes(theirs=str(number), size="1")
        assert world.write(causes, theirs=str(number), size=str(number)) is None


def test_another_key_that_writes_the_object_begins_a_row_of_its_own() -> None:
    world = World()
    for number in range(20):
        by = Key("ns", f"k{number % 2}")
        assert world.write((told(world.version),), by=by, stamp=str(number)) is None


def test_causes_that_may_be_incomplete_prove_nothing() -> None:
    world = World()
    for number in range(20):
        own = tuple(replace(told(world.version), event=str(n)) for n in range(MAX_CAUSES))
        assert world.write(own, stamp=str(number)) is None


def test_a_row_ends_with_time_but_a_key_that_is_held_back_gets_more_of_it() -> None:
    options = EchoOptions(threshold=2, window=10, backoff=Backoff(base=100, cap=100))
    world = World(options)
    assert world.write(stamp="0") is None
    world.now += 20
    assert world.write((told(world.version),), stamp="1") is None, "too far apart"
    echo = world.write((told(world.version),), stamp="2")
    assert echo is not None
    world.now += 150
    assert world.write((told(world.version),), stamp="3") is not None
    world.now += 1000
    assert world.write((told(world.version),), stamp="4") is None


def test_one_other_write_ends_the_row() -> None:
    world = World()
    for number in range(4):
        world.write((told(world.version),), stamp=str(number))
    world.write(OUTSIDE, stamp="other")
    echoes = [world.write((told(world.version),), stamp=f"again-{number}") for number in range(4)]
    assert echoes[:3] == [None] * 3
    assert echoes[3] is not None
    assert world.write(OUTSIDE, stamp="another") is None
    once_more = world.write((told(world.version),), stamp="x")
    assert once_more is not None, "it is known as a loop by now"
    assert (once_more.times, once_more.hold) == (5, 1.0)


def fought(*managers: tuple[tuple[str, str], ...]) -> Echo | None:
    """A fight in which the answers to our writes carry those field managers."""
    detector = EchoDetector(EchoOptions(threshold=len(managers)))
    echo = None
    for number, held in enumerate(managers):
        before, after = child(10 * number + 1, size="1"), child(10 * number + 2, size="3")
        answer = child(10 * number + 2, *held, size="3")
        echo = detector.wrote(BY, REF, before, after, OUTSIDE, float(number), answer=answer)
    return echo


def test_the_other_manager_is_named() -> None:
    ours, kubectl, old = "ours", ("kubectl", "05"), ("old", "01")
    echo = fought(((ours, "03"), old), ((ours, "06"), kubectl, old), (kubectl, old, (ours, "09"), ("rival", "08")))
    assert echo is not None
    assert echo.manager == "rival"


def test_a_manager_that_wrote_long_ago_is_not_accused() -> None:
    echo = fought(((("ours", "03"), ("old", "01"))), (("ours", "06"), ("old", "01")), (("ours", "09"), ("old", "01")))
    assert echo is not None
    assert echo.manager == ""


def test_two_managers_within_one_second_are_told_apart_by_an_earlier_answer() -> None:
    echo = fought(
        (("ours", "01"),),
        (("rival", "05"), ("ours", "05")),
        (("rival", "09"), ("ours", "09")),
        (("ours", "09"), ("rival", "09")),
    )
    assert echo is not None
    assert echo.manager == "rival"


def test_without_field_managers_nobody_is_named() -> None:
    tied = (("a", "01"), ("b", "01"))
    for managers in (((), (), ()), (tied, tied, tied)):
        echo = fought(*managers)
        assert echo is not None
        assert echo.manager == ""


def test_own_versions_are_known_and_few_are_kept() -> None:
    world = World()
    for number in range(20):
        world.write(stamp=str(number))
    assert world.detector.own("configmaps", AT, str(world.version))
    assert not world.detector.own("configmaps", AT, "2")
    assert not world.detector.own("secrets", AT, str(world.version))


def test_memory_is_bounded_by_objects_and_by_size() -> None:
    detector = EchoDetector(objects=10)
    for number in range(100):
        ref = CONFIG_MAP.ref(Key("ns", str(number)))
        detector.wrote(BY, ref, None, child(number), OUTSIDE, 0)
    assert len(detector) == 10
    detector = EchoDetector(size=10_000)
    for number in range(100):
        ref = CONFIG_MAP.ref(Key("ns", str(number)))
        detector.wrote(BY, ref, None, child(number, text="x" * 2000), OUTSIDE, 0)
    assert len(detector) == 4
    detector.wrote(BY, REF, None, child(1, text="x" * 50_000), OUTSIDE, 0)
    assert len(detector) == 1, "one that is too long by itself is kept alone"
    for number in range(100):
        detector.wrote(BY, CONFIG_MAP.ref(Key("ns", str(number))), None, child(number), OUTSIDE, 0)
    assert len(detector) > 10, "what was given up does not count any more"
    detector = EchoDetector(size=10_000)
    detector.wrote(BY, CONFIG_MAP.ref(Key("ns", "other")), None, child(1), OUTSIDE, 0)
    for number in range(100):
        detector.wrote(BY, REF, child(number), child(number + 1), OUTSIDE, 0)
    assert len(detector) == 2, "an object counts once, however often it is written"


@pytest.mark.parametrize(("field", "value"), [("threshold", 1), ("window", 0)])
def test_options_name_the_field_that_is_wrong(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^{field}: must"):
        EchoOptions(**{field: value})  # type: ignore[arg-type]
