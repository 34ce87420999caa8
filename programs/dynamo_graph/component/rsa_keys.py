"""An RSA key pair for SSH, made here: the image of the manager holds neither OpenSSH nor a library for it (P 6.6).

Only the generation of keys is done, with the operating system's randomness; nothing is encrypted or signed. A test has the keys
checked by OpenSSH and OpenSSL.
"""

from __future__ import annotations

import asyncio
import base64
import math
import secrets
from collections.abc import Mapping
from typing import Final

from dynamo_graph.component.ssh_keys import PRIVATE_KEY, PUBLIC_KEY

BITS: Final = 2048
EXPONENT: Final = 65537
ROUNDS: Final = 64
"""Of the Miller-Rabin test: a composite passes with a probability below 2**-128."""
COMMENT: Final = "dynamo-operator"

_SMALL: Final = tuple(n for n in range(3, 2000, 2) if all(n % d for d in range(3, math.isqrt(n) + 1, 2)))


class RsaKeys:
    """Makes RSA key pairs of 2048 bits, in a thread: one takes one to three seconds."""

    async def __call__(self) -> Mapping[str, bytes]:
        """A new pair, as the data of its Secret."""
        return await asyncio.to_thread(key_pair)


def key_pair() -> dict[str, bytes]:
    """A private key in PKCS#1 PEM, and the public one as a line for `authorized_keys`."""
    p, q = _primes()
    n, phi = p * q, (p - 1) * (q - 1)
    d = pow(EXPONENT, -1, phi)
    numbers = (0, n, EXPONENT, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    wire = b"".join(map(_field, (b"ssh-rsa", _signed(EXPONENT), _signed(n))))
    public = f"ssh-rsa {base64.b64encode(wire).decode()} {COMMENT}\n"
    return {
        PRIVATE_KEY: _pem(_der(0x30, b"".join(_der(0x02, _signed(each)) for each in numbers))),
        PUBLIC_KEY: public.encode(),
    }


def _primes() -> tuple[int, int]:
    """Two primes of half the size that are not close to each other."""
    while True:
        p, q = _prime(), _prime()
        if abs(p - q) > 1 << (BITS // 2 - 100):
            return max(p, q), min(p, q)


def _prime() -> int:
    half = BITS // 2
    while True:
        candidate = secrets.randbits(half) | (0b11 << (half - 2)) | 1
        if math.gcd(candidate - 1, EXPONENT) == 1 and _is_prime(candidate):
            return candidate


def _is_prime(number: int) -> bool:
    if any(number % small == 0 for small in _SMALL):
        return False
    shift = ((number - 1) & -(number - 1)).bit_length() - 1
    odd = (number - 1) >> shift
    return all(_passes(number, secrets.randbelow(number - 3) + 2, odd, shift) for _ in range(ROUNDS))


def _passes(number: int, base: int, odd: int, shift: int) -> bool:
    power = pow(base, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(shift - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False


def _signed(number: int) -> bytes:
    """A number that is not negative, as both formats write it: big end first, and its first bit is not set."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _field(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def _der(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + content


def _pem(der: bytes) -> bytes:
    text = base64.b64encode(der).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----", ""]).encode()
