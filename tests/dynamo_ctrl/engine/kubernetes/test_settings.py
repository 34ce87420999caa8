"""Every TLS, proxy and credential setting holds for every kind of call, directly and through a proxy, on both kinds of loop.

One table. A row names what the client is given; `settings` says what must come of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.errors import EngineError, Unauthorized, Unreachable, Untrusted
from dynamo_ctrl.engine.kubernetes.config import Address, Pem, Tls
from dynamo_ctrl.engine.kubernetes.credentials import FILE_PERIOD, Fixed, KeyPair, TokenFile
from dynamo_ctrl.engine.kubernetes.engine import KubernetesEngine
from dynamo_ctrl.engine.kubernetes.retry import RetryOptions
from dynamo_ctrl.engine.kubernetes.tls import CHECK_PERIOD
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.key import Key
from envtest.certificates import Authority

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Certificates, Kit, Received

pytestmark = pytest.mark.parametrize("kit", ["asyncio", "uvloop"], indirect=True)

Call = Callable[[KubernetesEngine], Awaitable[object]]


async def by_get(engine: KubernetesEngine) -> object:
    return await engine.get(POD, Key("n", "p"))


async def by_list(engine: KubernetesEngine) -> object:
    return await engine.list(POD, ListOptions(namespace="n"))


async def by_watch(engine: KubernetesEngine) -> object:
    async with engine.watch(POD, WatchOptions(namespace="n")) as events:
        return [event async for event in events]


CALLS = pytest.mark.parametrize("call", [by_get, by_list, by_watch])


def page(kit: Kit) -> bytes:
    return kit.reply({"kind": "PodList", "metadata": {}, "items": []})


def answer(kit: Kit) -> Callable[[Received, asyncio.StreamWriter], Awaitable[None]]:
    """What each call can read: an empty watch, or an empty list that also passes for an object."""

    async def handle(request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(kit.reply(b"", chunked=True) if "watch=true" in request.target else page(kit))

    return handle


def settings(
    name: str, certificates: Certificates
) -> tuple[dict[str, Any], bool, str | None, type[EngineError] | None]:
    """Configuration, whether the server asks for a certificate, the SNI it must see, and the error if any."""
    trust, server_name = certificates.trust, "kubernetes.test"
    user = certificates.user
    stranger = Authority("stranger")
    named = replace(trust, server_name=server_name)
    in_place = replace(trust, certificate=Pem(data=user.certificate), key=Pem(data=user.key))
    files = Tls(
        authority=Pem(str(certificates.file("ca.crt", certificates.authority.certificate))),
        certificate=Pem(str(certificates.file("user.crt", user.certificate))),
        key=Pem(str(certificates.file("user.key", user.key))),
    )
    foreign = replace(named, authority=Pem(data=stranger.certificate))
    table: dict[str, tuple[Tls, bool, str | None, type[EngineError] | None]] = {
        "authority given in place": (trust, False, None, None),
        "authority from a file": (replace(files, certificate=Pem(), key=Pem()), False, None, None),
        "authority that did not sign the server": (foreign, False, server_name, Untrusted),
        "authority of the system": (Tls(), False, None, Untrusted),
        "insecure": (replace(foreign, authority=Pem(), insecure=True), False, server_name, None),
        "server name that the certificate has": (named, False, server_name, None),
        "server name that it has not": (replace(trust, server_name="other.test"), False, "other.test", Untrusted),
        "client certificate given in place": (in_place, True, None, None),
        "client certificate from files": (files, True, None, None),
        "no client certificate": (trust, True, None, EngineError),
    }
    tls, ask, sni, error = table[name]
    return {"tls": tls}, ask, sni, error


ROWS = (
    "authority given in place", "authority from a file", "authority that did not sign the server", "authority of the system",
    "insecure", "server name that the certificate has", "server name that it has not", "client certificate given in place",
    "client certificate from files", "no client certificate",
)  # fmt: skip


@CALLS
@pytest.mark.parametrize("through_proxy", [False, True], ids=["direct", "proxy"])
@pytest.mark.parametrize("row", ROWS)
def test_tls_settings_hold(row: str, through_proxy: bool, call: Call, kit: Kit, certificates: Certificates) -> None:
    config, ask, sni, error = settings(row, certificates)

    async def main() -> None:
        async with kit.serve(answer(kit), certificates.server_context(ask=ask)) as server, kit.serve_proxy() as proxy:
            config["proxy"] = proxy.address if through_proxy else None
            async with kit.connected(server.address, request_timeout=30.0, **config) as engine:
                if error is not None:
                    with pytest.raises(error):
                        await call(engine)
                    assert not server.received
                else:
                    await call(engine)
                    assert len(server.received) == 1
                    subject = (server.received[0].peer or {}).get("subject", ())
                    assert (("commonName", "alice") in [pair for rdn in subject for pair in rdn]) is ask
            # Where the name is an address there is no SNI; a name of ours is sent as it is.
            assert set(server.sni) == {sni}
            assert [request.method for request in proxy.received[:1]] == (["CONNECT"] if through_proxy else [])

    kit.run(main())


@CALLS
@pytest.mark.parametrize("tls", [True, False], ids=["https", "http"])
@pytest.mark.parametrize(("user", "accepted"), [("ann", True), ("", False), ("bob", False)])
def test_proxy_credentials_hold(
    tls: bool, user: str, accepted: bool, call: Call, kit: Kit, certificates: Certificates
) -> None:
    async def main() -> None:
        context = certificates.server_context() if tls else None
        async with (
            kit.serve(answer(kit), context) as server,
            kit.serve_proxy(authorization=kit.basic("ann", "s3cret")) as proxy,
        ):
            address = replace(proxy.address, user=user, password="s3cret")
            config: dict[str, Any] = {"proxy": address, "tls": certificates.trust if tls else Tls()}
            async with kit.connected(server.address, request_timeout=30.0, **config) as engine:
                if accepted:
                    await call(engine)
                    assert server.received[0].header("proxy-authorization") == (
                        "" if tls else kit.basic("ann", "s3cret")
                    )
                else:
                    with pytest.raises(EngineError) as raised:
                        await call(engine)
                    assert "s3cret" not in str(raised.value)
                    assert not server.received

    kit.run(main())


@CALLS
def test_a_proxy_that_is_not_there_is_unreachable(call: Call, kit: Kit, certificates: Certificates) -> None:
    async def main() -> None:
        async with kit.serve(answer(kit), certificates.server_context()) as server:
            config: dict[str, Any] = {"proxy": Address("http", "127.0.0.1", 1), "tls": certificates.trust}
            async with kit.connected(server.address, request_timeout=30.0, **config) as engine:
                with pytest.raises(Unreachable):
                    await call(engine)
            assert server.connections == 0

    kit.run(main())


@CALLS
def test_every_request_says_who_we_are_and_asks_for_plain_json(call: Call, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(answer(kit)) as server:
            headers = (("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
            config: dict[str, Any] = {"credentials": Fixed.bearer("t0ken\n"), "headers": headers}
            async with kit.connected(server.address, **config) as engine:
                await call(engine)
            (request,) = server.received
            assert request.headers["authorization"] == ["Bearer t0ken"]
            assert request.headers["user-agent"] == ["test/1"]
            assert request.headers["accept"] == ["application/json"]
            assert request.headers["accept-encoding"] == ["identity"]
            assert request.headers["host"] == [server.address.authority]
            assert request.headers["impersonate-user"] == ["jane"]
            assert request.headers["impersonate-group"] == ["a", "b"]

    kit.run(main())


@CALLS
@pytest.mark.parametrize("token", ["a\r\nX-Injected: yes", "a\nb", "tök€n"])
def test_a_token_that_no_header_may_hold_is_refused_and_not_quoted(token: str, call: Call, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(answer(kit)) as server:
            async with kit.connected(
                server.address, credentials=Fixed.bearer(token), retry=RetryOptions(attempts=1)
            ) as engine:
                with pytest.raises(Unreachable, match="Authorization") as raised:
                    await call(engine)
                assert token not in str(raised.value)
            assert not server.received

    kit.run(main())


@CALLS
def test_a_path_in_the_servers_url_is_kept(call: Call, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(answer(kit)) as server:
            async with kit.connected(replace(server.address, path="/k8s/clusters/c-1")) as engine:
                await call(engine)
            assert server.received[0].target.startswith("/k8s/clusters/c-1/api/v1/namespaces/n/pods")

    kit.run(main())


def expecting(kit: Kit, token: list[str]) -> Callable[[Received, asyncio.StreamWriter], Awaitable[None]]:
    accept = answer(kit)

    async def handle(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.header("authorization") == f"Bearer {token[0]}":
            await accept(request, writer)
        else:
            writer.write(kit.reply({"kind": "Status", "reason": "Unauthorized", "code": 401}, 401))

    return handle


@CALLS
def test_a_token_that_rotates_on_disk_is_followed(call: Call, kit: Kit, tmp_path: Path) -> None:
    file, clock, valid = tmp_path / "token", ManualClock(), ["one"]
    file.write_text("one\n")

    async def main() -> None:
        credentials = TokenFile(file, clock)
        async with kit.serve(expecting(kit, valid)) as server:  # noqa: SIM117
            async with kit.connected(server.address, credentials=credentials, clock=clock) as engine:
                await call(engine)
                file.write_text("two")
                valid[0] = "two"
                await call(engine)  # the period is not over: one 401, one look at the file, and again
                assert [request.header("authorization") for request in server.received] == [
                    "Bearer one", "Bearer one", "Bearer two",
                ]  # fmt: skip
                file.write_text("three")
                valid[0] = "three"
                clock.advance(FILE_PERIOD)
                await call(engine)
                assert len(server.received) == 4
                valid[0] = "four"
                with pytest.raises(Unauthorized):
                    await call(engine)
                assert len(server.received) == 5  # nothing new on disk: not tried again

    kit.run(main())


@CALLS
def test_certificates_that_are_replaced_on_disk_are_followed(
    call: Call, kit: Kit, certificates: Certificates, tmp_path: Path
) -> None:
    authority, clock = tmp_path / "ca.crt", ManualClock()
    authority.write_bytes(Authority("old").certificate)

    async def main() -> None:
        async with kit.serve(answer(kit), certificates.server_context()) as server:
            tls = Tls(authority=Pem(str(authority)))
            async with kit.connected(server.address, tls=tls, clock=clock, request_timeout=30.0) as engine:
                with pytest.raises(Unreachable):
                    await call(engine)
                authority.write_bytes(b"half wri")
                clock.advance(CHECK_PERIOD)
                with pytest.raises(Unreachable):
                    await call(engine)
                authority.write_bytes(certificates.authority.certificate)
                clock.advance(CHECK_PERIOD)
                await call(engine)

    kit.run(main())


@CALLS
def test_a_client_certificate_from_a_plugin_is_used(call: Call, kit: Kit, certificates: Certificates) -> None:
    class Plugin(Fixed):
        pair = KeyPair(certificates.user.certificate, certificates.user.key)

    plugin = Plugin()
    bob = certificates.authority.user("bob")

    async def main() -> None:
        async with kit.serve(answer(kit), certificates.server_context(ask=True)) as server:
            async with kit.connected(server.address, tls=certificates.trust, credentials=plugin) as engine:
                await call(engine)
                await call(engine)
                plugin.pair = KeyPair(bob.certificate, bob.key)
                await call(engine)  # a kept connection is still alice's, and is not used
            peers = [(request.peer or {})["subject"] for request in server.received]
            assert peers == [((("commonName", "alice"),),)] * 2 + [((("commonName", "bob"),),)]
            assert server.connections == 2

    kit.run(main())
