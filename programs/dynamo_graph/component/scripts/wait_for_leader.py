"""Ends when the leader of this Pod's engine runs and listens, with exit code 1 when it does not within an hour.

The name of the leader may still resolve to the leader of a group that is about to end. So the API server is asked about the
Pod with that address, if it lets us, and the connection goes to the address, not to the name. Only the standard library is used.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import sys
import time
import urllib.parse
from typing import Any

BOUND = 3600.0
INTERVAL = 5.0
REPORT_INTERVAL = 30.0
API_TIMEOUT = 5.0
CONNECT_TIMEOUT = 2.0
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class ApiServer:
    """The API server, as the kubelet tells of it to every container."""

    def __init__(self, url: str = "", account: str = ACCOUNT) -> None:
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._url = urllib.parse.urlsplit(url or f"https://{authority}")
        self._account = account

    def pods_at(self, address: str) -> list[Any] | None:
        """The Pods of the own namespace that have that address; None when the server does not say."""
        try:
            path = f"/api/v1/namespaces/{self._read('namespace')}/pods"
            selector = urllib.parse.urlencode({"fieldSelector": f"status.podIP={address}"})
            # The selector knows only the first address of a Pod.
            return _having(address, self._list(f"{path}?{selector}")) or _having(address, self._list(path))
        except (OSError, ValueError, http.client.HTTPException):
            return None

    def _list(self, path: str) -> list[Any]:
        connection = self._connect()
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self._read('token')}"})
            answer = connection.getresponse()
            if answer.status != http.client.OK:
                raise OSError(f"status {answer.status}")
            return json.load(answer).get("items") or []
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=API_TIMEOUT)
        tls = ssl.create_default_context(cafile=os.path.join(self._account, "ca.crt"))
        return http.client.HTTPSConnection(host, port, timeout=API_TIMEOUT, context=tls)

    def _read(self, name: str) -> str:
        with open(os.path.join(self._account, name), encoding="utf-8") as file:
            return file.read().strip()


def _having(address: str, pods: list[Any]) -> list[Any]:
    return [pod for pod in pods if address in _addresses(pod.get("status") or {})]


def _addresses(status: Any) -> list[str]:
    return [status.get("podIP"), *(entry.get("ip") for entry in status.get("podIPs") or [])]


def runs(pod: Any) -> bool:
    """Whether a Pod runs and is not about to end."""
    return not pod["metadata"].get("deletionTimestamp") and (pod.get("status") or {}).get("phase") == "Running"


def why_not(host: str, port: int, api: ApiServer) -> str | None:
    """Why the leader cannot be reached yet; None when it can."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return f"{host} does not resolve: {error}"
    reason: str | None = f"{host} has no address"
    for address in dict.fromkeys(str(entry[4][0]) for entry in found):
        reason = _why_not_at(address, port, api)
        if reason is None:
            return None
    return reason


def _why_not_at(address: str, port: int, api: ApiServer) -> str | None:
    pods = api.pods_at(address)
    if pods is not None and not any(runs(pod) for pod in pods):
        return f"the Pod at {address} does not run" if pods else f"there is no Pod at {address}"
    try:
        socket.create_connection((address, port), timeout=CONNECT_TIMEOUT).close()
    except OSError as error:
        return f"{address} port {port}: {error}"
    return None


def main() -> int:
    """Wait; returns the exit code."""
    host, port, api = os.environ["LEADER_HOST"], int(os.environ["LEADER_PORT"]), ApiServer()
    start = reported = time.monotonic()
    while True:
        time.sleep(INTERVAL)
        reason = why_not(host, port, api)
        now = time.monotonic()
        if reason is None:
            print(f"the leader {host} port {port} is reached after {now - start:.0f} s", flush=True)
            return 0
        if now - start >= BOUND:
            print(f"gave up on the leader {host} after {now - start:.0f} s: {reason}", flush=True)
            return 1
        if now - reported >= REPORT_INTERVAL:
            reported = now
            print(f"waiting for the leader {host} port {port}: {reason}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
