"""ECDSA on the curve P-256, enough to sign the certificates of a test cluster.

Plain integer arithmetic, neither fast (10 ms for a multiplication) nor hardened: the keys live as long as a test run and guard
a server on loopback.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, TypeAlias

Point: TypeAlias = "tuple[int, int] | None"
"""A point on the curve; `None` is the one at infinity."""

_P: Final = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_N: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G: Final = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def _add(a: Point, b: Point) -> Point:
    if a is None or b is None:
        return b if a is None else a
    if a[0] == b[0]:
        if (a[1] + b[1]) % _P == 0:
            return None
        slope = 3 * (a[0] * a[0] - 1) * pow(2 * a[1], -1, _P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, _P)
    x = (slope * slope - a[0] - b[0]) % _P
    return x, (slope * (a[0] - x) - a[1]) % _P


def _multiply(scalar: int) -> tuple[int, int]:
    total: Point = None
    power: Point = _G
    while scalar:
        if scalar & 1:
            total = _add(total, power)
        power = _add(power, power)
        scalar >>= 1
    assert total is not None, "a scalar between 1 and the order gives no infinity"
    return total


class PrivateKey:
    """A random signing key and its public point."""

    def __init__(self) -> None:
        self.secret = secrets.randbelow(_N - 1) + 1
        self.public = _multiply(self.secret)

    def sign(self, message: bytes) -> tuple[int, int]:
        """The signature (r, s) of the SHA-256 of `message`."""
        digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
        while True:
            nonce = secrets.randbelow(_N - 1) + 1
            r = _multiply(nonce)[0] % _N
            s = pow(nonce, -1, _N) * (digest + r * self.secret) % _N
            if r and s:
                return r, s
