"""The headless Service of everything that serves one model (P 6.7). Graphs share it: each user adds an owner reference."""

from __future__ import annotations

import hashlib
from typing import Final

from dynamo_ctrl.objects.builtin.core import SERVICE, Service
from dynamo_graph.api.names import Annotation, Label, Port, PortName

MANAGED_BY: Final = {"nvidia.com/managed-by": "dynamo-operator"}


def model_hash(model: str) -> str:
    """The name that a model has in labels: the first 8 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(model.encode()).hexdigest()[:8]


def render_model_service(model: str, namespace: str) -> Service:
    """The Service of a model in a namespace."""
    digest = model_hash(model)
    metadata = {
        "name": f"dynamo-model-{digest}",
        "namespace": namespace,
        "labels": {Label.BASE_MODEL_HASH: digest, **MANAGED_BY},
        "annotations": {Annotation.BASE_MODEL: model},
    }
    port = {"name": PortName.SYSTEM, "port": Port.SYSTEM, "protocol": "TCP", "targetPort": Port.SYSTEM}
    spec = {"clusterIP": "None", "selector": {Label.BASE_MODEL_HASH: digest}, "ports": [port]}
    return SERVICE.object({"metadata": metadata, "spec": spec})
