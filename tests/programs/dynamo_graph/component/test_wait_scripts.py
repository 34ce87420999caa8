"""The scripts by which workers wait run: against a server, sockets, and a Ray that only counts (P 2.3.6)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from dynamo_graph.component.scripts import wait_for_leader
from dynamo_graph.component.scripts.wait_for_leader import ApiServer, main, why_not
from dynamo_graph.component.wait_for_leader import SCRIPTS

HERE = "127.0.0.1"


def pod(phase: str = "Running", *, ip: str = HERE, ips: tuple[str, ...] = (), ending: bool = False) -> dict[str, Any]:
    metadata = {"name": "leader"} | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if ending else {})
    return {"metadata": metadata, "status": {"phase": phase, "podIP": ip, "podIPs": [{"ip": each} for each in ips]}}


class Server:
    """An API server that knows some Pods, and remembers what it was asked."""

    def __init__(self, account: Path) -> None:
        self.pods: list[dict[str, Any]] = []
        self.code = 200
        self.asked: list[tuple[str, str]] = []
        for name, text in (("namespace", "ns\n"), ("token", "t0ken\n")):
            (account / name).write_text(text)
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.path, self.headers["Authorization"]))
                first = self.path.partition("status.podIP%3D")[2]
                found = [each for each in server.pods if not first or each["status"]["podIP"] == first]
                self.send_response(server.code)
                self.end_headers()
                self.wfile.write(json.dumps({"items": found}).encode())

            def log_message(self, *args: Any) -> None:
                """Nothing."""

        self._server = HTTPServer((HERE, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.api = ApiServer(f"http://{HERE}:{self._server.server_port}", str(account))

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server((HERE, 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def closed() -> Iterator[int]:
    """A port on which nobody listens, and that nobody else is given meanwhile."""
    with socket.socket() as bound:
        bound.bind((HERE, 0))
        yield bound.getsockname()[1]


@pytest.mark.parametrize(
    ("pods", "reason"),
    [
        pytest.param([pod()], None, id="runs"),
        pytest.param([pod(ip="10.0.0.9", ips=("10.0.0.9", HERE))], None, id="second address"),
        pytest.param([pod(ending=True), pod()], None, id="one of two on a shared address"),
        pytest.param([], "there is no Pod at 127.0.0.1", id="none"),
        pytest.param([pod(ip="10.0.0.9")], "there is no Pod at 127.0.0.1", id="another address"),
        pytest.param([pod(ending=True)], "the Pod at 127.0.0.1 does not run", id="about to end"),
        pytest.param([pod("Pending")], "the Pod at 127.0.0.1 does not run", id="pending"),
    ],
)
def test_the_leader_must_be_a_pod_that_runs(
    server: Server, port: int, pods: list[dict[str, Any]], reason: str | None
) -> None:
    server.pods = pods
    assert why_not(HERE, port, server.api) == reason
    path, token = server.asked[0]
    assert (path, token) == (f"/api/v1/namespaces/ns/pods?fieldSelector=status.podIP%3D{HERE}", "Bearer t0ken")


def test_a_running_leader_must_listen(server: Server, closed: int) -> None:
    server.pods = [pod()]
    assert (why_not(HERE, closed, server.api) or "").startswith(f"{HERE} port {closed}: ")


@pytest.mark.parametrize("code", [403, 500])
def test_without_an_answer_of_the_server_the_port_decides(server: Server, port: int, closed: int, code: int) -> None:
    server.code = code
    assert why_not(HERE, port, server.api) is None
    assert why_not(HERE, closed, server.api) is not None


def test_without_an_account_the_port_decides(port: int, tmp_path: Path) -> None:
    assert why_not(HERE, port, ApiServer("http://127.0.0.1:1", str(tmp_path / "none"))) is None
    assert ApiServer("http://127.0.0.1:1", str(tmp_path / "none")).pods_at(HERE) is None


def test_a_name_that_does_not_resolve_is_no_leader(server: Server) -> None:
    assert (why_not("no.such.host.invalid", 1, server.api) or "").startswith("no.such.host.invalid does not resolve")
    assert server.asked == []


@pytest.mark.parametrize("addresses", [("127.0.0.2", HERE), (HERE, "127.0.0.2"), ("::1", HERE)])
def test_any_address_of_a_name_will_do(
    server: Server, port: int, monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...]
) -> None:
    resolve = socket.getaddrinfo
    found = [(0, 1, 6, "", (address, 0)) for address in addresses]
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *a, **k: found if host == "both" else resolve(host, *a, **k)
    )
    server.pods = [pod()]
    assert why_not("both", port, server.api) is None
    server.pods = []
    assert why_not("both", port, server.api) == f"there is no Pod at {addresses[-1]}"


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(("until", "code", "lines"), [(0, 0, 1), (62.0, 0, 3), (None, 1, 120)])
def test_it_waits_for_an_hour_and_tells_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], until: float | None, code: int, lines: int
) -> None:
    time = Time()
    monkeypatch.setattr(wait_for_leader, "time", time)
    monkeypatch.setattr(
        wait_for_leader, "why_not", lambda *_: None if until is not None and time.now >= until else "not yet"
    )
    monkeypatch.setenv("LEADER_HOST", "h")
    monkeypatch.setenv("LEADER_PORT", "1")
    assert main() == code
    said = capsys.readouterr().out.splitlines()
    assert len(said) == lines
    assert time.now <= 3605
    if code:
        assert said[-1] == "gave up on the leader h after 3600 s: not yet"
        assert said[0] == "waiting for the leader h port 1: not yet"


def test_the_script_stands_alone(server: Server, port: int, tmp_path: Path) -> None:
    """It runs in the image of an engine, which knows nothing of this project: no path of ours, no site packages."""
    script = tmp_path / "wait-for-leader.py"
    script.write_text(SCRIPTS["wait-for-leader.py"].replace("INTERVAL = 5.0", "INTERVAL = 0.01"))
    env = {"LEADER_HOST": HERE, "LEADER_PORT": str(port), "PATH": os.environ["PATH"], "KUBERNETES_SERVICE_HOST": HERE}
    done = subprocess.run(
        ["python3", "-I", "-S", script], env=env, capture_output=True, text=True, check=False, timeout=30, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"the leader {HERE} port {port} is reached")


@pytest.mark.parametrize(("healthy_at", "code", "sleeps"), [(1, 0, 0), (9, 0, 8), (None, 1, 60)])
def test_ray_is_asked_sixty_times(tmp_path: Path, healthy_at: int | None, code: int, sleeps: int) -> None:
    calls = tmp_path / "calls"
    programs = {
        "ray": f'echo "$@" >> {calls}; [ "$(wc -l < {calls})" = "{healthy_at}" ]',
        "sleep": f'echo "$@" >> {tmp_path / "sleeps"}',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    script = tmp_path / "wait-for-ray-leader.sh"
    script.write_text(SCRIPTS["wait-for-ray-leader.sh"])
    env = {"LEADER_HOST": "a-0.a", "LEADER_PORT": "6379", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", script], env=env, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == code
    asked = calls.read_text().splitlines()
    assert set(asked) == {"health-check --address a-0.a:6379"}
    assert len(asked) == (healthy_at or 60)
    slept = (tmp_path / "sleeps").read_text().splitlines() if sleeps else []
    assert slept == ["5"] * sleeps
    waits = [line for line in done.stdout.splitlines() if line.startswith("waiting")]
    assert len(waits) == (len(asked) + 5) // 6
    assert ("a-0.a:6379 was not healthy within 300 s" in done.stderr) is bool(code)
