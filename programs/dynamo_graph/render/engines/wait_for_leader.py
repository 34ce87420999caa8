"""The init container in which a worker waits for its leader (P 2.3.5). The scripts are a ConfigMap of the graph."""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_graph.api.names import WaitScript, wait_leader_script
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.shell import in_shell

VOLUME: Final = "wait-leader-script"
PATH: Final = "/scripts"

RESOURCES: Final = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "100m", "memory": "640Mi"}}
"""What it may use; a namespace with a quota takes no container that does not say so (P 9, 27)."""


def with_mp_wait(pod: JsonMap, main: JsonMap, context: PodContext, port: int) -> dict[str, Any]:
    """The Pod of a worker that waits until its leader runs and listens."""
    return _with_wait(pod, main, context, "wait-for-leader-mp", port, f"exec python3 {PATH}/{WaitScript.MP}")


def with_ray_wait(pod: JsonMap, main: JsonMap, context: PodContext, port: int) -> dict[str, Any]:
    """The Pod of a worker that waits until the Ray of its leader is healthy."""
    return _with_wait(pod, main, context, "wait-for-leader-ray", port, f"exec sh {PATH}/{WaitScript.RAY}")


def _with_wait(pod: JsonMap, main: JsonMap, context: PodContext, name: str, port: int, script: str) -> dict[str, Any]:
    host = in_shell(context.leader_host)
    waiting: dict[str, Any] = {
        "name": name,
        "image": main.get("image") or "",
        "command": ["sh", "-c", f'export LEADER_HOST="{host}" LEADER_PORT="{port}" && {script}'],
        "resources": thaw(RESOURCES),
        "volumeMounts": [{"name": VOLUME, "mountPath": PATH, "readOnly": True}],
    }
    others = [volume for volume in pod.get("volumes") or () if volume.get("name") != VOLUME]
    scripts = {"name": VOLUME, "configMap": {"name": wait_leader_script(context.graph)}}
    return {
        **pod,
        "initContainers": [*(pod.get("initContainers") or ()), waiting],
        "volumes": [*others, scripts],
    }
