"""The Deployment of a single-node component deployment (G 3.9.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, Deployment
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.names import Annotation, Label
from dynamo_graph.render import template
from dynamo_graph.render.context import PodContext, Surroundings
from dynamo_graph.render.errors import RenderError, rendering
from dynamo_graph.render.metadata import pod_metadata, system_labels
from dynamo_graph.render.pod import pod_spec

DEFAULT_SHARE: Final = "25%"
"""Surge and unavailability of a rolling update."""

MAX_LABEL: Final = 63
"""Characters that a label value holds; the selector carries the deployment's name."""


def render_deployment(deployment: DynamoComponentDeployment, around: Surroundings) -> Deployment:
    """The Deployment that a component deployment becomes.

    Raises:
        InvalidObject: what cannot be rendered, by field and rule.
    """
    what = f"{deployment.kind.kind} {deployment.key}"
    with rendering(what, "spec"):
        context = PodContext.of(deployment, around)
        if len(context.name) > MAX_LABEL:
            rule = f'the name "{context.name}" made of it must have at most {MAX_LABEL} characters'
            raise RenderError("name", rule)
        spec: dict[str, Any] = {
            "selector": {"matchLabels": {Label.SELECTOR: context.name}},
            "strategy": strategy(template.annotations_of(context.template)),
            "template": {"metadata": pod_metadata(context), "spec": pod_spec(context)},
        }
        if context.component.replicas is not None:
            spec["replicas"] = context.component.replicas
        metadata = {
            "name": context.name,
            "namespace": context.namespace,
            "labels": {**context.labels, **system_labels(context)},
        }
    return DEPLOYMENT.object({"metadata": metadata, "spec": spec})


def strategy(annotations: Mapping[str, str]) -> dict[str, Any]:
    """How Pods are replaced. Only the exact word `Recreate` recreates; shares pass through as they are written."""
    if annotations.get(Annotation.DEPLOYMENT_STRATEGY) == "Recreate":
        return {"type": "Recreate"}
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {
            "maxSurge": _share(annotations.get(Annotation.MAX_SURGE)),
            "maxUnavailable": _share(annotations.get(Annotation.MAX_UNAVAILABLE)),
        },
    }


def _share(text: str | None) -> int | str:
    text = text or DEFAULT_SHARE
    return int(text) if text.isascii() and text.isdigit() else text
