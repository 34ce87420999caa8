"""Plays a recorded watch stream on a loopback socket: the part of an API server that a reflector of Pods asks for.

usage: player.py PODS EVENTS DIRECTORY

A list answers PODS Pods at version PODS; a watch sends EVENTS changes of them, each a chunk of its own as an API server sends it,
as fast as the reader takes them, and then stays open. The kubeconfig appears as DIRECTORY/kubeconfig. Ends by SIGTERM.
"""

from __future__ import annotations

import itertools
import json
import socketserver
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.ours.objects import served

MARK = '"resourceVersion":"0"'


def texts(pods: int) -> list[str]:
    """Each Pod, with a version to be filled in."""
    return [json.dumps(served(i, 0), separators=(",", ":")) for i in range(pods)]


def at(text: str, version: int) -> str:
    return text.replace(MARK, f'"resourceVersion":"{version}"', 1)


def listed(pods: list[str]) -> bytes:
    items = ",".join(at(text, version) for version, text in enumerate(pods, 1))
    head = f'{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{len(pods)}"}},"items":['
    return (head + items + "]}").encode()


def recorded(pods: list[str], events: int) -> bytes:
    """The whole stream, framed."""
    parts = []
    for version, text in zip(
        range(len(pods) + 1, len(pods) + events + 1), itertools.cycle(pods)
    ):  # fmt: skip
        line = f'{{"type":"MODIFIED","object":{at(text, version)}}}\n'.encode()
        parts.append(b"%x\r\n%b\r\n" % (len(line), line))
    return b"".join(parts)


DISCOVERY: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList", "groupVersion": "v1",
        "resources": [{
            "name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list", "watch"],
        }],
    },
}  # fmt: skip


def server(pods: list[str], events: int) -> socketserver.ThreadingTCPServer:
    answers = {path: json.dumps(answer).encode() for path, answer in DISCOVERY.items()}
    answers["/api/v1/pods"] = listed(pods)
    stream = recorded(pods, events)

    class Connection(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while request := self.rfile.readline():
                target = request.split()[1].decode()
                while self.rfile.readline().strip():
                    pass
                path, _, query = target.partition("?")
                if "watch=" in query:
                    self.wfile.write(
                        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                    )
                    self.wfile.write(stream)
                    self.rfile.read()  # until the reader has enough
                    return
                code, body = ("200 OK", answers[path]) if path in answers else ("404 Not Found", b"{}")
                head = f"HTTP/1.1 {code}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                self.wfile.write(head.encode() + body)

        def finish(self) -> None:
            pass

    class Player(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A reader that hangs up is the usual end."""

    return Player(("127.0.0.1", 0), Connection)


def kubeconfig(url: str) -> str:
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "player",
        "clusters": [{"name": "player", "cluster": {"server": url}}],
        "users": [{"name": "reader", "user": {"token": "none"}}],
        "contexts": [{"name": "player", "context": {"cluster": "player", "user": "reader"}}],
    })  # fmt: skip


if __name__ == "__main__":
    number, length, directory = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    with server(texts(number), length) as player:
        written = directory / "kubeconfig.partial"
        written.write_text(kubeconfig(f"http://127.0.0.1:{player.server_address[1]}"))
        written.replace(directory / "kubeconfig")
        player.serve_forever()
