"""The proxy passes everything on, but for what it is told to hold."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from envtest import Api, ApiError, Cluster
from envtest.api import wait_for
from envtest.proxy import Proxy


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    with Proxy(cluster) as proxy:
        yield proxy


@pytest.fixture
def through(cluster: Cluster, proxy: Proxy) -> Api:
    """A client whose server is the proxy."""
    return Api(proxy.url, cluster.certificate_authority.read_bytes(), cluster.token)


class Call(threading.Thread):
    """A request on a thread of its own."""

    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        super().__init__(daemon=True)
        self.outcome: Any = None
        self._call = partial(call, *arguments)
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self._call()
        except (OSError, ApiError) as error:
            self.outcome = error


def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def names(cluster: Cluster, namespace: str) -> set[str]:
    return {each["metadata"]["name"] for each in cluster.api.get(maps(namespace))["items"]} - {"kube-root-ca.crt"}


def test_requests_and_streams_pass(cluster: Cluster, proxy: Proxy, through: Api, namespace: str) -> None:
    listed = through.get(maps(namespace))
    big = "x" * 300_000
    through.create(maps(namespace), {"metadata": {"name": "a"}, "data": {"big": big}})
    events = through.watch(maps(namespace), resource_version=listed["metadata"]["resourceVersion"], seconds=1)
    assert [event["object"]["data"]["big"] for event in events if event["object"]["metadata"]["name"] == "a"] == [big]
    assert proxy.requests[:2] == [f"GET {maps(namespace)}", f"POST {maps(namespace)}"]


@pytest.mark.parametrize("when", ["request", "answer"])
@pytest.mark.parametrize("dropped", [False, True], ids=["released", "dropped"])
def test_a_held_request_has_reached_the_server_or_not(
    cluster: Cluster, proxy: Proxy, through: Api, namespace: str, when: Any, dropped: bool
) -> None:
    held = proxy.hold("POST", rf"/{namespace}/configmaps$", when=when)
    call = Call(through.create, maps(namespace), {"metadata": {"name": "a"}})
    held.wait(10)
    assert names(cluster, namespace) == ({"a"} if when == "answer" else set())
    assert call.is_alive()
    through.get(maps(namespace))
    if dropped:
        held.drop()
    else:
        held.release()
    call.join(10)
    assert isinstance(call.outcome, OSError if dropped else dict)
    assert names(cluster, namespace) == (set() if when == "request" and dropped else {"a"})
    through.create(maps(namespace), {"metadata": {"name": "b"}})


def test_it_answers_itself_so_many_times(cluster: Cluster, proxy: Proxy, through: Api, namespace: str) -> None:
    throttled = proxy.answer("POST", "/configmaps", 429, times=2, retry_after=1)
    for _ in range(2):
        with pytest.raises(ApiError) as caught:
            through.create(maps(namespace), {"metadata": {"name": "a"}})
        assert caught.value.code == 429
    assert names(cluster, namespace) == set()
    through.create(maps(namespace), {"metadata": {"name": "a"}})
    assert throttled.given == 2


def test_connections_are_cut_and_refused(proxy: Proxy, through: Api, namespace: str) -> None:
    held = proxy.hold("GET", "/configmaps")
    call = Call(through.get, maps(namespace))
    held.wait(10)
    proxy.cut()
    call.join(10)
    assert isinstance(call.outcome, OSError)
    held.drop()
    with proxy.away(), pytest.raises(OSError, match="refused"):
        through.get(maps(namespace))
    assert through.get(maps(namespace))["kind"] == "ConfigMapList"


def test_what_does_not_come_is_told(proxy: Proxy) -> None:
    with pytest.raises(TimeoutError, match=r"no PUT /never came within 0\.1 s"):
        proxy.hold("PUT", "/never").wait(0.1)


def test_its_kubeconfig_names_the_proxy_and_keeps_the_user(cluster: Cluster, proxy: Proxy) -> None:
    config: Path = proxy.kubeconfig(cluster.kubeconfig)
    assert config.stat().st_mode & 0o777 == 0o600
    assert json.loads(config.read_text())["clusters"][0]["cluster"]["server"] == proxy.url
    assert cluster.kubectl("get", "namespace", "default", "-oname", config=config) == "namespace/default\n"


def test_a_client_that_leaves_while_an_answer_is_on_its_way_breaks_nothing(
    cluster: Cluster, proxy: Proxy, namespace: str
) -> None:
    for number in range(12):
        cluster.api.create(maps(namespace), {"metadata": {"name": f"m{number}"}, "data": {"big": "x" * 900_000}})
    url = urlsplit(proxy.url)
    head = f"GET {maps(namespace)} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {cluster.token}\r\n\r\n"
    trusting = ssl.create_default_context(cafile=str(cluster.certificate_authority))
    with (
        socket.create_connection((url.hostname or "", url.port or 0)) as wire,
        trusting.wrap_socket(wire, server_hostname=url.hostname) as client,
    ):
        client.sendall(head.encode())
        assert client.recv(1_000).startswith(b"HTTP/1.1 200")
        assert proxy.open == 1
    wait_for("the connection to end", lambda: proxy.open == 0, timeout=30)
    assert proxy.broken == 0
