"""The certificates of one cluster: an authority, the server's certificate, and one for each user that a test asks for.

Written with the standard library alone, so that the harness needs no package and no openssl command. A user's certificate names
it the way Kubernetes reads it: the common name is the user, each organisation is a group.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from envtest.p256 import PrivateKey

VALID_FOR: Final = timedelta(days=30)
"""How long a certificate is good; it begins an hour ago, for clocks that differ."""


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, *parts)


def _integer(value: int) -> bytes:
    return _der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _oid(text: str) -> bytes:
    first, second, *rest = map(int, text.split("."))
    content = bytearray((first * 40 + second,))
    for arc in rest:
        groups = [arc & 0x7F]
        while arc := arc >> 7:
            groups.append(0x80 | (arc & 0x7F))
        content += bytes(reversed(groups))
    return _der(0x06, bytes(content))


def _bits(content: bytes, unused: int = 0) -> bytes:
    return _der(0x03, bytes((unused,)), content)


def _octets(content: bytes) -> bytes:
    return _der(0x04, content)


def _time(moment: datetime) -> bytes:
    return _der(0x17, moment.strftime("%y%m%d%H%M%SZ").encode())


def _name(common_name: str, organisations: Sequence[str] = ()) -> bytes:
    parts = [("2.5.4.10", organisation) for organisation in organisations] + [("2.5.4.3", common_name)]
    return _sequence(*(_der(0x31, _sequence(_oid(oid), _der(0x0C, text.encode()))) for oid, text in parts))


def _extension(oid: str, value: bytes, *, critical: bool = False) -> bytes:
    return _sequence(_oid(oid), _der(0x01, b"\xff") if critical else b"", _octets(value))


_CURVE: Final = _oid("1.2.840.10045.3.1.7")
_ECDSA_SHA256: Final = _sequence(_oid("1.2.840.10045.4.3.2"))
_SERVER_AUTH: Final = "1.3.6.1.5.5.7.3.1"
_CLIENT_AUTH: Final = "1.3.6.1.5.5.7.3.2"


def pem(label: str, content: bytes) -> bytes:
    """`content` in PEM armour."""
    text = base64.b64encode(content).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", "")).encode()


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, both in PEM."""

    certificate: bytes
    key: bytes


def private_key_pem(key: PrivateKey) -> bytes:
    """`key` as PEM; readers compute the public half themselves."""
    return pem("EC PRIVATE KEY", _sequence(_integer(1), _octets(key.secret.to_bytes(32, "big")), _der(0xA0, _CURVE)))


class Authority:
    """A certificate authority of its own for one cluster."""

    def __init__(self, name: str = "envtest", now: datetime | None = None) -> None:
        now = now or datetime.now(UTC)
        self._validity = _sequence(_time(now - timedelta(hours=1)), _time(now + VALID_FOR))
        self._key = PrivateKey()
        self._name = _name(name)
        self._key_id = _key_id(self._key)
        extensions = (
            _extension("2.5.29.19", _sequence(_der(0x01, b"\xff")), critical=True),
            _extension("2.5.29.15", _bits(b"\x06", 1), critical=True),
        )
        self.pair = Pair(self._issue(self._name, self._key, extensions), private_key_pem(self._key))

    @property
    def certificate(self) -> bytes:
        """What clients need to trust the servers of this cluster."""
        return self.pair.certificate

    def server(self, names: Sequence[str], addresses: Sequence[str]) -> Pair:
        """A serving certificate for those DNS names and IP addresses."""
        alternatives = [_der(0x82, name.encode()) for name in names]
        alternatives += [_der(0x87, ipaddress.ip_address(address).packed) for address in addresses]
        return self._leaf(_name(names[0]), _SERVER_AUTH, (_extension("2.5.29.17", _sequence(*alternatives)),))

    def user(self, name: str, groups: Sequence[str] = ()) -> Pair:
        """A client certificate for the user `name` in `groups`."""
        return self._leaf(_name(name, groups), _CLIENT_AUTH, ())

    def _leaf(self, subject: bytes, usage: str, extensions: tuple[bytes, ...]) -> Pair:
        key = PrivateKey()
        common = (
            _extension("2.5.29.15", _bits(b"\x80", 7), critical=True),
            _extension("2.5.29.37", _sequence(_oid(usage))),
        )
        return Pair(self._issue(subject, key, (*common, *extensions)), private_key_pem(key))

    def _issue(self, subject: bytes, key: PrivateKey, extensions: tuple[bytes, ...]) -> bytes:
        identifiers = (
            _extension("2.5.29.14", _octets(_key_id(key))),
            _extension("2.5.29.35", _sequence(_der(0x80, self._key_id))),
        )
        body = _sequence(
            _der(0xA0, _integer(2)),
            _integer(secrets.randbits(120) + 1),
            _ECDSA_SHA256,
            self._name,
            self._validity,
            subject,
            _public(key),
            _der(0xA3, _sequence(*identifiers, *extensions)),
        )
        signature = _sequence(*map(_integer, self._key.sign(body)))
        return pem("CERTIFICATE", _sequence(body, _ECDSA_SHA256, _bits(signature)))


def _point(key: PrivateKey) -> bytes:
    x, y = key.public
    return b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")


def _public(key: PrivateKey) -> bytes:
    return _sequence(_sequence(_oid("1.2.840.10045.2.1"), _CURVE), _bits(_point(key)))


def _key_id(key: PrivateKey) -> bytes:
    return hashlib.sha1(_point(key), usedforsecurity=False).digest()
