"""The LeaderWorkerSet of a component deployment over several nodes (G 3.9.3)."""

from __future__ import annotations

import re
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.predicates import leader_worker_set_name
from dynamo_graph.orchestrators import LEADER_WORKER_SET, LeaderWorkerSet
from dynamo_graph.render.context import PodContext, Surroundings
from dynamo_graph.render.deployer import Role
from dynamo_graph.render.engines.engine import engine_of
from dynamo_graph.render.errors import RenderError, rendering
from dynamo_graph.render.metadata import pod_metadata, system_labels
from dynamo_graph.render.pod import framework_of, pod_spec
from dynamo_graph.render.warnings import RenderWarning

MAX_GROUP_NAME: Final = 52
"""Characters that the name of a group has at most: the StatefulSet of its workers bears it, and labels its Pods with more."""

_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MAIN: Final = "podTemplate.spec.containers[main]"


def render_leader_worker_set(deployment: DynamoComponentDeployment, around: Surroundings) -> LeaderWorkerSet:
    """The LeaderWorkerSet that a component deployment becomes: one group for each replica, one Pod for each node.

    Raises:
        InvalidObject: what cannot be rendered, by field and rule.
    """
    with rendering(f"{deployment.kind.kind} {deployment.key}", "spec"):
        context = PodContext.of(deployment, around)
        name, replicas = leader_worker_set_name(context.name), context.component.desired_replicas
        check_name(name, replicas)
        metadata = {
            "name": name,
            "namespace": context.namespace,
            "labels": {**context.labels, **system_labels(context)},
        }
        templates = {
            "leaderTemplate": _template(context, "leader"),
            "workerTemplate": _template(context, "worker"),
            "size": context.component.nodes,
        }
        spec = {"replicas": replicas, "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": templates}
    return LEADER_WORKER_SET.object({"metadata": metadata, "spec": spec})


def leader_worker_set_warning(deployment: DynamoComponentDeployment, around: Surroundings) -> RenderWarning | None:
    """What renders, but spreads over nodes in vain. Raises `InvalidObject` as `render_leader_worker_set`."""
    with rendering(f"{deployment.kind.kind} {deployment.key}", "spec"):
        context = PodContext.of(deployment, around)
        return engine_of(framework_of(context)).warning(context)


def check_name(name: str, replicas: int) -> None:
    """Refuse a name that the Service and the Pods of a LeaderWorkerSet cannot bear. Raises `RenderError`."""
    if "." in name:
        raise RenderError("name", f'LeaderWorkerSet name "{name}" must not contain dots')
    if not _LABEL.fullmatch(name):
        raise RenderError("name", f'LeaderWorkerSet name "{name}" must begin with a letter')
    group = f"{name}-{max(replicas - 1, 0)}"
    if len(group) > MAX_GROUP_NAME:
        rule = f'the group name "{group}" made of it must have at most {MAX_GROUP_NAME} characters'
        raise RenderError("name", rule)


def _template(context: PodContext, role: Role) -> dict[str, Any]:
    placed = context.at(role)
    spec = pod_spec(placed)
    _check_command(spec["containers"][0])
    return {"metadata": pod_metadata(placed), "spec": spec}


def _check_command(main: JsonMap) -> None:
    if not main.get("command"):
        raise RenderError(f"{_MAIN}.command", "container Command cannot be nil for LWS pod")
    if not main.get("args"):
        raise RenderError(f"{_MAIN}.args", "container Args cannot be empty for LWS pod")
