"""A frontend beside the engine: the defaults of a frontend, merged under a container that the user names (P 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.defaults import frontend_container
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.gpu import requests_gpu
from dynamo_graph.render.overlay import overlay_container
from dynamo_graph.render.runtime_version import from_image


def with_frontend_sidecar(
    containers: Sequence[JsonMap], context: PodContext, mounts: Sequence[JsonMap]
) -> list[JsonMap]:
    """The containers with the frontend sidecar filled in; `mounts` are those of `main` that it shares.

    It is judged by its own image, never by the version of the component.

    Raises:
        RenderError: no container has the name.
    """
    name = context.component.frontend_sidecar
    if name is None:
        return list(containers)
    if all(container.get("name") != name for container in containers):
        rule = f'frontendSidecar "{name}" does not match any podTemplate container'
        raise RenderError("frontendSidecar", rule)
    return [
        _frontend(container, name, context, mounts) if container.get("name") == name else container
        for container in containers
    ]


def _frontend(container: JsonMap, name: str, context: PodContext, mounts: Sequence[JsonMap]) -> dict[str, Any]:
    version = from_image(container.get("image") or "")
    base = frontend_container(context, name, version, gpus=requests_gpu(container))
    merged = overlay_container(base, container, name=name)
    own = list(merged.get("volumeMounts") or ())
    names, paths = ({mount.get(field) for mount in own} for field in ("name", "mountPath"))
    shared = [mount for mount in mounts if mount.get("name") not in names and mount.get("mountPath") not in paths]
    return {**merged, "volumeMounts": [*own, *shared]} if own or shared else merged
