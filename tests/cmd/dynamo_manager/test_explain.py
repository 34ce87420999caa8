"""`dynamo-manager explain`: what it asks, what it prints, and what it says when it gets no answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from dynamo_ctrl.plan.text import Tone
from dynamo_manager.explain import lines

Command = Callable[..., Any]

OBJECT = {
    "kind": "Widget", "key": "ns/w", "uid": "u", "generation": 3, "deleting": False, "ready": False, "text": "no Pods yet",
}  # fmt: skip
CAUSE = {
    "source": "deployments.apps", "event": "updated", "object": "ns/w", "old": "17", "new": "18",
    "text": "deployments.apps ns/w updated 17->18", "paths": ["status.readyReplicas"],
}  # fmt: skip
RUN = {
    "id": "widget-7", "at": "2026-01-01T00:00:00+00:00", "ago": 4.25, "waited": 0.0, "took": 0.0012, "priority": 0,
    "outcome": "success", "error": "", "causes": [CAUSE],
}  # fmt: skip
NEXT = {"state": "absent", "failures": 0, "back_off": None}


def effect(**more: Any) -> dict[str, Any]:
    return {
        "step": "children", "effect": "Sync", "did": "unchanged", "object": "Deployment ns/w", "differences": [], "more": 0,
        "edited": False, "reason": "", "message": "", "fatal": False, **more,
    }  # fmt: skip


def attempt(*effects: dict[str, Any], at: str = "2026-01-01T00:00:00+00:00", **more: Any) -> dict[str, Any]:
    return {
        "at": at, "ago": 4.25, "effects": list(effects), "status": [], "error": "", "conflict": False, "terminal": False,
        "requeue_after": None, **more,
    }  # fmt: skip


def controller(**more: Any) -> dict[str, Any]:
    return {
        "name": "widget", "not_ready": {}, "sources": {"widgets.example.com": {"state": "live", "reason": ""}},
        "last_run": RUN, "next_run": NEXT, "last_attempt": attempt(effect()), "notable_attempts": [], **more,
    }  # fmt: skip


def document(**more: Any) -> dict[str, Any]:
    return {
        "kind": "Widget", "key": "ns/w", "object": OBJECT, "unreadable": "", "controllers": [controller()], "children": [],
        **more,
    }  # fmt: skip


def told(**more: Any) -> str:
    return "".join(f"{line.text}\n" for line in lines(document(**more)))


def test_a_quiet_key() -> None:
    assert (
        told()
        == """\
Widget ns/w
  generation 3, not ready: no Pods yet

Controller widget
  last run widget-7, 4.2 s ago, took 1.2 ms: success
    because of deployments.apps ns/w updated 17->18: status.readyReplicas
    step children: unchanged Sync Deployment ns/w
  will run again when something changes
"""
    )


def test_what_was_written_and_why() -> None:
    differences = [
        {"path": "spec.replicas", "old": "2", "new": "5"},
        {"path": "spec.paused", "old": None, "new": "true"},
        {"path": "spec.old", "old": '"x"', "new": None},
    ]
    wrote = attempt(
        effect(did="updated", differences=differences, more=2, edited=True),
        effect(did="failed", effect="Refuse", object=None, reason="Full", message="no room", fatal=True),
        status=[{"path": "status.state", "old": '"a"', "new": '"b"'}],
    )
    found = told(controllers=[controller(last_attempt=wrote)])
    assert (
        """\
    step children: updated Sync Deployment ns/w (it was edited by hand)
      spec.replicas: 2 -> 5
      spec.paused: true is new
      spec.old: "x" is gone
      and 2 more
    step children: failed Refuse [Full]: no room
    status written: status.state: "a" -> "b"
"""
        in found
    )


def test_earlier_attempts_are_told_from_the_last_one_back() -> None:
    last = attempt(effect())
    notable = [
        attempt(effect(did="created"), effect(), at="2026-01-01T00:00:00-02:00", ago=7300),
        attempt(at="2026-01-01T00:00:00-01:00", ago=600, conflict=True, error="it moved"),
        last,
    ]
    found = told(controllers=[controller(last_attempt=last, notable_attempts=notable)])
    assert found.endswith("""\
  will run again when something changes
  earlier, 10 min ago:
    conflict: it moved
  earlier, 2.0 h ago:
    step children: created Sync Deployment ns/w
""")


@pytest.mark.parametrize(
    ("next_run", "expected"),
    [
        ({"state": "queued", "causes": [CAUSE]}, f"will run at once (because of {CAUSE['text']})"),
        ({"state": "waiting", "in": 12.34, "causes": []}, "will run again in 12.3 s"),
        (
            {"state": "waiting", "in": 12.34, "causes": [{"text": "retry failed"}], "failures": 3, "back_off": 12.34},
            "will run again in 12.3 s, after 3 failures (because of retry failed)",
        ),
        ({"state": "running", "running_for": 1.5, "then": None}, "runs now, since 1.5 s"),
        (
            {"state": "running", "running_for": 1.5, "then": [CAUSE]},
            f"runs now, since 1.5 s (because of {CAUSE['text']})",
        ),
        ({"state": "absent", "failures": 2, "back_off": 3.0}, "backs off for 3.0 s more, after 2 failures"),
    ],
)
def test_what_is_next(next_run: dict[str, Any], expected: str) -> None:
    assert f"  {expected}\n" in told(controllers=[controller(next_run={**NEXT, **next_run})])


def test_what_keeps_a_controller_from_working() -> None:
    sources = {
        "widgets.example.com": {"state": "forbidden", "reason": "no right"},
        "pods": {"state": "stale", "reason": "the server is away"},
        "a.example.com": {"state": "absent", "reason": "install it"},
        "b.example.com": {"state": "absent", "reason": "install it"},
    }
    missing = controller(
        sources=sources, not_ready={"widgets.example.com": "forbidden: no right"}, last_run=None, last_attempt=None
    )
    found = told(controllers=[missing], object=None, unreadable="no right")
    assert (
        found
        == """\
Widget ns/w
  cannot be read: no right

Controller widget
  does not work: widgets.example.com: forbidden: no right
  source pods is stale: the server is away
  works without what the cluster does not serve: a.example.com, b.example.com
  has not run lately
  will run again when something changes
"""
    )


def test_which_child_keeps_it_from_being_ready() -> None:
    def owned(kind: str, ready: bool | None, *children: Any) -> dict[str, Any]:
        return {**OBJECT, "kind": kind, "ready": ready, "text": f"{kind} it is", "children": list(children)}

    children = [
        owned("ServiceAccount", True),
        owned("Deployment", True, owned("ReplicaSet", None, owned("Pod", False), owned("Pod", True))),
        owned("Service", True),
    ]
    assert told(children=children).endswith("""\

What it owns and is not ready:
  Deployment ns/w: ready: Deployment it is
    ReplicaSet ns/w: not known: ReplicaSet it is
      Pod ns/w: not ready: Pod it is
""")


def test_many_paths_are_shortened() -> None:
    many = {**CAUSE, "paths": [f"status.{letter}" for letter in "abcdef"]}
    causes = [many, {**CAUSE, "paths": []}, {**CAUSE, "paths": None}]
    found = told(controllers=[controller(last_run={**RUN, "causes": causes})])
    assert "updated 17->18: status.a, status.b, status.c, status.d and 2 more\n" in found
    assert "updated 17->18: nothing but the version\n" in found
    assert "updated 17->18\n" in found


def test_errors_are_told_as_wrong() -> None:
    failing = controller(last_run={**RUN, "outcome": "error", "error": "Refusal: no"})
    wrong = [line.text for line in lines(document(controllers=[failing])) if line.tone is Tone.WRONG]
    assert wrong == ["  last run widget-7, 4.2 s ago, took 1.2 ms: error: Refusal: no"]


# --- asking


class Server:
    """A health server that answers the same to everything."""

    def __init__(self, status: int, body: str, content_type: str) -> None:
        asked: list[str] = []
        self.asked = asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[Server] = []

    def serve(status: int, body: str, content_type: str = "text/plain; charset=utf-8") -> Server:
        servers.append(Server(status, body, content_type))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


Serve = Callable[..., Server]


def test_it_asks_the_manager_about_the_key(command: Command, serve: Serve) -> None:
    server = serve(200, json.dumps(document()))
    done = command("explain", "dgd", "ns/w", "--address", server.url)
    assert (done.code, done.err) == (0, "")
    assert server.asked == ["/debug/explain?kind=dgd&key=ns%2Fw"]
    assert done.out.startswith("Widget ns/w\n  generation 3")


def test_the_answer_as_it_came(command: Command, serve: Serve) -> None:
    server = serve(200, json.dumps(document()))
    done = command("explain", "dgd", "ns/w", "--address", server.url, "--output", "json")
    assert json.loads(done.out) == document()


@pytest.mark.parametrize(("last_run", "code"), [(None, 1), (RUN, 0)])
def test_an_object_that_nobody_knows_ends_with_1(command: Command, serve: Serve, last_run: Any, code: int) -> None:
    unknown = document(object=None, controllers=[controller(last_run=last_run)])
    done = command("explain", "dgd", "ns/w", "--address", serve(200, json.dumps(unknown)).url)
    assert done.code == code
    assert "  is not there\n" in done.out


@pytest.mark.parametrize(
    ("status", "body"),
    [(403, "the pages below /debug/ are served on a loopback address only"), (404, "there are: Widget")],
)
def test_a_refusal_is_told_as_it_is(command: Command, serve: Serve, status: int, body: str) -> None:
    done = command("explain", "dgd", "ns/w", "--address", serve(status, f"{body}\n").url)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"answers {status}: {body}\n")


@pytest.mark.parametrize(
    ("status", "body", "content_type"),
    [
        (404, "<!DOCTYPE html>\n<h1>not here</h1>", "text/html"),
        (501, "{}", "application/json"),
        (200, "<!DOCTYPE html>\n<h1>welcome</h1>", "text/html"),
        (200, '{"kind": "Status"}', "application/json"),
        (200, "[]", "application/json"),
    ],
)
@pytest.mark.parametrize("output", ["text", "json"])
def test_what_answers_and_is_no_manager_is_not_quoted(
    command: Command, serve: Serve, status: int, body: str, content_type: str, output: str
) -> None:
    server = serve(status, body, content_type)
    done = command("explain", "dgd", "ns/w", "--address", server.url, "--output", output)
    said = "dynamo-manager: --address: what answers there is no dynamo-manager\n"
    assert (done.code, done.out, done.err) == (2, "", said)


def test_no_manager_is_told_with_what_to_do(command: Command) -> None:
    address = "http://127.0.0.1:1"
    done = command("explain", "dgd", "ns/w", "--address", address)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert f"no manager answers at {address}" in line
    assert "--health-bind-address" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("dgd",), ("NAMESPACE/NAME",)),
        (("dgd", "a/b/c"), ("NAMESPACE/NAME", "a/b/c")),
        (("dgd", "ns/w", "--address", "ftp://x"), ("--address", "http://HOST:PORT")),
        (("dgd", "ns/w", "--address", "http://x/path"), ("--address",)),
    ],
)
def test_bad_input(command: Command, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    done = command("explain", *arguments)
    assert done.code == 2
    for word in words:
        assert word in done.err
