"""The `oidc` auth provider of a kubeconfig: an id token that is renewed with a refresh token.

The exchange with the identity provider (RFC 6749, section 6) is ours: the one of kubernetes_asyncio 36 turns TLS verification
off where no authority is configured, has no time-out, fails where the provider keeps the refresh token, and uses what aiohttp
is about to remove. New tokens are written back to the kubeconfig, since a provider may accept a refresh token only once.
aiohttp is imported when a token is renewed: most kubeconfigs have none of these, and start sooner.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote_plus

import msgspec
import structlog

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.kubernetes.credentials import CredentialsMisconfigured, CredentialsUnavailable, Renewing, Token

OIDC_TIMEOUT: Final = 30.0
"""Seconds that one refresh may take."""

log = structlog.get_logger(__name__)

Save = Callable[[Mapping[str, str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider:
    """The `auth-provider.config` of a kubeconfig, read."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    id_token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    authority: bytes = b""


class OidcToken(Renewing):
    """Bearer tokens from an OpenID Connect provider. `save` gets the tokens that changed."""

    def __init__(self, provider: OidcProvider, clock: Clock, save: Save) -> None:
        super().__init__(clock)
        self._provider = provider
        self._refresh_token = provider.refresh_token
        self._first = provider.id_token
        self._save = save

    async def fetch(self) -> Token:
        """The token of the kubeconfig while it is good, else a new one. Raises `CredentialsUnavailable`."""
        first, self._first = self._first, ""
        if first:
            expires = expiry(first)
            if expires is None or expires > self._clock.now():
                return Token(f"Bearer {first}", expires)
        if not self._refresh_token:
            raise CredentialsMisconfigured("oidc: the id token has ended and there is no refresh-token; log in again")
        answer = await self._refresh()
        token = str(answer.get("id_token") or "")
        if not token:
            raise CredentialsUnavailable(f"oidc: {self._provider.issuer} answered without an id_token")
        self._refresh_token = str(answer.get("refresh_token") or self._refresh_token)
        try:
            self._save({"id-token": token, "refresh-token": self._refresh_token})
        except OSError as error:
            log.warning("oidc: new tokens could not be written to the kubeconfig", error=str(error))
        return Token(f"Bearer {token}", expiry(token))

    async def _refresh(self) -> Mapping[str, Any]:
        import aiohttp

        issuer = self._provider.issuer
        try:
            async with asyncio.timeout(OIDC_TIMEOUT):
                return await _exchange(self._provider, self._refresh_token)
        except TimeoutError as error:
            raise CredentialsUnavailable(f"oidc: no answer from {issuer} within {OIDC_TIMEOUT:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError, TypeError, KeyError) as error:
            raise CredentialsUnavailable(f"oidc: {issuer} gave no new token: {error}") from error


async def _exchange(provider: OidcProvider, refresh_token: str) -> Mapping[str, Any]:
    import aiohttp

    form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
    headers = {"Accept": "application/json"}
    if provider.client_secret:
        pair = f"{quote_plus(provider.client_id)}:{quote_plus(provider.client_secret)}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form["client_id"] = provider.client_id
    tls = ssl.create_default_context(cadata=provider.authority.decode() or None)
    connector = aiohttp.TCPConnector(ssl=tls)
    async with aiohttp.ClientSession(connector=connector, raise_for_status=True, trust_env=True) as session:
        async with session.get(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration") as response:
            endpoint = (await response.json())["token_endpoint"]
        async with session.post(endpoint, data=form, headers=headers) as response:
            return dict(await response.json())


def expiry(token: str) -> datetime | None:
    """The `exp` of a JSON Web Token; `None` when it has none or cannot be read (the server will judge it)."""
    try:
        payload = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return datetime.fromtimestamp(claims["exp"], UTC)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, binascii.Error, msgspec.MsgspecError):
        return None
