"""Rules of the API that hold between fields (G 1.2-1.4, 1.11).

A server that evaluates the CRD's CEL (`cel`) refuses most of these before they are stored; here they hold on every engine, for
objects from before a rule, and for what CEL cannot reach (pod templates; `pod_template` reads those). What may not change is in
`changes`: it needs the object from before, which a program does not see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.quantity import parse_quantity
from dynamo_graph.api.component import Component
from dynamo_graph.api.component_deployment import ComponentDeploymentSpec
from dynamo_graph.api.experimental import KvTransferPolicy
from dynamo_graph.api.graph import GraphSpec, Restart
from dynamo_graph.api.metadata import MAX_PREFIX, annotation_problems, label_problems
from dynamo_graph.api.names import MAIN, Annotation
from dynamo_graph.api.pod_template import template_problems


def graph_problems(spec: GraphSpec, what: str = "DynamoGraphDeployment") -> Iterator[InvalidObject]:
    """Every rule that the spec of a graph breaks, in the order of its fields."""
    yield from annotation_problems(spec.annotations or {}, what, "spec.annotations")
    yield from label_problems(spec.labels or {}, what, "spec.labels")
    seen: dict[str, int] = {}
    pickers = 0
    for index, component in enumerate(spec.components):
        path = f"spec.components[{index}]"
        first = seen.setdefault(component.name.lower(), index)
        if first != index:
            rule = f"must be unique ignoring case; spec.components[{first}] is {spec.components[first].name!r}"
            yield InvalidObject(what, f"{path}.name", rule)
        pickers += component.type == "epp"
        if component.type == "epp" and pickers == 2:
            yield InvalidObject(what, f"{path}.type", "at most one component may be of type epp")
        yield from component_problems(component, what, path)
    if spec.restart is not None:
        yield from _restart(spec, spec.restart, what)
    yield from _topology(spec, what)
    if spec.experimental is not None and spec.experimental.kv_transfer_policy is not None:
        yield from _kv_transfer(spec.experimental.kv_transfer_policy, what)


def component_problems(component: Component, what: str, path: str) -> Iterator[InvalidObject]:
    """Every rule that one component breaks; `path` is where it stands."""
    replicas = component.desired_replicas
    if component.min_available is not None and replicas and component.min_available > replicas:
        yield InvalidObject(what, f"{path}.minAvailable", "must not be above replicas")
    if component.epp_config is not None:
        if component.type != "epp":
            yield InvalidObject(what, f"{path}.eppConfig", "is allowed only when type is epp")
        if (component.epp_config.config_map_ref is None) == (component.epp_config.config is None):
            yield InvalidObject(what, f"{path}.eppConfig", "exactly one of configMapRef and config must be set")
    if component.shared_memory_size is not None and parse_quantity(component.shared_memory_size) < 0:
        yield InvalidObject(what, f"{path}.sharedMemorySize", "must not be negative")
    names = [role.name for role in component.roles]
    if names and sorted(names) != ["leader", "worker"]:
        yield InvalidObject(what, f"{path}.roles", "must name leader and worker exactly once")
    yield from _experimental(component, what, path)
    yield from _pod_template(component, what, path)


def _experimental(component: Component, what: str, path: str) -> Iterator[InvalidObject]:
    experimental = component.experimental
    if experimental is None:
        return
    if experimental.failover is not None:
        service = experimental.gpu_memory_service
        if service is None or service.mode != experimental.failover.mode:
            yield InvalidObject(what, f"{path}.experimental.failover.mode", "must equal gpuMemoryService.mode")
    checkpoint = experimental.checkpoint
    if checkpoint is not None and checkpoint.job is not None and checkpoint.checkpoint_ref:
        yield InvalidObject(what, f"{path}.experimental.checkpoint.job", "cannot be used together with checkpointRef")


def _pod_template(component: Component, what: str, path: str) -> Iterator[InvalidObject]:
    template: Any = component.pod_template or {}
    at = f"{path}.podTemplate"
    unreadable = list(template_problems(template, what, at))
    if unreadable:
        yield from unreadable
        return
    spec = template.get("spec") or {}
    containers = spec.get("containers") or ()
    if all(container["name"] != MAIN for container in containers):
        yield InvalidObject(what, f"{at}.spec.containers", "must hold a container named main")
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            if not container.get("image"):
                yield InvalidObject(what, f"{at}.spec.{field}[{index}].image", "must be set")
    sidecar = component.frontend_sidecar
    if sidecar is not None and all(container["name"] != sidecar for container in containers):
        rule = f'frontendSidecar "{sidecar}" does not match any podTemplate container'
        yield InvalidObject(what, f"{path}.frontendSidecar", rule)
    metadata = template.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    yield from annotation_problems(annotations, what, f"{at}.metadata.annotations")
    yield from label_problems(metadata.get("labels") or {}, what, f"{at}.metadata.labels")
    for key, allowed in (
        (Annotation.DISCOVERY_MODE, ("pod", "container")),
        (Annotation.DISCOVERY_BACKEND, ("kubernetes", "etcd")),
    ):
        if annotations.get(key, allowed[0]) not in allowed:
            yield InvalidObject(what, f"{at}.metadata.annotations[{key}]", f"must be one of {', '.join(allowed)}")


def _restart(spec: GraphSpec, restart: Restart, what: str) -> Iterator[InvalidObject]:
    order = restart.strategy.order if restart.strategy else ()
    path = "spec.restart.strategy.order"
    if not order:
        return
    if not restart.sequential:
        yield InvalidObject(what, path, "cannot be specified when strategy is parallel")
    if len(set(order)) != len(order):
        yield InvalidObject(what, path, "must be unique")
    names = {component.name for component in spec.components}
    for unknown in sorted(set(order) - names):
        yield InvalidObject(what, path, f"contains unknown component: {unknown}")
    if len(set(order)) != len(names):
        yield InvalidObject(what, path, "must have the same number of unique components as the deployment")


def _kv_transfer(policy: KvTransferPolicy, what: str) -> Iterator[InvalidObject]:
    path = "spec.experimental.kvTransferPolicy"
    if (policy.label_key is None) == (policy.cluster_topology_name is None):
        yield InvalidObject(what, path, "exactly one of labelKey and clusterTopologyName must be set")
    if policy.label_key is not None and policy.label_key.find("/") > MAX_PREFIX:
        yield InvalidObject(what, f"{path}.labelKey", f"the prefix must have at most {MAX_PREFIX} characters")
    if (policy.preferred_weight is not None) != (policy.enforcement == "preferred"):
        yield InvalidObject(what, f"{path}.preferredWeight", "must be set if and only if enforcement is preferred")


def _topology(spec: GraphSpec, what: str) -> Iterator[InvalidObject]:
    constrained = [index for index, component in enumerate(spec.components) if component.topology_constraint]
    if constrained and spec.topology_constraint is None:
        path = f"spec.components[{constrained[0]}].topologyConstraint"
        yield InvalidObject(what, path, "needs spec.topologyConstraint.clusterTopologyName")
    if spec.topology_constraint is not None and spec.topology_constraint.pack_domain is None:
        for index, component in enumerate(spec.components):
            if component.topology_constraint is None:
                path = f"spec.components[{index}].topologyConstraint"
                yield InvalidObject(what, path, "must be set while spec.topologyConstraint has no packDomain")


def validate_component_deployment(spec: ComponentDeploymentSpec, what: str = "DynamoComponentDeployment") -> None:
    """Raise the first problem of a component deployment's spec, an `InvalidObject`."""
    for problem in component_problems(spec, what, "spec"):
        raise problem
