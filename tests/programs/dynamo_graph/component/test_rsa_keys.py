"""The SSH key pair is a real one (P 6.6)."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from dynamo_graph.component.rsa_keys import RsaKeys, key_pair


@pytest.fixture(scope="module")
def pair() -> Mapping[str, bytes]:
    return key_pair()


def integers(der: bytes) -> list[int]:
    """The numbers in a DER sequence of integers."""

    def element(at: int) -> tuple[int, int]:
        length, start = der[at + 1], at + 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(der[at + 2 : start], "big")
        return start, start + length

    at, end = element(0)
    assert end == len(der)
    found = []
    while at < end:
        assert der[at] == 2
        start, at = element(at)
        found.append(int.from_bytes(der[start:at], "big", signed=True))
    return found


def numbers(pair: Mapping[str, bytes]) -> list[int]:
    lines = pair["private.key"].decode().splitlines()
    assert (lines[0], lines[-1]) == ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----")
    assert max(map(len, lines)) == 64
    return integers(base64.b64decode("".join(lines[1:-1])))


@pytest.mark.parametrize("bits", [pytest.param(2048, id="T-POD-139 size")])
def test_the_numbers_of_a_private_key_fit_together(pair: Mapping[str, bytes], bits: int) -> None:
    version, n, e, d, p, q, dp, dq, qinv = numbers(pair)
    assert (version, e) == (0, 65537)
    assert n.bit_length() == bits
    assert p * q == n
    assert p > q
    assert abs(p - q).bit_length() > 900
    assert (d * e % (p - 1), d * e % (q - 1)) == (1, 1)
    assert (dp, dq) == (d % (p - 1), d % (q - 1))
    assert qinv * q % p == 1
    message = 123456789
    assert pow(pow(message, e, n), d, n) == message


def test_the_public_key_is_that_of_the_private_one(pair: Mapping[str, bytes]) -> None:
    kind, text, comment = pair["private.key.pub"].decode().split()
    assert (kind, comment) == ("ssh-rsa", "dynamo-operator")
    wire = base64.b64decode(text)
    fields = []
    while wire:
        size = int.from_bytes(wire[:4], "big")
        fields.append(wire[4 : 4 + size])
        wire = wire[4 + size :]
    assert fields[0] == b"ssh-rsa"
    assert [int.from_bytes(field, "big", signed=True) for field in fields[1:]] == [65537, numbers(pair)[1]]


def test_no_two_pairs_are_equal(pair: Mapping[str, bytes]) -> None:
    assert key_pair()["private.key"] != pair["private.key"]


def test_nothing_is_imported_before_a_pair_is_made() -> None:
    code = "import sys, dynamo_graph.component.program; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


@pytest.mark.real_loop
async def test_a_pair_is_made_beside_the_loop() -> None:
    made = await RsaKeys()()
    assert set(made) == {"private.key", "private.key.pub"}


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
def test_openssh_reads_it(pair: Mapping[str, bytes], tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(pair["private.key"])
    key.chmod(0o600)
    done = subprocess.run(["ssh-keygen", "-y", "-f", key], capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == pair["private.key.pub"].decode().split()[:2]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs OpenSSL")
def test_openssl_finds_nothing_wrong_with_it(pair: Mapping[str, bytes], tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(pair["private.key"])
    done = subprocess.run(
        ["openssl", "rsa", "-in", key, "-check", "-noout", "-text"], capture_output=True, text=True, check=True
    )
    assert "RSA key ok" in done.stdout + done.stderr
    assert re.search(r"\(2048 bit", done.stdout)
