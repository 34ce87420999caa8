"""The pytest plugin, run on small test files of its own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

FILE = """
import asyncio, time
import pytest
from hypothesis import given, strategies as st
from dynamo_ctrl.testing import VirtualLoop

@pytest.fixture
def number():
    return 7

async def test_virtual(number):
    assert isinstance(asyncio.get_running_loop(), VirtualLoop)
    await asyncio.sleep(3600)
    assert number == 7

@pytest.mark.parametrize("value", [1, 2])
async def test_parametrised(value):
    await asyncio.sleep(value)
    assert asyncio.get_running_loop().time() == value

@pytest.mark.real_loop
async def test_real():
    assert not isinstance(asyncio.get_running_loop(), VirtualLoop)
    assert await asyncio.to_thread(lambda: 3) == 3

@given(st.integers(0, 9))
async def test_property(value):
    await asyncio.sleep(value)

def test_plain():
    pass

class TestClass:
    async def test_method(self, number):
        await asyncio.sleep(number)
"""

LEAKS = """
import asyncio
import pytest

kept = []

async def test_virtual():
    kept.append(asyncio.create_task(asyncio.sleep(9), name="forgotten"))

@pytest.mark.real_loop
async def test_real():
    kept.append(asyncio.create_task(asyncio.sleep(9), name="forgotten"))

async def test_deadlock():
    await asyncio.Event().wait()

async def test_failure():
    assert 1 == 2
"""

SEEDED = """
import asyncio

async def test_order():
    found = []
    async def one(n):
        found.append(n)
    async with asyncio.TaskGroup() as group:
        for n in range(8):
            group.create_task(one(n))
    assert found == list(range(8))
"""


def _run(pytester: pytest.Pytester, text: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(text)
    return pytester.runpytest_inprocess(
        "-p", "dynamo_ctrl.testing.plugin", "-p", "no:cacheprovider", "-W", "error", "--strict-markers", *options
    )


@pytest.fixture(autouse=True)
def _loaded_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outer run may have the plugin itself; the inner one registers its own options anew."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


def test_async_tests_run_on_the_virtual_loop(pytester: pytest.Pytester) -> None:
    _run(pytester, FILE).assert_outcomes(passed=7)


def test_leaks_deadlocks_and_failures_fail(pytester: pytest.Pytester) -> None:
    result = _run(pytester, LEAKS)
    result.assert_outcomes(failed=4)
    for text in ("TaskLeak", "forgotten", "Deadlock", "assert 1 == 2"):
        assert text in result.stdout.str()


@pytest.mark.parametrize(("seed", "passed"), [(None, 1), ("3", 0)])
def test_the_order_can_be_shuffled(pytester: pytest.Pytester, seed: str | None, passed: int) -> None:
    options = ("--loop-seed", seed) if seed else ()
    _run(pytester, SEEDED, *options).assert_outcomes(passed=passed, failed=1 - passed)
