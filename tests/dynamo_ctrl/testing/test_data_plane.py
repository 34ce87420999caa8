"""The data plane that tests and trials add to a manager: what is installed, made anew for each."""

from __future__ import annotations

from dynamo_ctrl.program.registry import DATA_PLANES, installed
from dynamo_ctrl.testing import data_plane


def test_it_is_whatever_is_installed() -> None:
    assert len(data_plane()) == len(installed(DATA_PLANES))
    assert {"deployment", "replica-set", "pod", "claim", "leader-worker-set"} <= set(installed(DATA_PLANES))


def test_each_manager_gets_programs_of_its_own() -> None:
    first, second = data_plane(), data_plane()
    assert first
    assert not {id(program) for program in first} & {id(program) for program in second}
