"""For every test: the log, the real cluster, and the same examples of a property in every run, however busy the machine is.

A test that takes the fixture `cluster` (or `namespace`) carries the mark `cluster` by itself. One cluster serves a whole run and
starts when the first test asks for it; each test works in a namespace of its own. Where there can be no cluster these tests are
skipped with one loud line that says why; in CI mode (`CI` or `DYNAMO_CTRL_CI` is set) that is a failure.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from structlog.testing import capture_logs

from envtest import ApiError, Cluster, EnvtestError, find_binaries
from envtest.ports import Ports

settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("steady")  # to look for new examples: pytest --hypothesis-profile=default

SKIPPED = pytest.StashKey[str]()
"""Why there is no cluster in this run."""


def in_ci(environ: os._Environ[str] | dict[str, str] = os.environ) -> bool:
    """Whether this run must not skip anything."""
    return any(environ.get(name, "").lower() in ("1", "true", "yes") for name in ("CI", "DYNAMO_CTRL_CI"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reason = config.stash.get(SKIPPED, None)
    if reason is not None:
        terminalreporter.write_line(f"TESTS ON A REAL CLUSTER WERE SKIPPED: {reason}", red=True, bold=True)


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    """Every line that is logged during the test, as a mapping with `event`, `log_level` and what it says."""
    with capture_logs() as logs:
        yield logs


@pytest.fixture
def address() -> Iterator[str]:
    """An address on loopback that a server of the test may listen on, and that nobody else is given meanwhile."""
    ports = Ports()
    yield f"127.0.0.1:{ports.reserve()}"
    ports.release()


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The real cluster of this run, shared by all tests."""
    say = request.config.get_terminal_writer().line
    cluster: Cluster | None = None
    try:
        cluster = Cluster(find_binaries(progress=say))
        cluster.start()
    except EnvtestError as error:
        if in_ci():
            pytest.fail(f"CI mode needs a real cluster: {error}", pytrace=False)
        request.config.stash[SKIPPED] = str(error)
        pytest.skip(f"no real cluster: {error}")
    yield cluster
    cluster.stop()


@pytest.fixture
def namespace(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[str]:
    """A fresh namespace in the real cluster that accepts Pods. It is deleted afterwards, without waiting for the end."""
    stem = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = f"{stem}-{secrets.token_hex(3)}"
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    cluster.wait_furnished(name)
    yield name
    with contextlib.suppress(ApiError, OSError):
        cluster.api.delete(f"/api/v1/namespaces/{name}")
