"""Volumes for the mounts of `main`: checked, created as claims where missing, and in the order of the mounts (P 1, 5.3)."""

from __future__ import annotations

import re
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.render.errors import RenderError

_VOLUME_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_AT: Final = "podTemplate.spec.containers[main].volumeMounts"


def check_mounts(main: JsonMap) -> None:
    """Raise `RenderError` for the first mount of `main` without name or path."""
    for index, mount in enumerate(main.get("volumeMounts") or ()):
        if not mount.get("name"):
            raise RenderError(f"{_AT}[{index}].name", "volumeMount.name is required")
        if not mount.get("mountPath"):
            rule = f"volumeMount.mountPath is required for {mount['name']}"
            raise RenderError(f"{_AT}[{index}].mountPath", rule)


def with_claims(pod: JsonMap, main: JsonMap) -> dict[str, Any]:
    """The Pod spec with its volumes in the order of the mounts of `main`; the others follow in their old order.

    A mount without a volume is one of the claim that bears its name.

    Raises:
        RenderError: the name of such a mount cannot be that of a volume.
    """
    volumes = {volume.get("name"): volume for volume in pod.get("volumes") or ()}
    ordered: dict[str | None, JsonMap] = {}
    for index, mount in enumerate(main.get("volumeMounts") or ()):
        name = mount["name"]
        if name in ordered:
            continue
        if name not in volumes and not _VOLUME_NAME.fullmatch(name):
            rule = f'"{name}" has no volume, and a claim needs a DNS label to be one'
            raise RenderError(f"{_AT}[{index}].name", rule)
        ordered[name] = volumes.get(name) or {"name": name, "persistentVolumeClaim": {"claimName": name}}
    rest = [volume for name, volume in volumes.items() if name not in ordered]
    found = [*ordered.values(), *rest]
    return {**pod, "volumes": found} if found else dict(pod)
