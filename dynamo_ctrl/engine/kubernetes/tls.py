"""TLS settings as an `ssl.SSLContext` that follows the files it was made from.

Certificates are replaced under a process that runs for months. A context is made anew when one of its files has changed
(looked at every `CHECK_PERIOD` seconds) or when a plug-in hands out another certificate; connections that exist keep theirs.
A change that cannot be read, because it is half written, leaves the last good context.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path
from typing import Final

import structlog

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.kubernetes.config import ConfigError, Pem, Tls
from dynamo_ctrl.engine.kubernetes.credentials import KeyPair

CHECK_PERIOD: Final = 10.0
"""Seconds between looks at the files."""

log = structlog.get_logger(__name__)

Stamp = tuple[object, ...]


class TlsContexts:
    """Hands out the context for the next connection."""

    def __init__(self, tls: Tls, clock: Clock) -> None:
        """Make the first context, so that a bad file is found at the start. Raises `ConfigError`."""
        self._tls = tls
        self._clock = clock
        self._pair: KeyPair | None = None
        self._stamp = self._look()
        self._looked_at = clock.monotonic()
        self._context = build(tls, None)

    def context(self, pair: KeyPair | None = None) -> ssl.SSLContext:
        """The context to connect with; `pair` is a client certificate that came with a token. Raises `ConfigError`."""
        now = self._clock.monotonic()
        stamp = self._stamp
        if now - self._looked_at >= CHECK_PERIOD:
            self._looked_at, stamp = now, self._look()
        if pair != self._pair:
            self._context, self._pair, self._stamp = build(self._tls, pair), pair, stamp
        elif stamp != self._stamp:
            try:
                self._context, self._stamp = build(self._tls, pair), stamp
            except ConfigError as error:
                log.warning("changed certificates cannot be used, the last ones stay", error=str(error))
        return self._context

    def _look(self) -> Stamp:
        paths = (self._tls.authority.path, self._tls.certificate.path, self._tls.key.path)
        return tuple(_stamp(path) for path in paths if path)


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError as error:
        return (path, error.errno)
    return (path, status.st_ino, status.st_mtime_ns, status.st_size)


def build(tls: Tls, pair: KeyPair | None) -> ssl.SSLContext:
    """A context for those settings. `pair` takes the place of the configured client certificate.

    Raises:
        ConfigError: certificates or keys that cannot be used.
    """
    try:
        text = _read(tls.authority).decode("ascii") if tls.authority else None
        context = ssl.create_default_context(cadata=text)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(
            tls.authority.path or "certificate-authority-data", f"holds no certificate: {error}"
        ) from error
    # A cluster's own CA often lacks extensions that Python 3.13 began to insist on; Go does not ask for them either.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = Pem(data=pair.certificate) if pair else tls.certificate
    key = Pem(data=pair.key) if pair else tls.key
    if certificate:
        _load(context, certificate, key)
    return context


def _read(pem: Pem) -> bytes:
    return pem.data or Path(pem.path).read_bytes()


def _load(context: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    """OpenSSL takes a key from a file only: one of ours, readable by us alone and gone at once."""
    where = certificate.path or "client-certificate-data"
    try:
        with tempfile.TemporaryDirectory(prefix="dynamo-ctrl-") as folder:
            chain = Path(folder) / "pair.pem"
            chain.touch(mode=0o600)
            chain.write_bytes(_read(certificate) + b"\n" + _read(key))
            context.load_cert_chain(chain, password=b"")  # an encrypted key is refused, not asked for
    except (OSError, ValueError) as error:
        raise ConfigError(where, f"is no client certificate that fits its key: {error}") from error
