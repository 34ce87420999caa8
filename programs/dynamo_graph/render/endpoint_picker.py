"""What an endpoint picker works with: its configuration, and the pool of workers that it chooses from (P 6.4). Pure."""

from __future__ import annotations

from typing import Any, Final

import yaml

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.objects.frozen import thaw
from dynamo_graph.api.component import Component
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import Label, Port, endpoint_picker_config, inference_pool
from dynamo_graph.api.predicates import deployment_name, dynamo_namespace, service_name
from dynamo_graph.render.defaults import EPP_CONFIG_FILE
from dynamo_graph.render.inherit import WORKER_CLASS
from dynamo_graph.traffic import INFERENCE_POOL, InferencePool

HEAD: Final = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}
"""What a configuration is, where its author does not say it."""


def render_picker_config(graph: DynamoGraphDeployment, picker: Component) -> ConfigMap | None:
    """The ConfigMap with the configuration that stands in the graph; `None` if it stands elsewhere, or in the image."""
    config = picker.epp_config.config if picker.epp_config is not None else None
    if config is None:
        return None
    text = yaml.safe_dump({**HEAD, **thaw(config)}, sort_keys=False, allow_unicode=True)
    metadata = _metadata(graph, picker, endpoint_picker_config(graph.metadata.name))
    return CONFIG_MAP.object({"metadata": metadata, "data": {EPP_CONFIG_FILE: text}})


def render_inference_pool(graph: DynamoGraphDeployment, picker: Component) -> InferencePool:
    """The pool: all workers of the picker's Dynamo namespace, whatever part they have."""
    name, namespace = graph.metadata.name, graph.metadata.namespace
    selector = {
        Label.COMPONENT_CLASS: WORKER_CLASS,
        Label.NAMESPACE: dynamo_namespace(picker, graph=name, namespace=namespace),
    }
    picked_by = {"kind": "Service", "name": picker_service(graph, picker), "port": {"number": Port.EPP_GRPC}}
    spec = {
        "selector": {"matchLabels": selector},
        "targetPorts": [{"number": Port.HTTP}],
        "endpointPickerRef": picked_by,
    }
    return INFERENCE_POOL.object({"metadata": _metadata(graph, picker, inference_pool(name)), "spec": spec})


def picker_service(graph: DynamoGraphDeployment, picker: Component) -> str:
    """The name of the picker's Service."""
    return service_name(deployment_name(picker, graph=graph.metadata.name, suffix=""))


def _metadata(graph: DynamoGraphDeployment, picker: Component, name: str) -> dict[str, Any]:
    labels = {
        Label.GRAPH: graph.metadata.name,
        Label.COMPONENT: picker.name,
        Label.COMPONENT_TYPE: "epp",
    }
    return {"name": name, "namespace": graph.metadata.namespace, "labels": labels}
