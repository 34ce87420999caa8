"""What the rendering of one Pod depends on, gathered once: the component, where it runs, and the operator's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.component_deployment import ComponentDeploymentSpec, DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.names import Account, Label
from dynamo_graph.api.predicates import dynamo_namespace
from dynamo_graph.render import template
from dynamo_graph.render.deployer import LEADER_WORKER_SET, Deployer, Role
from dynamo_graph.render.discovery import Discovery, discovery
from dynamo_graph.render.errors import during
from dynamo_graph.render.gpu_claims import Devices, NoDevices
from dynamo_graph.render.gpu_shape import container_gpus
from dynamo_graph.render.pull_secrets import PullSecrets
from dynamo_graph.render.runtime_version import RuntimeVersion, resolve


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a component deployment finds around it.

    Attributes:
        config: the operator's configuration.
        secrets: the pull secrets of its namespace, by registry.
        account: the account of Pods that name none (`discovery.fallback_account`).
        devices: where claims of dynamic resources are looked up.
    """

    config: OperatorConfig = field(default_factory=OperatorConfig)
    secrets: PullSecrets = field(default_factory=PullSecrets)
    account: str = Account.DEFAULT
    devices: Devices = field(default_factory=NoDevices)


@dataclass(frozen=True, kw_only=True)
class PodContext:
    """One component deployment, read for rendering.

    Attributes:
        component: its spec.
        name: its name.
        namespace: its Kubernetes namespace.
        graph: the name of the graph that owns it, empty without one.
        dynamo_namespace: where its runtimes register, without a worker's suffix.
        labels: its own labels.
        annotations: its own annotations.
        around: what it finds around it.
        role: the Pod's part in its engine.
        deployer: who deploys the Pods of an engine that spans nodes.
    """

    component: ComponentDeploymentSpec
    name: str
    namespace: str
    graph: str
    dynamo_namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    around: Surroundings
    role: Role = "main"
    deployer: Deployer = LEADER_WORKER_SET

    @classmethod
    def of(cls, deployment: DynamoComponentDeployment, around: Surroundings) -> PodContext:
        """The context of a component deployment. A deployment without a graph stands for one of its own name."""
        metadata, component, graph = deployment.metadata, deployment.spec, deployment.graph_name
        computed = dynamo_namespace(component, graph=graph or metadata.name, namespace=metadata.namespace)
        return cls(
            component=component,
            name=metadata.name,
            namespace=metadata.namespace,
            graph=graph,
            dynamo_namespace=metadata.labels.get(Label.NAMESPACE) or computed,
            labels=metadata.labels,
            annotations=metadata.annotations,
            around=around,
        )

    def at(self, role: Role) -> PodContext:
        """The same for a Pod with that part."""
        return replace(self, role=role)

    @property
    def config(self) -> OperatorConfig:
        """The operator's configuration."""
        return self.around.config

    @property
    def parent(self) -> str:
        """The name that Pods are told as that of their graph."""
        return self.graph or self.name

    @property
    def template(self) -> JsonMap:
        """The user's Pod template, with what it inherited."""
        return self.component.pod_template or {}

    @property
    def main(self) -> JsonMap:
        """The user's container `main`."""
        return template.main_container(self.template)

    @property
    def discovery(self) -> Discovery:
        """Backend and mode of discovery. Raises `RenderError`."""
        return discovery(template.annotations_of(self.template), self.config)

    @property
    def version(self) -> RuntimeVersion | None:
        """The version of the runtime in `main`. Raises `RenderError`."""
        return resolve(self.main.get("image") or "", self.component.runtime_version_override)

    @property
    def worker_suffix(self) -> str:
        """The generation that a worker belongs to, from the label of its Pods."""
        return template.labels_of(self.template).get(Label.WORKER_HASH, "") if self.component.is_worker else ""

    @property
    def gpus(self) -> int:
        """The GPUs of `main`, that is of one node. Raises `RenderError`."""
        pod = template.pod_spec(self.template)
        with during("failed to resolve container GPUs: "):
            return container_gpus(self.main, pod, self.around.devices, "podTemplate.spec.containers[main]")

    @property
    def leader_host(self) -> str:
        """The name of the leader of the Pod's engine."""
        return self.deployer.leader_host(self.component.name)

    @property
    def rank(self) -> str:
        """The Pod's rank in its engine."""
        return self.deployer.worker_rank if self.role == "worker" else "0"

    @property
    def rank_needs_shell(self) -> bool:
        """Whether a shell has to work the rank out."""
        return self.role == "worker" and self.deployer.rank_needs_shell
