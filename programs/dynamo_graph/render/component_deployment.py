"""From the components of a graph to component deployments (G 3.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamo_graph.api.component import BackendFramework, Component
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT, DynamoComponentDeployment
from dynamo_graph.api.experimental import KvTransferPolicy
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.graph_status import CheckpointStatus
from dynamo_graph.api.names import Account, Annotation, Label
from dynamo_graph.api.predicates import deployment_name, dynamo_namespace, has_endpoint_picker
from dynamo_graph.render import kv_transfer, template
from dynamo_graph.render.deployment_config import Configured, configured
from dynamo_graph.render.errors import RenderError, rendering
from dynamo_graph.render.framework import graph_framework
from dynamo_graph.render.inherit import WORKER_CLASS, effective_template, inherited_annotations

_OPERATOR_OWNED: Final = (Annotation.TOPOLOGY_LABEL_KEY, Annotation.TOPOLOGY_CLUSTER_TOPOLOGY)


def render_component_deployments(
    graph: DynamoGraphDeployment,
    *,
    suffix: str,
    replicas: Mapping[str, int] | None = None,
    restarts: Mapping[str, str] | None = None,
    frameworks: Mapping[str, BackendFramework] | None = None,
    checkpoints: Mapping[str, CheckpointStatus] | None = None,
) -> tuple[DynamoComponentDeployment, ...]:
    """One component deployment for each component, in the order of the spec.

    Args:
        graph: the graph.
        suffix: the generation of its workers.
        replicas: component name to a count that is wanted instead of the component's own.
        restarts: component name to the restart that its Pods carry.
        frameworks: component name to the engine that its deployment has already, which never changes.
        checkpoints: component name to the checkpoint that it starts from; one without a name does not exist yet.

    Raises:
        InvalidObject: what cannot be rendered, by field and rule.
    """
    what = f"{graph.kind.kind} {graph.key}"
    with rendering(what, "spec"):
        framework = graph_framework(graph.spec.backend_framework, graph.spec.components)
    return tuple(
        _render(
            graph,
            index,
            suffix=suffix,
            framework=(frameworks or {}).get(component.name) or framework,
            replicas=(replicas or {}).get(component.name),
            restart=(restarts or {}).get(component.name),
            checkpoint=(checkpoints or {}).get(component.name),
        )
        for index, component in enumerate(graph.spec.components)
    )


def desired_replicas(graph: DynamoGraphDeployment, component: Component) -> int:
    """How many replicas of a component are wanted: as it says itself, else as its configuration says, else 1 (G 3.8 step 11).

    Raises:
        RenderError: the configuration is malformed.
    """
    own = component.replicas
    config = None if own is not None else _configured(effective_template(graph.spec, component), component).replicas
    wanted = _first(own, config)
    return 1 if wanted is None else wanted


def _render(
    graph: DynamoGraphDeployment,
    index: int,
    *,
    suffix: str,
    framework: BackendFramework | None,
    replicas: int | None,
    restart: str | None,
    checkpoint: CheckpointStatus | None,
) -> DynamoComponentDeployment:
    component = graph.spec.components[index]
    what, path = f"{graph.kind.kind} {graph.key}", f"spec.components[{index}]"
    with rendering(what, path):
        _check_supported(component)
    policy = _policy(graph, component)
    pod_template = effective_template(graph.spec, component)
    with rendering(what, path):
        config = _configured(pod_template, component)
    pod_template = template.with_main(pod_template, config.main) if config.main else pod_template
    if policy is not None:
        with rendering(what, "spec"):
            pod_template = kv_transfer.with_policy(pod_template, policy)
    generation = {Label.WORKER_HASH: suffix} if component.is_worker and suffix else {}
    pod_template = template.with_metadata(
        pod_template,
        labels={**template.labels_of(pod_template), **generation},
        annotations=_annotations(graph, component, restart),
    )
    if component.type == "planner" and not template.pod_spec(pod_template).get("serviceAccountName"):
        pod_template["spec"] = {**template.pod_spec(pod_template), "serviceAccountName": Account.PLANNER}
    spec: dict[str, Any] = {**component.tree(), "podTemplate": pod_template}
    spec.pop("minAvailable", None)  # Grove's alone (G 1.4); a rollout has to go below it
    if checkpoint is not None and checkpoint.checkpoint_name:
        spec["experimental"] = _started_from(checkpoint.checkpoint_name, component)
    if framework is not None:
        spec["backendFramework"] = framework
    wanted = _first(replicas, component.replicas, config.replicas)
    if wanted is not None:
        spec["replicas"] = wanted
    metadata: dict[str, Any] = {
        "name": deployment_name(component, graph=graph.metadata.name, suffix=suffix),
        "namespace": graph.metadata.namespace,
        "labels": {
            **(graph.spec.labels or {}),
            **template.labels_of(component.pod_template),
            **_labels(graph, component),
            **generation,
        },
    }
    annotations = _operator_free(graph.spec.annotations or {})
    if policy is not None:
        annotations |= kv_transfer.deployment_annotations(policy)
    if annotations:
        metadata["annotations"] = annotations
    return DYNAMO_COMPONENT_DEPLOYMENT.object({"metadata": metadata, "spec": spec})


def _check_supported(component: Component) -> None:
    """Refuse what would silently be left out (P 6.8)."""
    experimental = component.experimental
    if experimental is not None and (experimental.gpu_memory_service or experimental.failover):
        name = "gpuMemoryService" if experimental.gpu_memory_service else "failover"
        rule = "gpuMemoryService / inter-pod GMS failover requires DRA and a weight server, which nothing here runs"
        raise RenderError(f"experimental.{name}", rule)


def _started_from(checkpoint: str, component: Component) -> dict[str, Any]:
    """The experimental settings of a component of which the checkpoint exists: it is named, and nobody makes another (G 3.3)."""
    experimental: dict[str, Any] = component.experimental.tree() if component.experimental is not None else {}
    settings = {"startupPolicy": "Immediate", **(experimental.get("checkpoint") or {})}
    settings.pop("job", None)
    return {**experimental, "checkpoint": {**settings, "enabled": True, "checkpointRef": checkpoint}}


def _policy(graph: DynamoGraphDeployment, component: Component) -> KvTransferPolicy | None:
    experimental = graph.spec.experimental
    return experimental.kv_transfer_policy if experimental is not None and component.is_worker else None


def _configured(pod_template: dict[str, Any], component: Component) -> Configured:
    return configured(template.main_container(pod_template), component)


def _annotations(graph: DynamoGraphDeployment, component: Component, restart: str | None) -> dict[str, str]:
    found = inherited_annotations(graph.spec, graph.metadata.annotations, component)
    found = _operator_free(found)
    if component.type == "epp" and Annotation.ISTIO_INJECT not in template.annotations_of(component.pod_template):
        found[Annotation.ISTIO_INJECT] = "false"
    return found | ({Annotation.RESTART_AT: restart} if restart else {})


def _operator_free(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key not in _OPERATOR_OWNED}


def _labels(graph: DynamoGraphDeployment, component: Component) -> dict[str, str]:
    name, namespace = graph.metadata.name, graph.metadata.namespace
    labels = {
        Label.COMPONENT: component.name,
        Label.NAMESPACE: dynamo_namespace(component, graph=name, namespace=namespace),
        Label.GRAPH: name,
    }
    if component.is_worker and has_endpoint_picker(graph.spec.components):
        labels[Label.COMPONENT_CLASS] = WORKER_CLASS
    return labels


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
