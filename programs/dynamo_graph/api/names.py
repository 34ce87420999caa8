"""Names that users, schedulers and other programs match on: labels, annotations, ports, accounts (G 1.8-1.10)."""

from __future__ import annotations

from typing import Final

GROUP: Final = "nvidia.com"
VERSION: Final = "v1beta1"
FINALIZER: Final = "nvidia.com/finalizer"
MAIN: Final = "main"
"""Name of the container that runs the component."""


class Label:
    """Label keys."""

    SELECTOR: Final = "nvidia.com/selector"
    GRAPH: Final = "nvidia.com/dynamo-graph-deployment-name"
    COMPONENT: Final = "nvidia.com/dynamo-component"
    NAMESPACE: Final = "nvidia.com/dynamo-namespace"
    COMPONENT_TYPE: Final = "nvidia.com/dynamo-component-type"
    SUB_COMPONENT_TYPE: Final = "nvidia.com/dynamo-sub-component-type"
    COMPONENT_CLASS: Final = "nvidia.com/dynamo-component-class"
    WORKER_HASH: Final = "nvidia.com/dynamo-worker-hash"
    BASE_MODEL: Final = "nvidia.com/dynamo-base-model"
    BASE_MODEL_HASH: Final = "nvidia.com/dynamo-base-model-hash"
    DISCOVERY_BACKEND: Final = "nvidia.com/dynamo-discovery-backend"
    DISCOVERY_ENABLED: Final = "nvidia.com/dynamo-discovery-enabled"
    METRICS_ENABLED: Final = "nvidia.com/metrics-enabled"
    COMPONENT_POD: Final = "nvidia.com/dynamo-component-pod"
    KAI_QUEUE: Final = "kai.scheduler/queue"
    ROLE: Final = "role"
    LEGACY_INSTANCE: Final = "instance-id"


class Annotation:
    """Annotation keys."""

    WORKLOAD_PROVIDER: Final = "nvidia.com/workload-provider"
    ENABLE_GROVE: Final = "nvidia.com/enable-grove"
    ENABLE_DISAGGREGATED_SET: Final = "nvidia.com/enable-disaggregatedset"
    WORKER_HASH_V1: Final = "nvidia.com/current-worker-hash"
    WORKER_HASH_V2: Final = "nvidia.com/current-worker-hash-v2"
    WORKER_HASH_OWN: Final = "dynamo-ctrl.io/current-worker-hash"
    RESTART_AT: Final = "nvidia.com/restartAt"
    DEPLOYMENT_STRATEGY: Final = "nvidia.com/deployment-strategy"
    MAX_SURGE: Final = "nvidia.com/deployment-rolling-update-max-surge"
    MAX_UNAVAILABLE: Final = "nvidia.com/deployment-rolling-update-max-unavailable"
    GROVE_UPDATE_STRATEGY: Final = "nvidia.com/grove-update-strategy"
    ENABLE_METRICS: Final = "nvidia.com/enable-metrics"
    DISCOVERY_BACKEND: Final = "nvidia.com/dynamo-discovery-backend"
    DISCOVERY_MODE: Final = "nvidia.com/dynamo-kube-discovery-mode"
    ORIGIN_VERSION: Final = "nvidia.com/dynamo-operator-origin-version"
    VLLM_EXECUTOR: Final = "nvidia.com/vllm-distributed-executor-backend"
    DISABLE_PULL_SECRET_DISCOVERY: Final = "nvidia.com/disable-image-pull-secret-discovery"  # noqa: S105  (a key, not a secret)
    KAI_QUEUE: Final = "nvidia.com/kai-scheduler-queue"
    VOLCANO_QUEUE: Final = "nvidia.com/volcano-queue"
    LAST_APPLIED_HASH: Final = "nvidia.com/last-applied-hash"
    LAST_APPLIED_GENERATION: Final = "nvidia.com/last-applied-generation"
    TOPOLOGY_LABEL_KEY: Final = "nvidia.com/topology-label-key"
    TOPOLOGY_CLUSTER_TOPOLOGY: Final = "nvidia.com/topology-cluster-topology-name"
    BASE_MODEL: Final = "nvidia.com/dynamo-base-model"
    ISTIO_INJECT: Final = "sidecar.istio.io/inject"


BOOKKEEPING_PREFIX: Final = "nvidia.com/"
"""Prefix of the annotations that record what was last applied to a child."""

LEGACY_HASH: Final = "legacy"
"""Worker hash of workloads from before there were hashes."""


class Port:
    """Port numbers of the containers."""

    HTTP: Final = 8000
    SYSTEM: Final = 9090
    EPP_GRPC: Final = 9002
    EPP_HEALTH: Final = 9003
    NIXL: Final = 19090
    PLANNER_METRICS: Final = 9085
    FORWARD_PASS_METRICS: Final = 20380


class PortName:
    """Port names of the containers."""

    HTTP: Final = "http"
    SYSTEM: Final = "system"
    EPP_GRPC: Final = "grpc"
    EPP_HEALTH: Final = "grpc-health"
    NIXL: Final = "nixl"
    METRICS: Final = "metrics"


class Account:
    """Service accounts."""

    PLANNER: Final = "planner-serviceaccount"
    EPP: Final = "epp-serviceaccount"
    DEFAULT: Final = "default"


def discovery_account(graph: str) -> str:
    """The account that a graph's Pods use for discovery (P 6.1)."""
    return f"{graph}-k8s-service-discovery"


def wait_leader_script(graph: str) -> str:
    """The ConfigMap with the scripts by which a graph's Pods wait for their leaders (P 6.1)."""
    return f"{graph}-wait-leader-script"


def endpoint_picker_config(graph: str) -> str:
    """The ConfigMap with the configuration of a graph's endpoint picker (P 6.1)."""
    return f"{graph}-epp-config"


def inference_pool(graph: str) -> str:
    """The pool of workers that a graph's endpoint picker chooses from (P 6.1)."""
    return f"{graph}-pool"


class WaitScript:
    """Keys of that ConfigMap."""

    MP: Final = "wait-for-leader.py"
    RAY: Final = "wait-for-ray-leader.sh"
