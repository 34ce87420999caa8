"""An RSA key pair for SSH (P 6.6). A test has the keys checked by OpenSSH and OpenSSL.

Making one needs the operating system's randomness, so it is no part of a program: programs ask for it by `CreateOnce`, and it is
made only where none is there. The library is imported when the first pair is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from dynamo_graph.component.ssh_keys import PRIVATE_KEY, PUBLIC_KEY

BITS: Final = 2048
EXPONENT: Final = 65537
COMMENT: Final = b"dynamo-operator"


class RsaKeys:
    """Makes RSA key pairs of 2048 bits, in a thread: one takes up to some tenths of a second."""

    async def __call__(self) -> Mapping[str, bytes]:
        """A new pair, as the data of its Secret."""
        return await asyncio.to_thread(key_pair)


def key_pair() -> dict[str, bytes]:
    """A private key in PKCS#1 PEM, and the public one as a line for `authorized_keys`."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=EXPONENT, key_size=BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return {PRIVATE_KEY: private, PUBLIC_KEY: b"%s %s\n" % (public, COMMENT)}
