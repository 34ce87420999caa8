"""Children end when they are told to, and when nobody is left to tell them."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envtest import StartFailed
from envtest.api import wait_for
from envtest.ports import Ports
from envtest.process import GRACE, Process

STUBBORN = ("/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
POLITE = ("/bin/sh", "-c", "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done")


def is_gone(pid: int) -> bool:
    """Whether it has ended; one that nobody has waited for yet (a zombie) has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_polite_process_is_asked_and_ends_by_itself(tmp_path: Path) -> None:
    process = Process("polite", POLITE, tmp_path / "log")
    wait_for("start", lambda: "ready" in process.log.read_text(), timeout=30)
    process.stop()
    assert not process.alive
    assert process.last_line() == "asked"


def test_a_process_that_ignores_sigterm_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    process = Process("stubborn", STUBBORN, tmp_path / "log")
    wait_for("start", lambda: "ready" in process.log.read_text(), timeout=30)
    started = time.monotonic()
    process.stop()
    assert not process.alive
    assert time.monotonic() - started >= GRACE


def test_kill_takes_the_process_with_its_guard(tmp_path: Path) -> None:
    process = Process("pid", ("/bin/sh", "-c", "echo $$; exec sleep 60"), tmp_path / "log")
    pid = int(wait_for("start", lambda: process.log.read_text().strip() or None, timeout=30))
    process.kill()
    wait_for("end", lambda: is_gone(pid), timeout=30)


def test_a_process_that_ended_by_itself_is_told_with_its_last_words(tmp_path: Path) -> None:
    process = Process("liar", ("/bin/sh", "-c", "echo first; echo no such flag; exit 3"), tmp_path / "log")
    wait_for("end", lambda: not process.alive, timeout=30)
    with pytest.raises(StartFailed, match="liar ended with 3: no such flag"):
        process.check()
    process.stop()


def test_children_and_directory_go_when_the_owner_is_killed(tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    script = f"""
import pathlib, time
from envtest.process import Process
pathlib.Path({str(directory)!r}).mkdir()
log = pathlib.Path({str(tmp_path / "log")!r})
Process("child", ("/bin/sh", "-c", "echo $$; exec sleep 60"), log, remove=pathlib.Path({str(directory)!r}))
while not log.read_text().strip():
    time.sleep(0.01)
print("up", flush=True)
time.sleep(60)
"""
    owner = subprocess.Popen(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        child = int((tmp_path / "log").read_text())
        owner.send_signal(signal.SIGKILL)
    wait_for("the child's end", lambda: is_gone(child), timeout=30)
    wait_for("the directory's end", lambda: not directory.exists(), timeout=30)


def test_a_reserved_port_is_nobody_elses_but_can_be_listened_on() -> None:
    ports = Ports()
    port = ports.reserve()
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(("127.0.0.1", port))
    with socket.socket() as component:
        component.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        component.bind(("127.0.0.1", port))
        component.listen()
    ports.release()
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", port))


def test_sigterm_reaches_the_process_itself(tmp_path: Path) -> None:
    script = "trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = Process("asked", ("/bin/sh", "-c", script), tmp_path / "log")
    wait_for("start", lambda: "ready" in process.log.read_text(), timeout=30)
    with pytest.raises(TimeoutError, match=r"asked did not end within 0\.2 s"):
        process.wait(0.2)
    process.terminate()
    assert process.wait(10) == 7
    assert process.last_line() == "asked"
