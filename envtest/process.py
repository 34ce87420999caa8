"""`Process`: a child that cannot outlive us, with a log file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from envtest.errors import StartFailed

GUARD: Final = Path(__file__).with_name("guard.py")
GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL: an apiserver may wait for its watches for ever."""

_MARGIN: Final = 5.0


def guarded(command: Sequence[str | Path], *, remove: Path | None = None) -> list[str]:
    """The command that runs `command` for as long as its standard input, which must be a pipe, stays open."""
    return [sys.executable, "-I", "-S", str(GUARD), str(GRACE), str(remove or ""), *map(str, command)]


class Process:
    """One component of a cluster, run below a guard (`guard.py`) in a process group of its own.

    The group is its own so that Ctrl-C at a terminal reaches us alone and we stop things in order.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        *,
        remove: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._guard = subprocess.Popen(
                guarded(command, remove=remove),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=environment,
            )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._guard.poll() is None

    def check(self) -> None:
        """Raises `StartFailed` with the last line of the log if it ended by itself."""
        if not self.alive:
            raise StartFailed(f"{self.name} ended with {self._guard.returncode}: {self.last_line()}")

    def last_line(self) -> str:
        """The last line of the log, shortened."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:400] if lines else "(no output)"

    def ask_to_stop(self) -> None:
        """Let go of the guard: it ends the component, politely first."""
        if self._guard.stdin is not None and not self._guard.stdin.closed:
            self._guard.stdin.close()

    def stop(self) -> None:
        """End it, politely first; returns when it is gone."""
        self.ask_to_stop()
        try:
            self._guard.wait(GRACE + _MARGIN)
        except subprocess.TimeoutExpired:
            self.kill()

    def terminate(self) -> None:
        """Send it SIGTERM once, and wait for nothing."""
        self._guard.send_signal(signal.SIGTERM)

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended. Raises `TimeoutError`."""
        try:
            code = self._guard.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{self.name} did not end within {timeout:g} s") from error
        self.ask_to_stop()
        return code

    def kill(self) -> None:
        """End it with SIGKILL, as a crash would; returns when it is gone."""
        if self.alive:
            os.killpg(self._guard.pid, signal.SIGKILL)
        self._guard.wait()
        if self._guard.stdin is not None:
            self._guard.stdin.close()
