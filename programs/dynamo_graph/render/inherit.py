"""What a component's Pod template inherits from its graph (G 3.5.2, 3.8 step 7; P 4.4).

Precedence, high to low: the component's template, the graph's `spec`, and for five annotations the graph's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamo_ctrl.objects.frozen import thaw
from dynamo_graph.api.component import Component
from dynamo_graph.api.graph import GraphSpec
from dynamo_graph.api.names import MAIN, Annotation, Label
from dynamo_graph.api.predicates import has_endpoint_picker
from dynamo_graph.render import env
from dynamo_graph.render.template import annotations_of, containers, labels_of, main_container, with_main, with_metadata

INHERITED_METADATA: Final = (
    Annotation.ENABLE_METRICS,
    Annotation.DISCOVERY_BACKEND,
    Annotation.DISCOVERY_MODE,
    Annotation.ORIGIN_VERSION,
    Annotation.VLLM_EXECUTOR,
)
"""Annotations of the graph object that reach its Pods."""

WORKER_CLASS: Final = "worker"
"""Value of the component-class label of every worker of a graph with an endpoint picker."""


def effective_template(spec: GraphSpec, component: Component) -> dict[str, Any]:
    """The component's template with the annotations, labels and environment of the graph's spec."""
    template = component.pod_template
    own_labels = {**(spec.labels or {}), **labels_of(template)}
    if component.is_worker and has_endpoint_picker(spec.components):
        own_labels[Label.COMPONENT_CLASS] = WORKER_CLASS
    own_annotations = {**(spec.annotations or {}), **annotations_of(template)}
    effective = with_metadata(template, labels=own_labels, annotations=own_annotations)
    if not spec.env:
        return effective
    main = thaw(main_container(template)) if containers(template) else {}
    main = main or {"name": MAIN}
    main["env"] = env.merge((entry.tree() for entry in spec.env), main.get("env"))
    return with_main(effective, main)


def inherited_annotations(spec: GraphSpec, graph: Mapping[str, str], component: Component) -> dict[str, str]:
    """All annotations of the component's Pods before rendering; `graph` are those of the graph object."""
    metadata = {key: graph[key] for key in INHERITED_METADATA if key in graph}
    return {**metadata, **(spec.annotations or {}), **annotations_of(component.pod_template)}
