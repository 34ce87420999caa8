"""One Pod spec, in the order of P 1. The order is the contract: later steps see what earlier ones made."""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_graph.api.component import BackendFramework
from dynamo_graph.api.names import MAIN, discovery_account
from dynamo_graph.render import compilation_cache, shared_memory, template, volumes
from dynamo_graph.render.command_line import AT
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.defaults import base_container, base_pod
from dynamo_graph.render.engines.engine import engine_of
from dynamo_graph.render.errors import during
from dynamo_graph.render.framework import resolved
from dynamo_graph.render.overlay import overlay_container, overlay_pod
from dynamo_graph.render.pull_secrets import with_pull_secrets
from dynamo_graph.render.sidecar import with_frontend_sidecar

FS_GROUP: Final = 1000
"""Group of mounted files when the user says nothing about security."""


def pod_spec(context: PodContext) -> dict[str, Any]:
    """The spec of the Pods of a component deployment that have the part `context.role`.

    Raises:
        RenderError: with the prefix of the step that failed.
    """
    component = context.component
    framework = framework_of(context)
    engine = engine_of(framework)
    with during("failed to get base container: "):
        base = base_container(context)
    with during("failed to merge podTemplate main container: "):
        main = overlay_container(base, context.main)
        if component.compilation_cache is not None:
            main = compilation_cache.with_mount(main, component.compilation_cache, framework)
        volumes.check_mounts(main)
    shared_mounts = list(main.get("volumeMounts") or ())
    with during(f"failed to update container for backend {framework or 'noop'}: "):
        main = engine.with_container(main, context)
    with during("failed to merge podTemplate spec: "):
        pod = _with_security(overlay_pod(base_pod(context), template.pod_spec(context.template)), context)
        pod = _with_account(pod, context)
        if component.compilation_cache is not None:
            pod = compilation_cache.with_volume(pod, component.compilation_cache)
        pod, main = shared_memory.with_shared_memory(pod, main, component.shared_memory_size)
        others = [thaw(other) for other in template.containers(context.template) if other.get("name") != MAIN]
        pod["containers"] = with_frontend_sidecar([main, *others], context, shared_mounts)
    with during(f"failed to update pod spec for backend {framework or 'noop'}: "):
        pod = engine.with_pod(pod, main, context)
    with during("failed to merge podTemplate spec: "):
        pod = volumes.with_claims(pod, main)
    return with_pull_secrets(pod, template.annotations_of(context.template), context.around.secrets)


def framework_of(context: PodContext) -> BackendFramework | None:
    """The engine that a worker runs; others, and what nobody knows, run none. Raises `RenderError`."""
    component = context.component
    return resolved(component.backend_framework, context.main, AT) if component.is_worker else None


def _with_security(pod: JsonMap, context: PodContext) -> dict[str, Any]:
    """A group for mounted files, and a resolver that works on the host's network, where the user is silent."""
    changed = dict(pod)
    if template.pod_spec(context.template).get("securityContext") is None:
        changed["securityContext"] = {"fsGroup": FS_GROUP}
    if changed.get("hostNetwork") and not changed.get("dnsPolicy"):
        changed["dnsPolicy"] = "ClusterFirstWithHostNet"
    return changed


def _with_account(pod: JsonMap, context: PodContext) -> dict[str, Any]:
    """An account where neither the user nor the component type names one: that of discovery needs a graph that owns it."""
    if pod.get("serviceAccountName") or pod.get("serviceAccount"):
        return dict(pod)
    if context.graph and context.discovery.on_kubernetes:
        return {**pod, "serviceAccountName": discovery_account(context.graph)}
    return {**pod, "serviceAccountName": context.around.account}
