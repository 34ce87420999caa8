"""The audit log as a list of requests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from envtest import Cluster
from envtest.audit import Trail

USER = "system:serviceaccount:ns:worker"


def event(verb: str, stage: str = "ResponseComplete", *, user: str = USER, code: int = 200, **about: Any) -> str:
    reference = {"resource": "pods", "namespace": "ns", "name": "p", "apiVersion": "v1", **about}
    content = {"verb": verb, "stage": stage, "user": {"username": user}, "objectRef": reference}
    return json.dumps({**content, "responseStatus": {"code": code}})


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "audit.log"
    path.touch()
    return path


def told(log: Path, *lines: str) -> list[str]:
    log.write_text("".join(f"{line}\n" for line in lines))
    return [str(request) for request in Trail(log, USER).requests()]


def test_a_request_is_told_once_at_its_end(log: Path) -> None:
    lines = event("create"), event("create", code=409), event("patch", subresource="status")
    assert told(log, *lines) == [
        "create pods/p in ns: 200",
        "create pods/p in ns: 409",
        "patch pods/p/status in ns: 200",
    ]


def test_a_watch_is_told_when_it_opens_and_not_again_when_it_ends(log: Path) -> None:
    assert told(log, event("watch", "ResponseStarted"), event("watch")) == ["watch pods/p in ns: 200"]
    assert told(log, event("watch", code=403)) == ["watch pods/p in ns: 403"]


def test_others_are_left_out(log: Path) -> None:
    assert told(log, event("get", user="system:serviceaccount:ns:other"), event("get")) == ["get pods/p in ns: 200"]


def test_half_a_line_of_a_server_that_was_killed_is_skipped(log: Path) -> None:
    assert told(log, event("get")[:40], event("list")) == ["list pods/p in ns: 200"]


def test_only_what_came_after_a_mark_is_told(log: Path) -> None:
    trail = Trail(log, USER)
    log.write_text(event("get") + "\n")
    since = trail.mark()
    with log.open("a") as file:
        file.write(event("delete") + "\n" + event("delete", namespace="other") + "\n")
    assert [str(request) for request in trail.requests(since, "ns")] == ["delete pods/p in ns: 200"]


def test_writes_are_those_that_were_carried_out_and_no_events(log: Path) -> None:
    told(log, event("get"), event("create"), event("create", code=403), event("create", resource="events"))
    assert Trail(log, USER).created() == ["pods/p"]


def test_the_server_tells_what_a_service_account_did_and_with_which_bodies(cluster: Cluster, namespace: str) -> None:
    trail = Trail(cluster.audit_log, f"system:serviceaccount:{namespace}:default")
    config = cluster.service_account(namespace, "default")
    cluster.kubectl(
        "create", "rolebinding", "edit", "--clusterrole=edit", f"--serviceaccount={namespace}:default", "-n", namespace
    )
    cluster.kubectl("create", "configmap", "c", "--from-literal=a=b", "-n", namespace, config=config)
    with pytest.raises(subprocess.CalledProcessError):
        cluster.kubectl("get", "nodes", config=config)
    [create] = trail.writes()
    assert (create.target, create.code) == ("configmaps/c", 201)
    assert create.sent["data"] == {"a": "b"}
    assert create.answered["metadata"]["uid"]
    assert "list nodes: 403" in map(str, trail.requests())
