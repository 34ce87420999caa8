"""The engine over a kubernetes_asyncio client that is there already."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes_asyncio import client as kubernetes
from kubernetes_asyncio import config as loader

from dynamo_ctrl.engine.kubernetes import ConfigError, from_client
from dynamo_ctrl.engine.kubernetes.config import Address, Pem
from dynamo_ctrl.engine.kubernetes.credentials import CredentialsUnavailable
from dynamo_ctrl.engine.kubernetes.existing import cluster_config
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.builtin.core import NAMESPACE


def configuration(**settings: Any) -> kubernetes.Configuration:
    found = kubernetes.Configuration(host="https://api.example:6443")
    for name, value in settings.items():
        setattr(found, name, value)
    return found


def test_server_trust_certificates_and_proxy_are_taken_over() -> None:
    found = cluster_config(
        configuration(
            ssl_ca_cert="/ca", cert_file="/cert", key_file="/key", tls_server_name="name", proxy="http://proxy:3128"
        )
    )
    assert str(found.server) == "https://api.example:6443"
    assert (found.tls.authority, found.tls.certificate, found.tls.key) == (Pem("/ca"), Pem("/cert"), Pem("/key"))
    assert (found.tls.server_name, found.tls.insecure) == ("name", False)
    assert found.proxy == Address("http", "proxy", 3128)


def test_a_client_that_verifies_nothing_stays_so() -> None:
    assert cluster_config(configuration(verify_ssl=False)).tls.insecure


@pytest.mark.parametrize(
    ("settings", "field"), [({"host": "ftp://x"}, "host"), ({"proxy": "socks5://proxy:1"}, "proxy")]
)
def test_what_cannot_be_used_is_named(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=f"the client's configuration: {field}: scheme"):
        cluster_config(configuration(**settings))


async def test_the_token_is_asked_for_before_each_request_through_the_hook() -> None:
    numbers = iter(range(9))

    async def refresh(found: kubernetes.Configuration) -> None:
        found.api_key["BearerToken"] = f"Bearer token-{next(numbers)}"

    credentials = cluster_config(
        configuration(api_key={"BearerToken": "Bearer old"}, refresh_api_key_hook=refresh)
    ).credentials
    assert await credentials.authorization() == "Bearer token-0"
    assert await credentials.authorization() == "Bearer token-1"
    assert await credentials.renew("Bearer token-1")


async def test_a_token_that_stays_the_same_is_not_tried_again() -> None:
    credentials = cluster_config(configuration(api_key={"BearerToken": "Bearer same"})).credentials
    assert await credentials.authorization() == "Bearer same"
    assert not await credentials.renew("Bearer same")


async def test_a_hook_that_fails_tells_no_secret() -> None:
    def refresh(found: object) -> None:
        raise RuntimeError("secret")

    credentials = cluster_config(
        configuration(api_key={"BearerToken": "Bearer old"}, refresh_api_key_hook=refresh)
    ).credentials
    with pytest.raises(CredentialsUnavailable, match=r"refreshing the token failed: RuntimeError$"):
        await credentials.authorization()


async def test_user_and_password_and_nobody() -> None:
    known = cluster_config(configuration(username="user", password="word")).credentials
    assert await known.authorization() == "Basic dXNlcjp3b3Jk"
    assert await cluster_config(configuration()).credentials.authorization() == ""


@pytest.mark.real_loop
async def test_it_talks_to_the_cluster_of_the_client(cluster: Any) -> None:
    found = kubernetes.Configuration()
    await loader.load_kube_config(config_file=str(cluster.kubeconfig), client_configuration=found)
    async with from_client(found) as engine:
        page = await engine.list(NAMESPACE, ListOptions())
    assert "default" in [item.metadata.name for item in map(NAMESPACE.decode, page.items)]
