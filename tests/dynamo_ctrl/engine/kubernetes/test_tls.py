"""Contexts out of certificates: what cannot be used is told, what changes is followed, nothing is left on disk."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.kubernetes.config import ConfigError, Pem, Tls
from dynamo_ctrl.engine.kubernetes.credentials import KeyPair
from dynamo_ctrl.engine.kubernetes.tls import CHECK_PERIOD, TlsContexts, build

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Certificates


def test_a_server_is_verified_by_default(certificates: Certificates) -> None:
    context = build(certificates.trust, None)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(context.get_ca_certs()) == 1


def test_without_an_authority_the_systems_own_is_asked(certificates: Certificates) -> None:
    assert build(Tls(), None).verify_mode is ssl.CERT_REQUIRED


def test_insecure_trusts_any_server() -> None:
    context = build(Tls(insecure=True), None)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"x", "holds no certificate"), (b"\xff", "holds no certificate"), (None, "holds no certificate")],
)
def test_a_bad_authority_is_told_with_its_file(content: bytes | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as raised:
        TlsContexts(Tls(authority=Pem(str(path))), ManualClock())
    assert raised.value.where == str(path)
    with pytest.raises(ConfigError, match="certificate-authority-data"):
        build(Tls(authority=Pem(data=b"x")), None)


def test_a_client_certificate_that_does_not_fit_its_key_is_told_without_the_key(certificates: Certificates) -> None:
    other = certificates.authority.user("bob")
    tls = Tls(certificate=Pem(data=certificates.user.certificate), key=Pem(data=other.key))
    with pytest.raises(ConfigError, match="fits its key") as raised:
        build(tls, None)
    assert "PRIVATE" not in str(raised.value)


def test_a_key_is_not_left_on_disk(certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    build(Tls(certificate=Pem(data=certificates.user.certificate), key=Pem(data=certificates.user.key)), None)
    assert list(tmp_path.iterdir()) == []


def test_the_context_stays_the_same_until_a_file_changes(certificates: Certificates, tmp_path: Path) -> None:
    path, clock = tmp_path / "ca.crt", ManualClock()
    path.write_bytes(certificates.authority.certificate)
    contexts = TlsContexts(Tls(authority=Pem(str(path))), clock)
    first = contexts.context()
    clock.advance(CHECK_PERIOD)
    assert contexts.context() is first
    path.write_bytes(certificates.authority.certificate * 2)
    assert contexts.context() is first  # not looked at yet
    clock.advance(CHECK_PERIOD)
    second = contexts.context()
    assert second is not first
    assert contexts.context() is second


def test_a_change_that_cannot_be_used_leaves_the_last_good_context_and_is_told(
    certificates: Certificates, tmp_path: Path
) -> None:
    path, clock = tmp_path / "ca.crt", ManualClock()
    path.write_bytes(certificates.authority.certificate)
    contexts = TlsContexts(Tls(authority=Pem(str(path))), clock)
    first = contexts.context()
    path.unlink()
    clock.advance(CHECK_PERIOD)
    with structlog.testing.capture_logs() as logs:
        assert contexts.context() is first
        assert contexts.context() is first
    assert len(logs) == 1
    path.write_bytes(certificates.authority.certificate)
    clock.advance(CHECK_PERIOD)
    assert contexts.context() is not None


def test_a_certificate_from_a_plugin_takes_the_place_of_the_configured_one(certificates: Certificates) -> None:
    contexts = TlsContexts(certificates.trust, ManualClock())
    pair = KeyPair(certificates.user.certificate, certificates.user.key)
    plain, own = contexts.context(), contexts.context(pair)
    assert own is not plain
    assert contexts.context(pair) is own
    with pytest.raises(ConfigError):
        contexts.context(KeyPair(b"x", b"y"))
    assert contexts.context(pair) is own
