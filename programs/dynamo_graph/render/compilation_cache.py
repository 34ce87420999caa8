"""The volume that keeps compiled kernels: its mount in `main`, and the volume itself (P 5.2)."""

from __future__ import annotations

import re
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.component import CompilationCache
from dynamo_graph.render.errors import RenderError

DEFAULT_PATHS: Final = {"vllm": "/root/.cache/vllm"}
"""Where an engine keeps its cache by itself."""

_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_AT: Final = "compilationCache"


def mount_path(cache: CompilationCache, framework: str | None) -> str:
    """Where the cache is mounted. Raises `RenderError` when nobody says it."""
    path = cache.mount_path or DEFAULT_PATHS.get(framework or "")
    if not path:
        name = framework or "noop"
        rule = f"compilationCache.mountPath is required for backend framework {name} (no default available)"
        raise RenderError(f"{_AT}.mountPath", rule)
    return path


def with_mount(container: JsonMap, cache: CompilationCache, framework: str | None) -> dict[str, Any]:
    """The container with the cache mounted, once and writable.

    Raises:
        RenderError: another volume is mounted there, the mount is read-only, or the claim cannot name a volume.
    """
    name, path = cache.pvc_name, mount_path(cache, framework)
    if not _DNS_LABEL.fullmatch(name):
        raise RenderError(f"{_AT}.pvcName", f'"{name}" must be a DNS label, since it names the volume')
    mounts: list[JsonMap] = []
    present = False
    for mount in container.get("volumeMounts") or ():
        if mount.get("name") == name and not mount.get("mountPath"):
            mount = {**mount, "mountPath": path}
        if mount.get("mountPath") != path:
            mounts.append(mount)
            continue
        if mount.get("name") != name:
            rule = f'compilationCache.mountPath "{path}" is already used by volume "{mount.get("name")}"'
            raise RenderError(f"{_AT}.mountPath", rule)
        if mount.get("readOnly"):
            raise RenderError(f"{_AT}.mountPath", f'compilation cache volume "{name}" at "{path}" must be writable')
        if not present:
            mounts.append(mount)
        present = True
    if not present:
        mounts.append({"name": name, "mountPath": path})
    return {**container, "volumeMounts": mounts}


def with_volume(pod: JsonMap, cache: CompilationCache) -> dict[str, Any]:
    """The Pod spec with the volume of the cache.

    Raises:
        RenderError: a volume of that name is something else.
    """
    name = cache.pvc_name
    volumes = list(pod.get("volumes") or ())
    found = [volume for volume in volumes if volume.get("name") == name]
    if len(found) > 1:
        raise RenderError(f"{_AT}.pvcName", f'compilation cache volume "{name}" is defined more than once')
    if not found:
        return {**pod, "volumes": [*volumes, {"name": name, "persistentVolumeClaim": {"claimName": name}}]}
    claim = found[0].get("persistentVolumeClaim")
    if not claim:
        raise RenderError(f"{_AT}.pvcName", f'compilation cache volume "{name}" must reference PVC "{name}"')
    if claim.get("claimName") != name:
        other = claim.get("claimName")
        rule = f'compilation cache volume "{name}" references PVC "{other}" instead of "{name}"'
        raise RenderError(f"{_AT}.pvcName", rule)
    if claim.get("readOnly"):
        raise RenderError(f"{_AT}.pvcName", f'compilation cache PVC "{name}" must be writable')
    return dict(pod)
