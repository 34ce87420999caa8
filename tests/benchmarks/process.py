"""One measurement is one process: bounded in time, its answer the last line of its output, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from envtest.process import GRACE, guarded

ROOT: Final = Path(__file__).parents[2]
MARGIN: Final = 5.0
"""Seconds that a process which was asked to end gets beyond its grace."""

TIMED: Final = ("sh", "-c", 'BENCH_T0_NS=$(date +%s%N) exec "$0" "$@"')
"""Before a command: tells it the time at which it was started."""

Answer = dict[str, Any]


class MeasurementFailed(Exception):
    """No answer; the text says why."""


class Child:
    """A process below a guard that ends it when we end, however we end. A context manager: it is gone at the end."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        self._command = [str(part) for part in command]
        self._environment = {**os.environ, **environment}

    def __enter__(self) -> Self:
        self._files = tempfile.TemporaryDirectory(prefix="bench-")
        self._out, self._err = (Path(self._files.name, name) for name in ("out", "err"))
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._guard = subprocess.Popen(
                guarded(self._command), stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=ROOT,
                env=self._environment, start_new_session=True,
            )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(GRACE + MARGIN)
        with contextlib.suppress(ProcessLookupError):  # whatever the measured process started
            os.killpg(self._guard.pid, signal.SIGKILL)
        self._guard.wait()
        self._files.cleanup()

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._guard.poll() is None

    def answer(self, timeout: float) -> Answer:
        """What it answered, once it has ended. Raises `MeasurementFailed`."""
        try:
            code = self._guard.wait(timeout)
        except subprocess.TimeoutExpired:
            raise MeasurementFailed(f"no answer within {timeout:.0f} s") from None
        lines = self._out.read_text(errors="replace").strip().splitlines()
        if code or not lines:
            raise MeasurementFailed(f"ended with {code}: {self._last_words()}")
        try:
            answer: Answer = json.loads(lines[-1])
        except ValueError:
            raise MeasurementFailed(f"its answer is no JSON: {lines[-1][:200]}") from None
        return answer

    def _last_words(self) -> str:
        text = self._err.read_text(errors="replace").strip() or self._out.read_text(errors="replace").strip()
        return " | ".join(text.splitlines()[-3:])[:400] or "it said nothing"


def take(command: Sequence[str | Path], environment: Mapping[str, str], timeout: float) -> Answer:
    """The answer of that command. Raises `MeasurementFailed`."""
    with Child(command, environment) as child:
        return child.answer(timeout)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        yield Path(directory)


def on_core(core: int) -> tuple[str, ...]:
    """Before a command: lets it run on that core only; nothing where that cannot be said."""
    taskset = shutil.which("taskset")
    return (taskset, "-c", str(core)) if taskset else ()
