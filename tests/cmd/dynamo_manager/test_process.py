"""The binary as a process: what `make run` runs, the live table on a terminal, signals, servers, and hard ends."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = (sys.executable, "-m", "dynamo_manager")
LIMIT = 120.0
"""Seconds that any of these processes may take; a busy machine is slow."""

PASSES = r"10 further passes \(\d{2,3} reconciles\) wrote nothing"
"""How many depends on when the last Pod goes, which has a second for that."""

MAKE_RUN = re.search(r"^run:.*?\n\t@\$\(BIN\)/dynamo-manager (.*?)\n\n", (ROOT / "Makefile").read_text(), re.S | re.M)


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(str(ROOT / part) for part in (".", "programs", "cmd"))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    return {**kept, "PYTHONPATH": path, **more}


def finished(arguments: Sequence[str | Path], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], cwd=ROOT, env=environment(**more), capture_output=True, text=True, timeout=LIMIT
    )


@contextlib.contextmanager
def started(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*PROGRAM, *arguments], cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(LIMIT, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def make_run() -> list[str]:
    """The arguments that `make run` gives to the binary."""
    assert MAKE_RUN is not None
    return MAKE_RUN.group(1).replace("\\\n", " ").split()


def test_make_run_brings_a_graph_to_ready_rolls_it_and_writes_nothing_more() -> None:
    done = finished([*make_run(), "--log-format", "json"])
    assert done.returncode == 0, done.stderr
    warnings = {json.loads(line)["event"] for line in done.stderr.splitlines()}
    assert warnings <= {"the loop stood still"}, "which a busy machine is to blame for"
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("applying ")] == [
        "applying config/samples/graph.yaml",
        "applying config/samples/graph-new-frontend.yaml",
    ]
    told = [line.split(maxsplit=3) for line in lines if re.match(r" +\d+\.\ds  (wait|ready|gone)", line)]
    graph = [(mark, text) for _, mark, name, *rest in told for text in rest if name == "DynamoGraphDeployment/sample"]
    assert [mark for mark, _ in graph].count("ready") == 2, "ready, then rolling, then ready again"
    assert graph[-1] == ("ready", "All resources are ready")
    assert any(mark == "gone" and name.startswith("Pod/sample-frontend-") for _, mark, name, *_ in told)
    assert not any(mark == "gone" and "decode" in name for _, mark, name, *_ in told), "the workers stay"
    assert re.fullmatch(PASSES, lines[-1])
    assert all(len(line) <= 120 for line in lines)


def on_a_terminal(
    arguments: Sequence[str], *, width: int = 100, height: int = 40, term: str = "xterm"
) -> tuple[int, str]:
    """Exit code and output of the binary on a terminal of its own, which takes as long as the binary does."""
    terminal, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    process = subprocess.Popen(
        [*PROGRAM, *arguments], cwd=ROOT, env=environment(TERM=term),
        stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True,
    )  # fmt: skip
    os.close(its_end)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while chunk := os.read(terminal, 65536):
            shown += chunk
    os.close(terminal)
    return process.wait(LIMIT), shown.decode()


def test_a_terminal_shows_a_table_that_is_redrawn_in_place() -> None:
    code, shown = on_a_terminal([*make_run(), "--workers", "2"])
    assert code == 0
    frames = shown.count("OBJECT")
    assert frames > 5
    assert shown.count("\x1b[1A") > frames, "the cursor goes up to draw again"
    text = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", shown)
    last = text[text.rindex("OBJECT") :].splitlines()
    assert last[0].split() == ["OBJECT", "READY", "STATE"]
    assert last[1].rstrip().split(maxsplit=3) == ["DynamoGraphDeployment", "sample", "yes", "All resources are ready"]
    assert any(line.startswith("    Deployment sample-frontend") and "2/2 ready" in line for line in last)
    assert any(line.startswith("      Pod sample-decode-") and "Running, ready" in line for line in last)
    assert re.fullmatch(PASSES, last[-1])
    assert "ReplicaSet" not in text
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is visible again"


def test_log_lines_on_a_terminal_stay_above_the_table() -> None:
    code, shown = on_a_terminal([word if word != "warning" else "info" for word in make_run()])
    assert code == 0
    text = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", shown)
    assert 0 < text.index("manager started") < text.rindex("OBJECT")


def test_a_terminal_that_cannot_redraw_gets_plain_lines() -> None:
    code, shown = on_a_terminal(make_run(), term="dumb")
    assert code == 0
    assert "\x1b[" not in shown
    assert "ready  DynamoGraphDeployment/sample" in shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_manager_well(number: signal.Signals) -> None:
    with started("run", "--engine", "memory") as process:
        assert process.stderr is not None
        while "controllers" not in (line := process.stderr.readline()) or "dynamo-graph" not in line:
            assert line, "the manager ended by itself"
        process.send_signal(number)
        assert process.wait(LIMIT) == 0
        assert "Traceback" not in process.stderr.read()


def test_a_signal_before_everything_is_ready_is_told_as_such(tmp_path: Path) -> None:
    manifest = tmp_path / "never.yaml"
    manifest.write_text(
        "{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, metadata: {name: g}, spec: {components: "
        "[{name: F, type: frontend, podTemplate: {spec: {containers: [{name: x, image: i}]}}}]}}"
    )
    with started("run", "--engine", "memory", "--log-level", "error", "--until-ready", "--apply", manifest) as process:
        assert process.stdout is not None
        while "spec.components[0]" not in (line := process.stdout.readline()):
            assert line, "the manager ended by itself"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert err.splitlines()[0] == "dynamo-manager: stopped before everything was ready"
    assert "must hold a container named main" in err


def test_health_and_metrics_are_served_where_the_flags_say(address: str) -> None:
    def get(path: str) -> str:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=5) as answer:
            body: bytes = answer.read()
            return body.decode()

    flags = ("--health-bind-address", address, "--metrics-bind-address", address)
    with started("run", "--engine", "memory", "--log-format", "json", *flags) as process:
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                ready = get("/readyz")
            except OSError:
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.1)
            else:
                break
        assert ready.startswith("ok")
        assert 'workqueue_adds_total{controller="dynamo-graph"' in get("/metrics")
        process.terminate()
        assert process.wait(LIMIT) == 0


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    with started("crds") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(LIMIT) == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize(
    "arguments", [("crds",), ("run", "--engine", "memory", "--apply", "config/samples/graph.yaml")]
)
def test_an_output_that_is_full_is_told_in_one_line(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments], cwd=ROOT, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True,
            timeout=LIMIT,
        )  # fmt: skip
    assert done.returncode == 1
    said = "dynamo-manager: standard output cannot be written: No space left on device"
    assert [line for line in done.stderr.splitlines() if "[info" not in line] == [said]


def test_a_process_that_is_started_with_its_output_closed_works() -> None:
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *PROGRAM, "programs"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_does_not_stop_does_not_keep_the_process() -> None:
    script = """
import asyncio, sys
from dynamo_manager import __main__ as binary
from dynamo_ctrl.manager.errors import InvalidOption, LeadershipLost, StopOverrun

async def run(options, settings):
    async def hangs():
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass
    run.task = asyncio.create_task(hangs())
    await asyncio.sleep(0)
    overrun = StopOverrun(1.0, ["hangs"])
    raise {
        "alone": overrun,
        "with-an-error": ExceptionGroup("both", [InvalidOption("workers", "too many"), overrun]),
        "lost": LeadershipLost("ns/l", "expired"),
    }[sys.argv[1]]

binary.run = run
sys.exit(binary.main(["run", "--engine", "memory"]))
"""
    for how, code, said in (
        ("alone", 1, ""),
        ("with-an-error", 2, "dynamo-manager: workers: too many\n"),
        ("lost", 1, "dynamo-manager: leader election lost: lease ns/l: expired\n"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, how], env=environment(), capture_output=True, text=True, timeout=LIMIT
        )
        assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


def test_version_and_help_end_well() -> None:
    assert finished(["--version"]).stdout == "dynamo-manager 0.1.0\n"
    shown = finished(["run", "--help"]).stdout
    for flag in (
        "--engine", "--kubeconfig", "--context", "--namespace", "--programs", "--workers", "--apply", "--until-ready",
        "--timeout", "--metrics-bind-address", "--health-bind-address", "--config", "--log-format", "--log-level",
    ):  # fmt: skip
        assert flag in shown


def test_starting_the_binary_does_not_import_the_kubernetes_client() -> None:
    script = "import sys, dynamo_manager.__main__; sys.exit('kubernetes_asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], env=environment(), timeout=LIMIT).returncode == 0
