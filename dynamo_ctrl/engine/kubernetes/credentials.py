"""Who we are to the server, as a header value that may change while we run.

Contract of every `Credentials`:

- `authorization()` is asked before each request; it costs nothing while the last answer is still good.
- Work that takes time (a plug-in, a request to an identity provider) is done once for all that wait (single flight),
  and before the old token ends.
- After a 401 `renew(rejected)` is asked once; true means that `authorization()` has something new to offer.
- What cannot be had raises `CredentialsUnavailable`: nothing was sent. Secrets never reach a log or a message.
"""

from __future__ import annotations

import asyncio
import base64
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

import structlog

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import Unreachable

FILE_PERIOD: Final = 10.0
"""Seconds for which a token that was read from a file is used without looking at the file again."""

EXPIRY_SKEW: Final = timedelta(minutes=5)
"""How long before its end a token is renewed; a quarter of its life where that is shorter."""

RETRY_PERIOD: Final = 10.0
"""Seconds between tries to renew a token that is still good, and between renewals that 401s force."""

log = structlog.get_logger(__name__)


class CredentialsUnavailable(Unreachable):
    """No credentials could be had: a token file is gone, a plug-in failed. The request was not sent."""

    default_reason = "CredentialsUnavailable"


class CredentialsMisconfigured(CredentialsUnavailable):
    """Credentials that waiting does not bring: a plug-in that is not there or speaks something else, a login that has ended."""

    default_reason = "CredentialsMisconfigured"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A client certificate and its key, PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class Credentials(Protocol):
    """Where the `Authorization` header comes from."""

    @property
    def pair(self) -> KeyPair | None:
        """A client certificate that came with the last token, if any."""

    async def authorization(self) -> str:
        """The value of the `Authorization` header; empty for none. Raises `CredentialsUnavailable`."""

    async def renew(self, rejected: str) -> bool:
        """The server answered 401 to `rejected`. True when another value is to be had now."""


class Fixed:
    """A header value that never changes; empty for none."""

    pair: KeyPair | None = None

    def __init__(self, value: str = "") -> None:
        self._value = value

    @classmethod
    def bearer(cls, token: str) -> Fixed:
        """A bearer token."""
        return cls(f"Bearer {token.strip()}")

    @classmethod
    def basic(cls, user: str, password: str) -> Fixed:
        """User and password."""
        return cls("Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())

    async def authorization(self) -> str:
        """The value."""
        return self._value

    async def renew(self, rejected: str) -> bool:
        """There is nothing else to try."""
        return False


class TokenFile:
    """A bearer token in a file that is replaced while we run: projected service account tokens, `tokenFile`."""

    pair: KeyPair | None = None

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._value = ""
        self._read_at = -FILE_PERIOD

    async def authorization(self) -> str:
        """The token, read anew every `FILE_PERIOD` seconds. A file that cannot be read for once leaves the last token."""
        if not self._value or self._clock.monotonic() - self._read_at >= FILE_PERIOD:
            self._read()
        return self._value

    async def renew(self, rejected: str) -> bool:
        """Read the file now."""
        self._read()
        return self._value != rejected

    def _read(self) -> None:
        try:
            token = self._path.read_text().strip()
            if not token:
                raise CredentialsUnavailable(f"token file {self._path} is empty")
        except (OSError, UnicodeDecodeError) as error:
            if not self._value:
                raise CredentialsUnavailable(f"token file {self._path} cannot be read: {error}") from error
            log.warning("token file cannot be read, the last token is used", path=str(self._path), error=str(error))
        else:
            self._value = f"Bearer {token}"
        self._read_at = self._clock.monotonic()


@dataclass(frozen=True, slots=True)
class Token:
    """What a plug-in or an identity provider hands out."""

    authorization: str = field(repr=False)
    expires: datetime | None = None
    pair: KeyPair | None = None


class Renewing(ABC):
    """Credentials that are fetched, kept while they last, and fetched again a little before they end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = asyncio.Lock()
        self._token: Token | None = None
        self._renew_at: datetime | None = None
        self._tried_at = self._forced_at = -RETRY_PERIOD

    @abstractmethod
    async def fetch(self) -> Token:
        """A new token. Raises `CredentialsUnavailable`."""

    @property
    def pair(self) -> KeyPair | None:
        """The certificate that came with the token."""
        return self._token.pair if self._token else None

    async def authorization(self) -> str:
        """The token's header value; fetched when there is none, or when it is about to end."""
        token = self._good()
        if token is None:
            async with self._lock:
                token = self._good() or await self._fetch()
        return token.authorization

    async def renew(self, rejected: str) -> bool:
        """Fetch by force, unless somebody else has done so since `rejected` was handed out."""
        async with self._lock:
            old, now = self._token, self._clock.monotonic()
            if old is None or old.authorization != rejected:
                return True
            if now - self._forced_at < RETRY_PERIOD:
                return False
            self._forced_at = now
            new = self._keep(await self.fetch())
            return (new.authorization, new.pair) != (old.authorization, old.pair)

    def _good(self) -> Token | None:
        """The token that we have, unless it is time to fetch another."""
        token, now = self._token, self._clock.now()
        if token is None or token.expires is None or self._renew_at is None or now < self._renew_at:
            return token
        resting = self._clock.monotonic() - self._tried_at < RETRY_PERIOD
        return token if resting and now < token.expires else None

    async def _fetch(self) -> Token:
        old = self._token
        self._tried_at = self._clock.monotonic()
        try:
            return self._keep(await self.fetch())
        except CredentialsUnavailable as error:
            if old is None or old.expires is None or self._clock.now() >= old.expires:
                raise
            log.warning("credentials could not be renewed early, the old ones are still good", error=str(error))
            return old

    def _keep(self, token: Token) -> Token:
        self._token, self._renew_at = token, None
        if token.expires is not None:
            life = max(token.expires - self._clock.now(), timedelta(0))
            self._renew_at = token.expires - min(EXPIRY_SKEW, life / 4)
        return token
