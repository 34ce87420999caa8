"""`ManagerProcess`: `dynamo-manager run --engine kubernetes` as a process of its own, as it runs in a Pod."""

from __future__ import annotations

import http.client
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

from envtest.api import wait_for
from envtest.ports import Ports
from envtest.process import Process

if TYPE_CHECKING:
    from typing import Self

STOP_TIMEOUT: Final = 40.0
"""Seconds for a stop that was asked for: the manager's own budget, and some."""


class ManagerProcess:
    """A manager. A context manager; leaving it kills what still runs.

    It runs with every warning shown, so that a connection or a task that is left over is told in its log.

    Args:
        kubeconfig: who it is, and where the server is.
        log: where standard output and error go; appended to.
        flags: more flags for `run`.
    """

    def __init__(self, kubeconfig: Path, log: Path, *flags: str | Path) -> None:
        self.log = log
        self._kubeconfig = kubeconfig
        self._flags = flags
        self._ports = Ports()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._ports.release()

    def start(self) -> None:
        """Start it, also again after an end."""
        self._port = self._ports.reserve()
        address = f"127.0.0.1:{self._port}"
        command: Sequence[str | Path] = (
            sys.executable, "-W", "always", "-m", "dynamo_manager", "run", "--engine", "kubernetes",
            "--kubeconfig", self._kubeconfig,
            "--health-bind-address", address, "--metrics-bind-address", address, *self._flags,
        )  # fmt: skip
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        self._process = Process("dynamo-manager", command, self.log, environment=environment)

    @property
    def address(self) -> str:
        """Where its health and metrics server answers."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.alive

    @property
    def output(self) -> str:
        """What it has said so far."""
        return self.log.read_text(errors="replace")

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a request to its health and metrics server; 0 while it does not listen."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    @property
    def ready(self) -> bool:
        """What `/readyz` says."""
        self._process.check()
        return self.get("/readyz")[0] == 200

    def wait_ready(self, timeout: float = 30.0) -> None:
        """Return when it is ready. Raises `TimeoutError` with what `/readyz` says, `StartFailed` if it ended."""
        try:
            wait_for("the manager to be ready", lambda: self.ready, timeout=timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {self.get('/readyz')[1]}\n{self.output[-4000:]}") from error

    def terminate(self) -> None:
        """Send SIGTERM, and wait for nothing."""
        self._process.terminate()

    def wait(self, timeout: float = STOP_TIMEOUT) -> int:
        """The exit code, once it has ended. Raises `TimeoutError`."""
        return self._process.wait(timeout)

    def stop(self) -> int:
        """Send SIGTERM; the exit code."""
        self.terminate()
        return self.wait()

    def kill(self) -> None:
        """End it as a crash would; returns when it is gone."""
        self._process.kill()
