"""OpenID Connect: id tokens that end, refresh tokens that are used up, and a provider whose certificate is looked at."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
import yaml

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.kubernetes.credentials import CredentialsUnavailable
from dynamo_ctrl.engine.kubernetes.locate import Locator
from dynamo_ctrl.engine.kubernetes.oidc import OidcProvider, OidcToken, expiry

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Certificates, Kit, Received

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def jwt(seconds: float | None, name: str = "x") -> str:
    """An unsigned token that ends that many seconds from now."""
    claims: dict[str, Any] = {"sub": name} | ({} if seconds is None else {"exp": NOW.timestamp() + seconds})
    parts = ({"alg": "none"}, claims)
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".sig"


def provider(
    kit: Kit, answer: dict[str, Any], asked: list[tuple[str, str, bytes]], status: int = 200
) -> Callable[..., Any]:
    async def handle(request: Received, writer: asyncio.StreamWriter) -> None:
        host = request.header("host")
        if request.target.endswith("openid-configuration"):
            content: dict[str, Any] = {"token_endpoint": f"https://{host}/token"}
            writer.write(kit.reply(content, headers=[("Content-Type", "application/json")]))
        else:
            asked.append((request.header("authorization"), request.target, request.body))
            writer.write(kit.reply(answer, status, headers=[("Content-Type", "application/json")]))

    return handle


def test_the_end_of_a_token_is_read_from_it() -> None:
    assert expiry(jwt(60)) == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize("token", ["", "a.b", "a.!!.c", "a.e30.c", jwt(None), "a." + base64.b64encode(b"[]").decode()])
def test_a_token_whose_end_cannot_be_read_has_none(token: str) -> None:
    assert expiry(token) is None


def test_a_token_that_is_good_is_used_without_asking_anybody(kit: Kit) -> None:
    async def main() -> None:
        good = jwt(3600)
        config = OidcProvider(issuer="https://127.0.0.1:1", client_id="c", id_token=good)
        assert await OidcToken(config, ManualClock(NOW), lambda _: None).authorization() == f"Bearer {good}"

    kit.run(main())


@pytest.mark.parametrize("rotates", [True, False])
def test_a_token_that_has_ended_is_renewed_and_written_back(
    rotates: bool, kit: Kit, certificates: Certificates, tmp_path: Path
) -> None:
    asked: list[tuple[str, str, bytes]] = []
    fresh = jwt(3600, "fresh")
    answer = {"id_token": fresh} | ({"refresh_token": "r2"} if rotates else {})
    path = tmp_path / "config"

    async def main() -> None:
        async with kit.serve(provider(kit, answer, asked), certificates.server_context()) as server:
            authority = base64.b64encode(certificates.authority.certificate).decode()
            tokens = {"id-token": jwt(-5), "refresh-token": "r1", "idp-certificate-authority-data": authority}
            oidc = {"idp-issuer-url": f"{server.address}/", "client-id": "c", "client-secret": "s", **tokens}
            user = {"auth-provider": {"name": "oidc", "config": oidc}}
            content = {
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": "https://x.test"}}],
                "users": [{"name": "other", "user": {"token": "kept"}}, {"name": "u", "user": user}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
            path.write_text(json.dumps(content))
            credentials = Locator(kubeconfig=path, environ={}, clock=ManualClock(NOW)).find().credentials
            assert await asyncio.gather(*(credentials.authorization() for _ in range(3))) == [f"Bearer {fresh}"] * 3

    kit.run(main())
    assert asked == [(kit.basic("c", "s"), "/token", b"grant_type=refresh_token&refresh_token=r1")]
    saved = yaml.safe_load(path.read_text())
    config = saved["users"][1]["user"]["auth-provider"]["config"]
    assert (config["id-token"], config["refresh-token"]) == (fresh, "r2" if rotates else "r1")
    assert saved["users"][0]["user"] == {"token": "kept"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("answer", "status", "says"),
    [({}, 200, "without an id_token"), ({"error": "invalid_grant"}, 400, "gave no new token")],
)
def test_a_provider_that_gives_nothing_is_told(
    answer: dict[str, Any], status: int, says: str, kit: Kit, certificates: Certificates
) -> None:
    async def main() -> None:
        async with kit.serve(provider(kit, answer, [], status), certificates.server_context()) as server:
            config = OidcProvider(
                issuer=str(server.address),
                client_id="c",
                refresh_token="hush",
                authority=certificates.authority.certificate,
            )
            with pytest.raises(CredentialsUnavailable, match=says) as raised:
                await OidcToken(config, ManualClock(NOW), lambda _: None).authorization()
            assert "hush" not in str(raised.value)

    kit.run(main())


def test_a_provider_whose_certificate_is_not_trusted_gets_no_secret(kit: Kit, certificates: Certificates) -> None:
    asked: list[tuple[str, str, bytes]] = []

    async def main() -> None:
        async with kit.serve(provider(kit, {"id_token": jwt(60)}, asked), certificates.server_context()) as server:
            config = OidcProvider(issuer=str(server.address), client_id="c", refresh_token="r")
            with pytest.raises(CredentialsUnavailable):
                await OidcToken(config, ManualClock(NOW), lambda _: None).authorization()
            assert not server.received

    kit.run(main())


def test_a_client_without_a_secret_names_itself_in_the_form(kit: Kit, certificates: Certificates) -> None:
    asked: list[tuple[str, str, bytes]] = []

    async def main() -> None:
        async with kit.serve(provider(kit, {"id_token": jwt(60)}, asked), certificates.server_context()) as server:
            config = OidcProvider(
                issuer=str(server.address),
                client_id="c",
                refresh_token="r",
                authority=certificates.authority.certificate,
            )
            await OidcToken(config, ManualClock(NOW), lambda _: None).authorization()

    kit.run(main())
    assert asked == [("", "/token", b"grant_type=refresh_token&refresh_token=r&client_id=c")]


def test_without_a_refresh_token_the_user_is_told_to_log_in_again(kit: Kit) -> None:
    async def main() -> None:
        config = OidcProvider(issuer="https://x", client_id="c", id_token=jwt(-1))
        with pytest.raises(CredentialsUnavailable, match="log in again"):
            await OidcToken(config, ManualClock(NOW), lambda _: None).authorization()

    kit.run(main())


def test_tokens_that_cannot_be_written_back_are_used_all_the_same(kit: Kit, certificates: Certificates) -> None:
    def save(_: object) -> None:
        raise PermissionError("read-only")

    async def main() -> None:
        fresh = jwt(3600)
        async with kit.serve(provider(kit, {"id_token": fresh}, []), certificates.server_context()) as server:
            config = OidcProvider(
                issuer=str(server.address),
                client_id="c",
                refresh_token="r",
                authority=certificates.authority.certificate,
            )
            with structlog.testing.capture_logs() as logs:
                assert await OidcToken(config, ManualClock(NOW), save).authorization() == f"Bearer {fresh}"
            assert len(logs) == 1

    kit.run(main())
