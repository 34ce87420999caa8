"""Settings under `experimental`, of a component and of a graph (G 1.2, 1.4)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dynamo_ctrl.objects.schema.marks import Int32, JsonTree, Rule, ServerDefault
from dynamo_graph.api.cel import CHECKPOINT_RULES, EXPERIMENTAL_RULES, KV_TRANSFER_RULES
from dynamo_graph.api.model import Model
from dynamo_graph.api.topology import DomainName

_DNS_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_LABEL_KEY = rf"^({_DNS_LABEL}(\.{_DNS_LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"

GpuLayout = Literal["IntraPod", "InterPod"]
"""Whether weight servers and shadows share the engine's Pod."""


class GpuMemoryService(Model):
    """Weights that outlive an engine's process."""

    mode: Annotated[GpuLayout, ServerDefault()] = "IntraPod"
    """Where the weight server runs."""
    device_class_name: str = ""
    """Device class of the GPUs."""


class Failover(Model):
    """A shadow engine."""

    mode: Annotated[GpuLayout, ServerDefault()] = "IntraPod"
    """Where the shadow runs; that of gpuMemoryService."""
    num_shadows: Annotated[Int32, Field(ge=1, le=1), ServerDefault()] = 1
    """Number of shadows."""


class Checkpoint(Model):
    """Starting from a checkpoint."""

    rules: ClassVar[tuple[Rule, ...]] = CHECKPOINT_RULES

    enabled: bool
    """Whether it is used."""
    startup_policy: Annotated[Literal["Immediate", "WaitForCheckpoint"], ServerDefault()] = "Immediate"
    """Whether engines wait for it."""
    deletion_policy: Annotated[Literal["Delete", "Retain"], ServerDefault()] = "Delete"
    """What becomes of it when the graph goes."""
    checkpoint_ref: Annotated[str, Field(max_length=253)] = ""
    """An existing checkpoint."""
    job: JsonTree | None = None
    """How to make one."""


class Grove(Model):
    """Settings of the Grove pathway."""

    force_scaling_group: bool = False
    """Render a scaling group for a single-node component."""


class ComponentExperimental(Model):
    """Settings of a component that may change."""

    rules: ClassVar[tuple[Rule, ...]] = EXPERIMENTAL_RULES

    gpu_memory_service: GpuMemoryService | None = None
    """Weights that outlive an engine's process."""
    failover: Failover | None = None
    """A shadow engine."""
    checkpoint: Checkpoint | None = None
    """Starting from a checkpoint."""
    grove: Grove | None = None
    """Settings of the Grove pathway."""


class KvTransferPolicy(Model):
    """Where the other end of a KV transfer may be."""

    rules: ClassVar[tuple[Rule, ...]] = KV_TRANSFER_RULES

    label_key: Annotated[str, Field(min_length=1, max_length=317, pattern=_LABEL_KEY)] | None = None
    """Node label whose value is the domain."""
    cluster_topology_name: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Cluster topology whose levels are the domains."""
    domain: DomainName
    """Domain that both ends share."""
    enforcement: Annotated[Literal["required", "preferred"], ServerDefault()] = "required"
    """Whether it must hold."""
    preferred_weight: Annotated[float, Field(ge=0, le=1)] | None = None
    """Weight of a preference."""


class GraphExperimental(Model):
    """Settings of a graph that may change."""

    kv_transfer_policy: KvTransferPolicy | None = None
    """Where the other end of a KV transfer may be."""
