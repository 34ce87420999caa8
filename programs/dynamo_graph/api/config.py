"""The operator's configuration (P 7): what changes rendering or behaviour, with the defaults of an installation.

A model that is made in Python checks types only; `config_file.load` also applies the rules between fields.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dynamo_ctrl.objects.duration import Duration

API_VERSION: Final = "operator.config.dynamo.nvidia.com/v1alpha1"
KIND: Final = "OperatorConfiguration"

PortNumber = Annotated[int, Field(ge=0, le=65535)]
"""A TCP port; 0 switches the server off."""

DiscoveryBackend = Literal["kubernetes", "etcd"]
"""Where runtimes find each other."""


class Settings(BaseModel):
    """Base of the sections: frozen, camelCase, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Scope(Settings):
    """The lease that marks a restricted operator's namespace."""

    lease_duration: Duration = timedelta(seconds=30)
    lease_renew_interval: Duration = timedelta(seconds=10)


class NamespaceSettings(Settings):
    """Which namespaces are reconciled."""

    restricted: str = ""
    scope: Scope = Scope()
    ignore_ephemeral: bool = False


class GroveSettings(Settings):
    """Grove: on, off, or found out."""

    enabled: bool | None = None
    termination_delay: Duration = timedelta(minutes=15)


class Switch(Settings):
    """On, off, or (absent) found out."""

    enabled: bool | None = None


class Orchestrators(Settings):
    """What may run a component."""

    grove: GroveSettings = GroveSettings()
    lws: Switch = Switch()
    kai_scheduler: Switch = Switch()
    volcano_scheduler: Switch = Switch()


class Seccomp(Settings):
    """The profile of Pods that can be checkpointed."""

    disabled: bool = False
    profile: str = "profiles/block-iouring.json"


class CheckpointSettings(Settings):
    """Checkpoints."""

    enabled: bool = False
    seccomp: Seccomp = Seccomp()


class GpuSettings(Settings):
    """Finding out what GPUs there are."""

    discovery_enabled: bool | None = None


class Infrastructure(Settings):
    """Addresses and certificate paths that every Pod is told. Empty means: not told."""

    nats_address: str = ""
    etcd_address: str = ""
    model_express_url: Annotated[str, Field(alias="modelExpressURL")] = ""
    prometheus_endpoint: str = ""
    nats_tls_ca_path: Annotated[str, Field(alias="natsTLSCAPath")] = ""
    nats_tls_client_cert_path: Annotated[str, Field(alias="natsTLSClientCertPath")] = ""
    nats_tls_client_key_path: Annotated[str, Field(alias="natsTLSClientKeyPath")] = ""
    tcp_tls_cert_path: Annotated[str, Field(alias="tcpTLSCertPath")] = ""
    tcp_tls_key_path: Annotated[str, Field(alias="tcpTLSKeyPath")] = ""
    tcp_tls_ca_path: Annotated[str, Field(alias="tcpTLSCAPath")] = ""
    tcp_tls_client_cert_path: Annotated[str, Field(alias="tcpTLSClientCertPath")] = ""
    tcp_tls_client_key_path: Annotated[str, Field(alias="tcpTLSClientKeyPath")] = ""
    tcp_tls_client_ca_path: Annotated[str, Field(alias="tcpTLSClientCAPath")] = ""
    tcp_tls_server_name: Annotated[str, Field(alias="tcpTLSServerName")] = ""


class Ingress(Settings):
    """How frontends are reached from outside."""

    virtual_service_gateway: str = ""
    controller_class_name: str = ""
    controller_tls_secret_name: Annotated[str, Field(alias="controllerTLSSecretName")] = ""
    host_suffix: str = ""


class Istio(Settings):
    """TLS of the mesh."""

    tls_mode: Literal["DISABLE", "SIMPLE", "ISTIO_MUTUAL", "MUTUAL"] = "SIMPLE"
    insecure_skip_verify: bool = True
    client_certificate: str = ""
    private_key: str = ""
    ca_certificates: str = ""


class ServiceMesh(Settings):
    """The service mesh."""

    enabled: bool | None = None
    provider: Literal["istio", ""] = ""
    istio: Istio = Istio()


class Rbac(Settings):
    """Cluster roles that accounts of the graphs are bound to. An operator without a file binds them to those of `config/rbac`."""

    planner_cluster_role_name: str = "dynamo-planner"
    dgdr_profiling_cluster_role_name: str = "dynamo-profiling"
    epp_cluster_role_name: str = "dynamo-epp"


class Mpi(Settings):
    """The SSH key pair of MPI jobs."""

    ssh_secret_name: str = ""
    ssh_secret_namespace: str = ""


class Discovery(Settings):
    """Where runtimes find each other."""

    backend: DiscoveryBackend = "kubernetes"


class MetricsServer(Settings):
    """The operator's own metrics."""

    bind_address: str = "0.0.0.0"  # noqa: S104  (the Pod's network is the boundary)
    port: PortNumber = 8080
    secure: bool = True


class HealthServer(Settings):
    """The operator's own health checks."""

    bind_address: str = "0.0.0.0"  # noqa: S104  (the Pod's network is the boundary)
    port: PortNumber = 8081


class WebhookServer(Settings):
    """The operator's webhooks."""

    host: str = "0.0.0.0"  # noqa: S104  (the Pod's network is the boundary)
    port: PortNumber = 9443
    cert_dir: str = ""
    cert_provision_mode: Literal["auto", "manual"] = "auto"
    secret_name: str = "webhook-server-cert"  # noqa: S105  (a name)
    service_name: str = ""


class Server(Settings):
    """The operator's servers."""

    metrics: MetricsServer = MetricsServer()
    health_probe: HealthServer = HealthServer()
    webhook: WebhookServer = WebhookServer()


class LeaderElection(Settings):
    """One active operator of several."""

    enabled: bool = False
    id: str = ""
    namespace: str = ""


class Logging(Settings):
    """The operator's log."""

    level: str = "info"
    format: Literal["json", "text"] = "json"


class Security(Settings):
    """Hardening of the servers."""

    enable_http2: Annotated[bool, Field(alias="enableHTTP2")] = False


class OperatorConfig(Settings):
    """The whole configuration. `OperatorConfig()` is what an operator without a file works with."""

    namespace: NamespaceSettings = NamespaceSettings()
    orchestrators: Orchestrators = Orchestrators()
    dra: Switch = Switch()
    checkpoint: CheckpointSettings = CheckpointSettings()
    gpu: GpuSettings = GpuSettings()
    infrastructure: Infrastructure = Infrastructure()
    ingress: Ingress = Ingress()
    service_mesh: ServiceMesh = ServiceMesh()
    rbac: Rbac = Rbac()
    mpi: Mpi = Mpi()
    discovery: Discovery = Discovery()
    server: Server = Server()
    leader_election: LeaderElection = LeaderElection()
    logging: Logging = Logging()
    security: Security = Security()

    @property
    def cluster_wide(self) -> bool:
        """Whether every namespace is reconciled."""
        return not self.namespace.restricted
