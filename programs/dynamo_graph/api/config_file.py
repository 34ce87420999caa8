"""Reading the operator's configuration from its YAML file, with the rules between fields (P 7.1, 7.3).

Every failure is an `InvalidObject` that names the file, the field by its name in the file, and the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from dynamo_ctrl.objects.codec import invalid
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_graph.api.config import API_VERSION, KIND, Infrastructure, OperatorConfig, Rbac

ZERO = timedelta(0)


def load(path: str | Path) -> OperatorConfig:
    """The configuration in the file `path`. Raises `InvalidObject` with the first problem."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidObject(str(path), "", f"cannot be read: {error}") from error
    return parse(text, what=str(path))


def parse(text: str, *, what: str = KIND) -> OperatorConfig:
    """The configuration that `text` spells in YAML. Raises `InvalidObject` with the first problem."""
    try:
        tree: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidObject(what, "", f"is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(tree, dict):
        raise InvalidObject(what, "", "must be a YAML mapping")
    return of(tree, what=what)


def of(tree: JsonMap, *, what: str = KIND) -> OperatorConfig:
    """The configuration that the document `tree` holds. Raises `InvalidObject` with the first problem."""
    for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if tree.get(field) != wanted:
            raise InvalidObject(what, field, f"must be {wanted}")
    sections = {key: thaw(value) for key, value in tree.items() if key not in ("apiVersion", "kind", "metadata")}
    try:
        config = OperatorConfig.model_validate(sections)
    except ValidationError as error:
        raise invalid(what, "", error) from error
    for field, rule in problems(config):
        raise InvalidObject(what, field, rule)
    return config


def problems(config: OperatorConfig) -> Iterator[tuple[str, str]]:
    """Field and rule of everything that is wrong between the fields of `config`."""
    if config.leader_election.enabled and not config.leader_election.id:
        yield "leaderElection.id", "is required when leaderElection.enabled is true"
    yield from _namespace(config)
    for field, value in (
        ("sshSecretName", config.mpi.ssh_secret_name),
        ("sshSecretNamespace", config.mpi.ssh_secret_namespace),
    ):
        if not value:
            yield f"mpi.{field}", "is required"
    if config.cluster_wide:
        yield from ((field, "is required in cluster-wide mode") for field in _roles_not_named(config.rbac))
    if config.orchestrators.grove.termination_delay < ZERO:
        yield "orchestrators.grove.terminationDelay", "must not be negative"
    yield from _infrastructure(config.infrastructure)
    mesh = config.service_mesh
    if mesh.provider == "istio" and mesh.enabled is not False and mesh.istio.tls_mode == "MUTUAL":
        for field, value in (
            ("clientCertificate", mesh.istio.client_certificate),
            ("privateKey", mesh.istio.private_key),
        ):
            if not value:
                yield f"serviceMesh.istio.{field}", "is required when tlsMode is MUTUAL"


def _roles_not_named(rbac: Rbac) -> Iterator[str]:
    """The fields of cluster roles that a file leaves out, or empty."""
    for name in type(rbac).model_fields:
        if name not in rbac.model_fields_set or not getattr(rbac, name):
            yield f"rbac.{to_camel(name)}"


def _namespace(config: OperatorConfig) -> Iterator[tuple[str, str]]:
    if config.cluster_wide:
        return
    scope = config.namespace.scope
    if scope.lease_duration <= ZERO:
        yield "namespace.scope.leaseDuration", "must be positive"
    if scope.lease_renew_interval <= ZERO:
        yield "namespace.scope.leaseRenewInterval", "must be positive"
    if scope.lease_renew_interval >= scope.lease_duration:
        yield "namespace.scope.leaseRenewInterval", "must be below leaseDuration"


def _infrastructure(infra: Infrastructure) -> Iterator[tuple[str, str]]:
    at = "infrastructure"
    if infra.model_express_url and not _is_url(infra.model_express_url):
        yield f"{at}.modelExpressURL", "must be a URL"
    pairs = (
        ("tcpTLSCertPath", infra.tcp_tls_cert_path, "tcpTLSKeyPath", infra.tcp_tls_key_path),
        ("tcpTLSClientCertPath", infra.tcp_tls_client_cert_path, "tcpTLSClientKeyPath", infra.tcp_tls_client_key_path),
        (
            "natsTLSClientCertPath",
            infra.nats_tls_client_cert_path,
            "natsTLSClientKeyPath",
            infra.nats_tls_client_key_path,
        ),
    )
    for cert, cert_path, key, key_path in pairs:
        if bool(cert_path) != bool(key_path):
            missing = key if cert_path else cert
            yield f"{at}.{missing}", f"{cert} and {key} must be set together"
    server = bool(infra.tcp_tls_cert_path and infra.tcp_tls_key_path)
    if server and not infra.tcp_tls_ca_path:
        yield f"{at}.tcpTLSCAPath", "tcpTLSCAPath is required when tcpTLSCertPath and tcpTLSKeyPath are set"
    client = {
        "tcpTLSCAPath": infra.tcp_tls_ca_path,
        "tcpTLSClientCertPath": infra.tcp_tls_client_cert_path,
        "tcpTLSClientKeyPath": infra.tcp_tls_client_key_path,
        "tcpTLSClientCAPath": infra.tcp_tls_client_ca_path,
        "tcpTLSServerName": infra.tcp_tls_server_name,
    }
    if not server:
        for field, value in client.items():
            if value:
                yield f"{at}.{field}", "requires tcpTLSCertPath and tcpTLSKeyPath"
    if infra.tcp_tls_client_cert_path and not infra.tcp_tls_ca_path:
        yield f"{at}.tcpTLSClientCertPath", "requires tcpTLSCAPath"
    if infra.tcp_tls_server_name and not infra.tcp_tls_ca_path:
        yield f"{at}.tcpTLSServerName", "requires tcpTLSCAPath"
    if infra.nats_tls_client_cert_path and not infra.nats_tls_ca_path:
        yield f"{at}.natsTLSClientCertPath", "requires natsTLSCAPath"
    if (infra.nats_tls_ca_path or infra.nats_tls_client_cert_path) and not infra.nats_address.startswith("tls://"):
        yield f"{at}.natsAddress", "must begin with the scheme tls:// when a natsTLS field is set"


def _is_url(text: str) -> bool:
    try:
        return urlsplit(text).port != 0 and not any(letter.isspace() for letter in text)
    except ValueError:
        return False
