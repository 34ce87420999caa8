"""One component of a graph: the shape that a graph's `components[]` and the spec of a component deployment share (G 1.4)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dynamo_ctrl.objects.schema.marks import Atomic, Int32, JsonTree, ListMap, Quantity, Rule, ServerDefault, Structural
from dynamo_graph.api import kubernetes
from dynamo_graph.api.cel import COMPONENT_RULES, EPP_CONFIG_RULES
from dynamo_graph.api.experimental import ComponentExperimental
from dynamo_graph.api.model import Model
from dynamo_graph.api.topology import ComponentTopology

ComponentType = Literal["frontend", "worker", "prefill", "decode", "planner", "epp"]
"""What a component is."""

BackendFramework = Literal["sglang", "vllm", "trtllm"]
"""The inference engines."""

ComponentName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$")]
"""A component's name. Case is kept in labels and status keys and lowered in names of objects."""

NonNegative = Annotated[Int32, Field(ge=0)]
"""A count."""


class Multinode(Model):
    """One engine over several nodes."""

    node_count: Annotated[Int32, Field(ge=2), ServerDefault()] = 2
    """Nodes of one engine."""


class Role(Model):
    """One role of a multinode component."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """Leader or worker."""


class ModelReference(Model):
    """The model that a component serves."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the model, as Qwen/Qwen3-0.6B."""
    revision: str = ""
    """Revision of the model."""


class ScalingAdapter(Model):
    """Its presence hands the replica count to a scaling adapter."""


class ConfigMapKey(Model):
    """A key of a ConfigMap."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the ConfigMap."""
    key: str = ""
    """Key in it; epp-config-dynamo.yaml when empty."""


class EndpointPickerConfig(Model):
    """Configuration of an endpoint picker: a reference or the text itself."""

    rules: ClassVar[tuple[Rule, ...]] = EPP_CONFIG_RULES

    config_map_ref: Annotated[ConfigMapKey, Atomic()] | None = None
    """Where the configuration is."""
    config: JsonTree | None = None
    """The configuration itself."""


class CompilationCache(Model):
    """A volume that keeps compiled kernels."""

    pvc_name: Annotated[str, Field(min_length=1, max_length=253)]
    """Name of the claim; also the name of the volume."""
    mount_path: str = ""
    """Where it is mounted; only vLLM has a default."""


class EnvVar(Model):
    """An environment variable."""

    name: Annotated[str, Field(min_length=1)]
    """Its name."""
    value: str | None = None
    """Its text."""
    value_from: Annotated[JsonTree, Structural(kubernetes.env_source)] | None = None
    """Where its text comes from."""


class Component(Model):
    """One component of a graph."""

    rules: ClassVar[tuple[Rule, ...]] = COMPONENT_RULES

    name: ComponentName
    """Stable identity of the component."""
    type: ComponentType | None = None
    """What it is; fixed once set."""
    runtime_version_override: (
        Annotated[str, Field(max_length=14, pattern=r"^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})$")]
        | None
    ) = None
    """Version of the runtime in the image, when its tag does not say it."""
    global_dynamo_namespace: bool = False
    """Register in the namespace that all graphs share."""
    pod_template: Annotated[JsonTree, Structural(kubernetes.pod_template)] | None = None
    """Template of its Pods, as `kubectl explain podtemplate.template` tells; defaults are merged into the container main."""
    replicas: NonNegative | None = None
    """Number of engines."""
    min_available: Annotated[Int32, Field(ge=1)] | None = None
    """Engines that are scheduled together or not at all."""
    multinode: Multinode | None = None
    """One engine over several nodes."""
    roles: Annotated[tuple[Role, ...], Field(max_length=8), ListMap("name")] = ()
    """Roles of a multinode component."""
    shared_memory_size: Quantity | None = None
    """Size of /dev/shm: 8Gi when absent, none when 0."""
    model_ref: ModelReference | None = None
    """Model that it serves."""
    scaling_adapter: ScalingAdapter | None = None
    """Hand the replica count to a scaling adapter."""
    epp_config: EndpointPickerConfig | None = None
    """Configuration of a legacy endpoint picker."""
    frontend_sidecar: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """Container that gets the defaults of a frontend."""
    compilation_cache: CompilationCache | None = None
    """Volume for compiled kernels."""
    topology_constraint: ComponentTopology | None = None
    """Where the Pods of one engine may be spread."""
    experimental: ComponentExperimental | None = None
    """Settings that may change."""

    @property
    def nodes(self) -> int:
        """Nodes of one engine."""
        return self.multinode.node_count if self.multinode else 1

    @property
    def is_multinode(self) -> bool:
        """Whether one engine spans nodes."""
        return self.nodes > 1

    @property
    def is_worker(self) -> bool:
        """Whether it runs an engine and belongs to a worker generation."""
        return self.type in WORKER_TYPES

    @property
    def desired_replicas(self) -> int:
        """The number of engines where a number is needed."""
        return 1 if self.replicas is None else self.replicas


WORKER_TYPES = frozenset({"worker", "prefill", "decode"})
"""Component types that run an engine."""
