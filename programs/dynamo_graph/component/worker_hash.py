"""The hash of everything that makes a new worker generation (G 3.5.2). Pure.

The input is an explicit, versioned document, not the serialisation of some library's objects: equal documents give equal
hashes for ever, and golden values in the tests hold them. One hash covers all workers of a graph, so they roll together.
Children are never an input, nor is anything that can change without new Pods being wanted (replicas, scaling, other components).

Canonical form: compact JSON; the document's own fields in the order written here, the keys of everything inside sorted. A field
that is null, "", [] or {} is left out at every depth; 0 and false stay, and so does every entry of a list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.component import WORKER_TYPES
from dynamo_graph.api.graph import GraphSpec
from dynamo_graph.api.names import MAIN, Label
from dynamo_graph.api.predicates import workers
from dynamo_graph.render.runtime_version import HASHED, at_least, resolve
from dynamo_graph.render.template import main_container

VERSION: Final = "dgd-worker-rollout-v2"
"""Names the rules of this module inside the document; another rule is another version."""
LENGTH: Final = 8
"""Hexadecimal digits kept of the SHA-256."""


def desired_hash(spec: GraphSpec) -> str:
    """The hash of the workers of a graph as its spec wants them."""
    versions = {}
    for worker in workers(spec):
        image = main_container(worker.pod_template).get("image") or ""
        version = resolve(image, worker.runtime_version_override)
        if at_least(version, HASHED):
            versions[worker.name] = str(version)
    return worker_hash(spec.tree(), versions)


def worker_hash(spec: JsonMap, runtime_versions: Mapping[str, str]) -> str:
    """The hash of the workers of a graph.

    Args:
        spec: the graph's spec as JSON: the fields that were given, and the defaults of its schema.
        runtime_versions: component name to the runtime version of its worker image, for those that count (>= 1.5.0).
    """
    return hashlib.sha256(canonical(document(spec, runtime_versions))).hexdigest()[:LENGTH]


def canonical(document: JsonMap) -> bytes:
    """The UTF-8 text that is hashed."""
    return msgspec.json.encode(document)


def document(spec: JsonMap, runtime_versions: Mapping[str, str]) -> dict[str, Any]:
    """The hash input, with its own fields in their fixed order."""
    workers = {
        component["name"]: _worker(component, spec, runtime_versions.get(component["name"]))
        for component in sorted(spec.get("components") or (), key=lambda component: component["name"])
        if component.get("type") in WORKER_TYPES
    }
    return _filled({"version": VERSION, "backendFramework": spec.get("backendFramework"), "workers": workers})


def _worker(component: JsonMap, spec: JsonMap, runtime_version: str | None) -> dict[str, Any]:
    size = component.get("sharedMemorySize")
    return _filled(
        {
            "type": component.get("type"),
            "globalDynamoNamespace": component.get("globalDynamoNamespace") or None,
            "podTemplate": _pruned(_effective_template(component.get("podTemplate") or {}, spec)),
            "multinode": _pruned(component.get("multinode")),
            "sharedMemorySize": None if size is None else str(size),
            "frontendSidecar": component.get("frontendSidecar"),
            "compilationCache": _pruned(component.get("compilationCache")),
            "experimental": _pruned(component.get("experimental")),
            "runtimeVersion": runtime_version,
        }
    )


def _effective_template(template: JsonMap, spec: JsonMap) -> dict[str, Any]:
    """The template with what it inherits from the graph: annotations and labels where absent, environment, class label."""
    metadata = dict(template.get("metadata") or {})
    metadata["annotations"] = {**(spec.get("annotations") or {}), **(metadata.get("annotations") or {})}
    labels = {**(spec.get("labels") or {}), **(metadata.get("labels") or {})}
    if any(component.get("type") == "epp" for component in spec.get("components") or ()):
        labels[Label.COMPONENT_CLASS] = "worker"
    metadata["labels"] = labels
    effective = {**template, "metadata": metadata}
    if spec.get("env"):
        effective["spec"] = _with_graph_env(template.get("spec") or {}, spec["env"])
    return effective


def _with_graph_env(pod: JsonMap, env: Any) -> dict[str, Any]:
    containers = list(pod.get("containers") or ())
    main = next((container for container in containers if container.get("name") == MAIN), None)
    if main is None:
        main = {"name": MAIN}
        containers.insert(0, main)
    merged = {entry["name"]: entry for entry in (*env, *(main.get("env") or ()))}
    inherited = {**main, "env": [merged[name] for name in sorted(merged)]}
    return {**pod, "containers": [inherited if container is main else container for container in containers]}


def _filled(fields: JsonMap) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if not _empty(value)}


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | Mapping | list | tuple) and not value)


def _pruned(value: Any) -> Any:
    """`value` with the keys of every object sorted and without empty fields."""
    if isinstance(value, Mapping):
        return _filled({key: _pruned(value[key]) for key in sorted(value)})
    if isinstance(value, list | tuple):
        return [_pruned(item) for item in value]
    return value
