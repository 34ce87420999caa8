"""The certificates hold in a strict TLS handshake, and only there where they should."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from envtest.certificates import Authority, Pair


def context(purpose: ssl.Purpose, trust: Authority, pair: Pair | None, directory: Path) -> ssl.SSLContext:
    made = ssl.create_default_context(purpose, cadata=trust.certificate.decode())
    made.verify_flags |= ssl.VERIFY_X509_STRICT
    if pair is not None:
        file = directory / f"{purpose.name}.pem"
        file.write_bytes(pair.certificate + pair.key)
        made.load_cert_chain(file)
    return made


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> dict[str, Any]:
    """The certificate that the server saw of the client."""
    ours, theirs = socket.socketpair()
    seen: list[Any] = []

    def serve() -> None:
        try:
            with server.wrap_socket(theirs, server_side=True) as connection:
                seen.append(connection.getpeercert())
                connection.send(b"!")
        except (ssl.SSLError, OSError):
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(ours, server_hostname=name) as connection:
            assert connection.recv(1) == b"!"
    finally:
        ours.close()
        thread.join(10)
    subject: dict[str, Any] = seen[0]
    return subject


def test_server_and_user_trust_each_other_and_the_user_is_named(tmp_path: Path) -> None:
    authority = Authority()
    server = context(ssl.Purpose.CLIENT_AUTH, authority, authority.server(["localhost"], ["127.0.0.1"]), tmp_path)
    server.verify_mode = ssl.CERT_REQUIRED
    client = context(ssl.Purpose.SERVER_AUTH, authority, authority.user("bob", ["readers", "writers"]), tmp_path)
    subject = [pair for relative in handshake(server, client, "127.0.0.1")["subject"] for pair in relative]
    assert subject == [("organizationName", "readers"), ("organizationName", "writers"), ("commonName", "bob")]


@pytest.mark.parametrize(("stranger", "name"), [(True, "localhost"), (False, "elsewhere")])
def test_another_authority_and_another_name_are_refused(tmp_path: Path, stranger: bool, name: str) -> None:
    authority = Authority()
    server = context(ssl.Purpose.CLIENT_AUTH, authority, authority.server(["localhost"], []), tmp_path)
    client = context(ssl.Purpose.SERVER_AUTH, Authority() if stranger else authority, None, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, client, name)
