"""The pytest plugin: `async def test_…` runs on the virtual loop.

Enable it with `-p dynamo_ctrl.testing.plugin`. A test that needs real sockets or threads is marked `real_loop` and gets a
loop of the machine; in both cases a task that is left behind fails the test. `--loop-seed N` shuffles what is ready at the same
moment in every virtual test. Hypothesis' `@given` works on async tests. Fixtures stay synchronous: use async context managers
inside the test.

The fixture `sweep` runs one test over many numbers (see `dynamo_ctrl.testing.sweep`): `--seeds N` says how many seeds, `--only N`
tries a single number, `--every N` only each Nth.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

import pytest

from dynamo_ctrl.testing.sweep import Sweep
from dynamo_ctrl.testing.virtual_loop import check_leaks, run

AsyncTest = Callable[..., Coroutine[Any, Any, None]]

SEEDS = "DYNAMO_CTRL_SEEDS"
"""The environment variable for `--seeds`."""

_SWEPT = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--loop-seed`, `--seeds`, `--only` and `--every`."""
    parser.addoption("--seeds", type=int, default=None, help=f"how many seeds each sweep tries; also {SEEDS}")
    parser.addoption("--only", type=int, default=None, help="the one number (seed, step, event) that sweeps try")
    parser.addoption("--every", type=int, default=1, help="sweeps try each Nth number")
    parser.addoption(
        "--loop-seed", type=int, default=None, help="shuffle ready callbacks of virtual-loop tests with this seed"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line(
        "markers", "real_loop: an async test that needs the machine's own event loop (sockets, threads)"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs an async test; leaves every other test to pytest."""
    test = pyfuncitem.obj
    driver = (
        _real if pyfuncitem.get_closest_marker("real_loop") else _virtual(pyfuncitem.config.getoption("--loop-seed"))
    )
    hypothesis = getattr(test, "hypothesis", None)
    if hypothesis is not None:
        if iscoroutinefunction(hypothesis.inner_test):
            hypothesis.inner_test = _driven(hypothesis.inner_test, driver)
        return None
    if not iscoroutinefunction(test):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}  # noqa: SLF001
    driver(test(**arguments))
    return True


@pytest.fixture
def sweep(request: pytest.FixtureRequest) -> Sweep:
    """Runs the test over many numbers; see `dynamo_ctrl.testing.sweep`."""
    config = request.config
    seeds = config.getoption("--seeds")
    if seeds is None and SEEDS in os.environ:
        seeds = int(os.environ[SEEDS])
    lines = config.stash.setdefault(_SWEPT, [])
    only, every = config.getoption("--only"), config.getoption("--every")
    return Sweep(request.node.nodeid, only=only, seeds=seeds, every=every, report=lines.append)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tells how many numbers were tried, and how to try those alone that failed."""
    lines = config.stash.get(_SWEPT, [])
    if lines:
        terminalreporter.section("sweeps")
        for line in lines:
            terminalreporter.write_line(line)


def _driven(test: AsyncTest, driver: Callable[[Coroutine[Any, Any, None]], None]) -> Callable[..., None]:
    @wraps(test)
    def driven(*args: Any, **kwargs: Any) -> None:
        driver(test(*args, **kwargs))

    return driven


def _virtual(seed: int | None) -> Callable[[Coroutine[Any, Any, None]], None]:
    return lambda main: run(main, seed=seed, debug=True)


def _real(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(debug=True) as runner:
        runner.run(main)
        check_leaks(runner.get_loop())
