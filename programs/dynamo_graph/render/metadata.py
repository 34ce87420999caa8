"""Labels and annotations of the Pods of a component deployment (G 1.8, 1.9, 3.9.2)."""

from __future__ import annotations

from typing import Any, Final

from dynamo_graph.api.names import LEGACY_HASH, Annotation, Label
from dynamo_graph.render import template
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.model_service import model_hash

_TOPOLOGY: Final = (Annotation.TOPOLOGY_LABEL_KEY, Annotation.TOPOLOGY_CLUSTER_TOPOLOGY)


def system_labels(context: PodContext) -> dict[str, str]:
    """Labels that say which component this is."""
    labels = {Label.COMPONENT: context.component.name, Label.NAMESPACE: context.dynamo_namespace}
    if context.graph:
        labels[Label.GRAPH] = context.graph
    if context.component.type:
        labels[Label.COMPONENT_TYPE] = context.component.type
    return labels


def pod_labels(context: PodContext) -> dict[str, str]:
    """All labels of the Pods. Those of the system win.

    Pods of an engine on one node are selected by their deployment's name, those of an engine that spans nodes by their part. The
    Service of a model selects by the model alone, whoever serves it; so what does not answer for an engine does not bear it.
    """
    own = template.labels_of(context.template)
    labels = {**_inherited(context), **own, **system_labels(context), **context.discovery.labels}
    if template.annotations_of(context.template).get(Annotation.ENABLE_METRICS) != "false":
        labels[Label.METRICS_ENABLED] = "true"
    if context.component.model_ref is not None and context.role != "worker":
        labels[Label.BASE_MODEL_HASH] = model_hash(context.component.model_ref.name)
    labels.pop(Label.SELECTOR, None)
    return labels | ({Label.SELECTOR: context.name} if context.role == "main" else {Label.ROLE: context.role})


def _inherited(context: PodContext) -> dict[str, str]:
    """The deployment's own labels. One from before there were worker hashes is marked as such; its Pods never were."""
    mark = (Label.WORKER_HASH, LEGACY_HASH)
    return {key: value for key, value in context.labels.items() if (key, value) != mark}


def pod_metadata(context: PodContext) -> dict[str, Any]:
    """Labels and annotations of the Pods, as a template has them."""
    metadata: dict[str, Any] = {"labels": pod_labels(context)}
    annotations = pod_annotations(context)
    return metadata | ({"annotations": annotations} if annotations else {})


def pod_annotations(context: PodContext) -> dict[str, str]:
    """All annotations of the Pods. Those of topology belong to the operator: only the deployment's own count."""
    hidden = {Annotation.ORIGIN_VERSION, *_TOPOLOGY}
    own = {key: value for key, value in template.annotations_of(context.template).items() if key not in hidden}
    if context.component.model_ref is not None:
        own.setdefault(Annotation.BASE_MODEL, context.component.model_ref.name)
    return {**own, **{key: context.annotations[key] for key in _TOPOLOGY if key in context.annotations}}
