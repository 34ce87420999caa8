"""The objects of one namespace come in the order of their names, in whatever order they were put."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.cache import room as module
from dynamo_ctrl.cache.room import Room
from dynamo_ctrl.objects.builtin.core import ConfigMap

Make = Callable[..., ConfigMap]
NAMES = st.sampled_from([f"n{number:02}" for number in range(30)])


@pytest.mark.parametrize("late", [0, 2, 500])
@given(steps=st.lists(st.tuples(st.sampled_from(["put", "put", "remove", "list"]), NAMES), max_size=80))
def test_everything_is_listed_in_order(config_map: Make, late: int, steps: list[tuple[str, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LATE", late)
        room: Room[ConfigMap] = Room()
        model: dict[str, ConfigMap] = {}
        for version, (step, name) in enumerate(steps, start=1):
            if step == "put":
                obj = config_map(name, version)
                assert room.put(name, obj) is model.get(name)
                model[name] = obj
            elif step == "remove":
                assert room.remove(name) is model.pop(name, None)
            else:
                assert list(room.list()) == [model[name] for name in sorted(model)]
        assert list(room.list()) == [model[name] for name in sorted(model)]
        assert room.objects == model


def test_a_read_of_everything_neither_sorts_nor_moves_what_is_in_order(config_map: Make) -> None:
    room: Room[ConfigMap] = Room()
    for number in range(10):
        room.put(f"n{number}", config_map(f"n{number}"))
    room.put("m", config_map("m"))
    assert [obj.metadata.name for obj in room.list()][:2] == ["m", "n0"]
    assert next(reversed(room.objects)) == "m", "what came late stays at the end until much has gathered there"


def test_what_came_late_is_sorted_in_once_when_much_has_gathered(config_map: Make) -> None:
    room: Room[ConfigMap] = Room()
    objects = room.objects
    for number in range(module.LATE + 2, 0, -1):
        room.put(f"n{number:04}", config_map(f"n{number:04}"))
    room.list()
    assert list(objects) == sorted(objects)
    assert room.objects is objects, "whoever holds the dictionary sees it sorted"
