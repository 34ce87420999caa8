"""The verbs of the port as HTTP: method, path, query, headers and body of each; and what an answer becomes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.engine import errors
from dynamo_ctrl.engine.kubernetes import ConfigError, factory
from dynamo_ctrl.engine.kubernetes.engine import CANNOT_APPLY, KubernetesEngine
from dynamo_ctrl.engine.port import ListOptions, Preconditions
from dynamo_ctrl.engine.registry import EngineConfig, engine_names, open_engine
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import NAMESPACE, POD
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit

Call = Callable[[KubernetesEngine], Awaitable[Any]]
NAME = Key("n", "x")
DELETE = {"kind": "DeleteOptions", "apiVersion": "v1"}

REQUESTS: list[tuple[Call, str, str, str, Any]] = [
    (lambda e: e.get(POD, NAME), "GET", "/api/v1/namespaces/n/pods/x", "", None),
    (lambda e: e.get(NAMESPACE, Key("", "x")), "GET", "/api/v1/namespaces/x", "", None),
    (lambda e: e.get(DEPLOYMENT, NAME, subresource="scale"), "GET", "/apis/apps/v1/namespaces/n/deployments/x/scale", "", None),
    (lambda e: e.get(POD, Key("n", "system:a b")), "GET", "/api/v1/namespaces/n/pods/system:a%20b", "", None),
    (lambda e: e.create(POD, "n", b'{"a":1}'), "POST", "/api/v1/namespaces/n/pods", "application/json", {"a": 1}),
    (lambda e: e.create(NAMESPACE, "", b"{}"), "POST", "/api/v1/namespaces", "application/json", {}),
    (lambda e: e.update(POD, NAME, b"{}"), "PUT", "/api/v1/namespaces/n/pods/x", "application/json", {}),
    (
        lambda e: e.update(POD, NAME, b"{}", subresource="status"),
        "PUT", "/api/v1/namespaces/n/pods/x/status", "application/json", {},
    ),
    (
        lambda e: e.patch(POD, NAME, Patch.merge({"a": None})),
        "PATCH", "/api/v1/namespaces/n/pods/x", "application/merge-patch+json", {"a": None},
    ),
    (
        lambda e: e.patch(POD, NAME, Patch.json([{"op": "remove", "path": "/a"}]), subresource="status"),
        "PATCH", "/api/v1/namespaces/n/pods/x/status", "application/json-patch+json", [{"op": "remove", "path": "/a"}],
    ),
    (
        lambda e: e.delete(POD, NAME),
        "DELETE", "/api/v1/namespaces/n/pods/x", "application/json", {**DELETE, "propagationPolicy": "Background"},
    ),
    (
        lambda e: e.delete(
            POD, NAME, preconditions=Preconditions(uid="u", resource_version="7"), propagation="Foreground", grace_seconds=0
        ),
        "DELETE", "/api/v1/namespaces/n/pods/x", "application/json",
        {
            **DELETE, "propagationPolicy": "Foreground", "gracePeriodSeconds": 0,
            "preconditions": {"uid": "u", "resourceVersion": "7"},
        },
    ),
    (lambda e: e.discover("", "v1"), "GET", "/api/v1", "", None),
    (lambda e: e.discover("apps", "v1"), "GET", "/apis/apps/v1", "", None),
    (lambda e: e.list(POD, ListOptions()), "GET", "/api/v1/pods", "", None),
    (
        lambda e: e.list(POD, ListOptions(namespace="n", label_selector="a=b", limit=500, resource_version="5", match="Exact")),
        "GET", "/api/v1/namespaces/n/pods?limit=500&resourceVersion=5&resourceVersionMatch=Exact&labelSelector=a%3Db", "", None,
    ),
    (
        lambda e: e.list(POD, ListOptions(limit=2, continue_token="to/k=en", field_selector="metadata.name=x")),
        "GET", "/api/v1/pods?limit=2&fieldSelector=metadata.name%3Dx&continue=to%2Fk%3Den", "", None,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "method", "target", "content_type", "body"), REQUESTS)
def test_each_verb_is_one_request(call: Call, method: str, target: str, content_type: str, body: Any, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply({"items": [], "metadata": {}}))) as server:
            async with kit.connected(server.address) as engine:
                await call(engine)
            (request,) = server.received
            assert (request.method, request.target) == (method, target)
            assert request.header("content-type") == content_type
            assert (json.loads(request.body) if request.body else None) == body

    kit.run(main())


def test_an_answer_is_given_back_byte_for_byte(kit: Kit) -> None:
    body = '{"kind":"Pod",  "x":"ü\\u00fc"}\n'.encode()

    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply(body, 201))) as server, kit.connected(server.address) as engine:
            assert await engine.create(POD, "n", b"{}") == body
            assert await engine.get(POD, NAME) == body

    kit.run(main())


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
def test_a_name_that_would_change_the_path_is_refused_before_anything_is_sent(name: str, kit: Kit) -> None:
    key = Key("n", name)

    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply())) as server:
            async with kit.connected(server.address) as engine:
                for call in (
                    engine.get(POD, key),
                    engine.update(POD, key, b"{}"),
                    engine.patch(POD, key, Patch.merge({})),
                    engine.delete(POD, key),
                ):
                    with pytest.raises(errors.BadRequest, match=r"metadata\.name"):
                        await call
            assert not server.received

    kit.run(main())


TESTED = Patch.json([{"op": "test", "path": "/a", "value": 1}])
UNTESTED = Patch.json([{"op": "remove", "path": "/a"}])


@pytest.mark.parametrize(
    ("patch", "message", "error"),
    [
        (TESTED, CANNOT_APPLY, errors.Conflict),
        (UNTESTED, CANNOT_APPLY, errors.Invalid),
        (Patch.merge({}), CANNOT_APPLY, errors.Invalid),
        (TESTED, 'Pod "x" is invalid: spec.a: Required value', errors.Invalid),
    ],
)
def test_a_failed_test_is_a_conflict_and_a_broken_rule_is_not(
    patch: Patch, message: str, error: type[Exception], kit: Kit
) -> None:
    status = {"kind": "Status", "reason": "Invalid", "code": 422, "message": message}

    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply(status, 422))) as server, kit.connected(server.address) as engine:
            with pytest.raises(error):
                await engine.patch(POD, NAME, patch)

    kit.run(main())


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (400, "BadRequest", errors.BadRequest),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Expired),
        (422, "Invalid", errors.Invalid),
    ],
)
def test_an_answer_that_is_no_success_is_a_typed_error_with_everything_the_server_said(
    code: int, reason: str, error: type[errors.EngineError], kit: Kit
) -> None:
    details = {"name": "x", "kind": "pods"}
    status = {"kind": "Status", "reason": reason, "code": code, "message": "said", "details": details}

    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply(status, code))) as server, kit.connected(server.address) as engine:
            for call in (engine.get(POD, NAME), engine.list(POD, ListOptions()), engine.create(POD, "n", b"{}")):
                with pytest.raises(error) as raised:
                    await call
                found = raised.value
                assert (found.code, found.reason, found.message, found.details) == (code, reason, "said", details)

    kit.run(main())


def test_requests_use_kept_connections(kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply({"items": [], "metadata": {}}))) as server:
            async with kit.connected(server.address) as engine:
                for _ in range(5):
                    await engine.get(POD, NAME)
                    await engine.list(POD, ListOptions())
            assert (len(server.received), server.connections) == (10, 1)

    kit.run(main())


def test_importing_the_library_and_this_engine_imports_neither_aiohttp_nor_kubernetes_asyncio() -> None:
    code = """
import sys
import dynamo_ctrl, dynamo_ctrl.engine.registry, dynamo_ctrl.engine.kubernetes
import dynamo_ctrl.engine.kubernetes.engine, dynamo_ctrl.engine.kubernetes.kubeconfig
assert not {"aiohttp", "kubernetes_asyncio"} & set(sys.modules), sorted(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[4])


def test_the_engine_is_installed_under_its_name_and_opens_with_a_configuration(kit: Kit, tmp_path: Path) -> None:
    assert "kubernetes" in engine_names()

    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply())) as server:
            cluster = {"server": str(server.address)}
            content = {
                "clusters": [{"name": "c", "cluster": cluster}],
                "contexts": [{"name": "mine", "context": {"cluster": "c"}}],
            }
            path = tmp_path / "config"
            path.write_text(json.dumps(content))
            told: list[tuple[str, str, int]] = []
            config = EngineConfig(
                kubeconfig=path, context="mine", user_agent="me/1", on_request=lambda *attempt: told.append(attempt[:3])
            )
            async with open_engine("kubernetes", config) as engine:
                assert engine.name == "kubernetes"
                await engine.get(POD, NAME)
            assert server.received[0].header("user-agent") == "me/1"
            assert told == [("GET", server.address.authority, 200)]

    kit.run(main())


def test_a_configuration_that_cannot_be_used_ends_the_opening(kit: Kit, tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(ConfigError, match="there is no file"):
            async with factory(EngineConfig(kubeconfig=tmp_path / "absent")):
                pytest.fail("opened")

    kit.run(main())


def test_many_calls_at_once_share_a_bounded_number_of_connections(kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply())) as server:
            async with kit.connected(server.address) as engine:
                await asyncio.gather(*(engine.get(POD, NAME) for _ in range(300)))
            assert len(server.received) == 300
            assert server.connections <= 64

    kit.run(main())
