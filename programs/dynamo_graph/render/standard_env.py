"""The environment that every container with a Dynamo runtime gets (G 1.10; P 3.3, 5.6)."""

from __future__ import annotations

from typing import Final

from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.names import Port
from dynamo_graph.render import env
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.runtime_version import HEALTH_CHECK, STRICT_PREFIX, RuntimeVersion, at_least

WORKER_SUFFIX: Final = "DYN_NAMESPACE_WORKER_SUFFIX"
GPU_VISIBILITY: Final = "NVIDIA_VISIBLE_DEVICES"


def common(context: PodContext, *, component: str, container: str) -> env.Env:
    """Who the Pod is and how it finds others; `component` is the component type that it registers as."""
    return [
        *env.variables(
            {
                "DYN_NAMESPACE": context.dynamo_namespace,
                "DYN_COMPONENT": component,
                "DYN_PARENT_DGD_K8S_NAME": context.parent,
                "DYN_PARENT_DGD_K8S_NAMESPACE": context.namespace,
            }
        ),
        env.field_reference("POD_NAME", "metadata.name"),
        env.field_reference("POD_NAMESPACE", "metadata.namespace"),
        env.field_reference("POD_UID", "metadata.uid"),
        *context.discovery.env(container),
    ]


def infrastructure(config: OperatorConfig) -> env.Env:
    """Addresses and certificate paths that are configured."""
    infra = config.infrastructure
    values = {
        "NATS_SERVER": infra.nats_address,
        "ETCD_ENDPOINTS": infra.etcd_address,
        "MODEL_EXPRESS_URL": infra.model_express_url,
        "PROMETHEUS_ENDPOINT": infra.prometheus_endpoint,
        "NATS_TLS_CA_CERT_PATH": infra.nats_tls_ca_path,
        "NATS_TLS_CLIENT_CERT_PATH": infra.nats_tls_client_cert_path,
        "NATS_TLS_CLIENT_KEY_PATH": infra.nats_tls_client_key_path,
        "DYN_TCP_TLS_CERT_PATH": infra.tcp_tls_cert_path,
        "DYN_TCP_TLS_KEY_PATH": infra.tcp_tls_key_path,
        "DYN_TCP_TLS_CA_CERT_PATH": infra.tcp_tls_ca_path,
        "DYN_TCP_TLS_CLIENT_CERT_PATH": infra.tcp_tls_client_cert_path,
        "DYN_TCP_TLS_CLIENT_KEY_PATH": infra.tcp_tls_client_key_path,
        "DYN_TCP_TLS_CLIENT_CA_CERT_PATH": infra.tcp_tls_client_ca_path,
        "DYN_TCP_TLS_SERVER_NAME": infra.tcp_tls_server_name,
    }
    return env.variables({name: value for name, value in values.items() if value})


def worker(version: RuntimeVersion | None, suffix: str) -> env.Env:
    """An engine; `suffix` is its generation."""
    values = {
        "DYN_SYSTEM_ENABLED": "true",  # a 0.6 runtime opens no system port without it
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
        "DYN_SYSTEM_PORT": str(Port.SYSTEM),
        "DYN_HEALTH_CHECK_ENABLED": "true" if at_least(version, HEALTH_CHECK) else "false",
        "DYN_FORWARDPASS_METRIC_PORT": str(Port.FORWARD_PASS_METRICS),
        "NIXL_TELEMETRY_ENABLE": "n",
        "NIXL_TELEMETRY_EXPORTER": "prometheus",
        "NIXL_TELEMETRY_PROMETHEUS_PORT": str(Port.NIXL),
    }
    return env.variables(values | ({WORKER_SUFFIX: suffix} if suffix else {}))


def frontend(namespace: str, version: RuntimeVersion | None, *, gpus: bool) -> env.Env:
    """A frontend; one that asks for no GPU must not see those of its node."""
    values = {
        "DYNAMO_PORT": str(Port.HTTP),
        "DYN_HTTP_PORT": str(Port.HTTP),
        "DYN_NAMESPACE_PREFIX": namespace,
    } | _strict(version)
    return env.variables(values if gpus else values | {GPU_VISIBILITY: "void"})


def endpoint_picker(namespace: str, version: RuntimeVersion | None, *, native: bool) -> env.Env:
    """An endpoint picker; a native one reads its configuration from its image."""
    values = {
        "USE_STREAMING": "true",
        "RUST_LOG": "info",
        "DYN_ENFORCE_DISAGG": "false",
        "DYN_NAMESPACE_PREFIX": namespace,
    }
    return env.variables(values | {"HOME": "/home/dynamo"} | _strict(version) if native else values)


def planner() -> env.Env:
    """A planner."""
    return env.variables({"PLANNER_PROMETHEUS_PORT": str(Port.PLANNER_METRICS), "DYN_SYSTEM_PORT": str(Port.SYSTEM)})


def _strict(version: RuntimeVersion | None) -> dict[str, str]:
    return {"DYN_NAMESPACE_PREFIX_STRICT": "true"} if at_least(version, STRICT_PREFIX) else {}
