"""What an engine and a replica cost in GPUs, for the status (P 2.7). Pure arithmetic over Pod specs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.render.gpu import scalar_gpus
from dynamo_graph.render.gpu_claims import Devices, claimed


@dataclass(frozen=True, slots=True)
class GpuShape:
    """GPUs of one engine, and of one replica with everything that runs beside it."""

    per_engine: int
    per_replica: int


def container_gpus(container: JsonMap, pod: JsonMap, devices: Devices, path: str) -> int:
    """The GPUs of one container: scalar resources, else the claims that it names. Raises `RenderError`."""
    scalar = scalar_gpus(container, path)
    if scalar or not (container.get("resources") or {}).get("claims"):
        return scalar
    return sum(request.gpus for request in claimed([container], pod, devices, path).values())


def gpu_shape(main: JsonMap, pods: Iterable[tuple[JsonMap, int]], *, nodes: int, devices: Devices) -> GpuShape | None:
    """The shape of one replica; `None` when it costs nothing.

    Args:
        main: the user's container `main`.
        pods: the Pod specs of one replica, each with the number of such Pods.
        nodes: of one engine.
        devices: where claims are looked up.

    Raises:
        RenderError: the GPUs of a container cannot be counted.
    """
    pods = list(pods)
    scalar = sum(pod_scalar_gpus(pod) * number for pod, number in pods)
    shared: dict[tuple[str, str], int] = {}
    per_pod = 0
    for pod, number in pods:
        for (_, request), found in claimed(_all(pod), pod, devices, "podTemplate.spec").items():
            if found.shared_claim:
                shared[found.shared_claim, request] = found.gpus
            else:
                per_pod += found.gpus * number
    total = scalar + per_pod + sum(shared.values())
    if not total:
        return None
    pod = pods[0][0] if pods else {}
    return GpuShape(container_gpus(main, pod, devices, "podTemplate.spec.containers[main]") * nodes, total)


def pod_scalar_gpus(pod: JsonMap) -> int:
    """Scalar GPUs that one Pod needs at its worst moment: during an init container, or when everything runs."""
    return _peak(pod, lambda container: scalar_gpus(container, f"podTemplate.spec[{container.get('name')}]"))


def _peak(pod: JsonMap, count: Callable[[JsonMap], int]) -> int:
    native, peak = 0, 0
    for container in pod.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            native += count(container)
        else:
            peak = max(peak, native + count(container))
    return max(peak, native + sum(count(container) for container in pod.get("containers") or ()))


def _all(pod: JsonMap) -> list[Mapping[str, object]]:
    return [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]
