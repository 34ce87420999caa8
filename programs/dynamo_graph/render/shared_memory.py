"""The memory-backed `/dev/shm` of `main` (P 5.1)."""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.quantity import parse_quantity

VOLUME: Final = "shared-memory"
PATH: Final = "/dev/shm"  # noqa: S108  (a mount point in the container)
DEFAULT_SIZE: Final = "8Gi"


def with_shared_memory(pod: JsonMap, main: JsonMap, size: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The Pod spec and its container `main` with shared memory of `size`; both unchanged when it is zero.

    What the user has at that path or under that name gives way.
    """
    size = DEFAULT_SIZE if size is None else size
    if parse_quantity(size) <= 0:
        return dict(pod), dict(main)
    mounts = [mount for mount in main.get("volumeMounts") or () if not _clashes(mount)]
    volumes = [volume for volume in pod.get("volumes") or () if volume.get("name") != VOLUME]
    memory = {"name": VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": size}}
    return (
        {**pod, "volumes": [*volumes, memory]},
        {**main, "volumeMounts": [*mounts, {"name": VOLUME, "mountPath": PATH}]},
    )


def _clashes(mount: JsonMap) -> bool:
    return mount.get("name") == VOLUME or (mount.get("mountPath") or "").rstrip("/") == PATH
