"""NO_PROXY, as Go reads it."""

from __future__ import annotations

import pytest

from dynamo_ctrl.engine.kubernetes.config import Address, ConfigError
from dynamo_ctrl.engine.kubernetes.proxy import bypassed, from_environment

HTTPS = "https://"


@pytest.mark.parametrize(
    ("server", "no_proxy", "direct"),
    [
        ("https://api.example.com", "", False),
        ("https://api.example.com", "*", True),
        ("https://api.example.com", "example.com", True),
        ("https://api.example.com", ".example.com", True),
        ("https://api.example.com", "*.example.com", True),
        ("https://example.com", "example.com", True),
        ("https://example.com", ".example.com", False),
        ("https://badexample.com", "example.com", False),
        ("https://api.example.com", " other.com , Example.COM ", True),
        ("https://api.example.com:6443", "example.com:6443", True),
        ("https://api.example.com:6443", "example.com:443", False),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3", "11.0.0.0/8,192.168.0.1", False),
        ("https://10.1.2.3", "3", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://[fd00::1]:6443", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://localhost:6443", "", True),
        ("https://127.0.0.1:6443", "", True),
        ("https://[::1]:6443", "", True),
    ],
)
def test_no_proxy_takes_out_hosts_networks_and_domains(server: str, no_proxy: str, direct: bool) -> None:
    assert bypassed(Address.parse(server, "server"), no_proxy) is direct


def test_the_proxy_is_the_one_of_the_scheme_in_either_spelling() -> None:
    https, http = Address.parse("https://a.test", ""), Address.parse("http://a.test", "")
    environ = {"https_proxy": "one.test:3128", "HTTP_PROXY": "http://two.test"}
    assert str(from_environment(https, environ)) == "http://one.test:3128"
    assert str(from_environment(http, environ)) == "http://two.test:80"
    assert from_environment(https, {"HTTP_PROXY": "http://two.test"}) is None


def test_a_proxy_of_a_kind_that_we_cannot_use_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY: scheme 'socks5'"):
        from_environment(Address.parse("https://a.test", ""), {"HTTPS_PROXY": "socks5://x"})
