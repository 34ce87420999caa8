"""How many GPUs one container asks for, by its scalar resources (P 2.6)."""

from __future__ import annotations

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.quantity import InvalidQuantity, parse_quantity
from dynamo_graph.render.errors import RenderError


def is_gpu_resource(name: str) -> bool:
    """Whether a resource counts GPUs."""
    name = name.lower()
    return name == "gpu" or name.endswith("/gpu") or "/mig-" in name or name.startswith("gpu.")


def requests_gpu(container: JsonMap) -> bool:
    """Whether a container asks for GPUs, in any number, by a resource or by a claim."""
    return bool(_names(container)) or bool((container.get("resources") or {}).get("claims"))


def scalar_gpus(container: JsonMap, path: str) -> int:
    """The GPUs of a container, by limits before requests; 0 when it asks for none.

    Args:
        container: as in a Pod spec.
        path: how errors name it.

    Raises:
        RenderError: several GPU resources, or a number that is not whole.
    """
    names = _names(container)
    at = f"{path}.resources"
    if len(names) > 1:
        listed = " ".join(names)
        rule = f"multiple scalar GPU resource keys [{listed}] are ambiguous; specify exactly one per container"
        raise RenderError(at, rule)
    if not names:
        return 0
    name = names[0]
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    quantity = limits[name] if name in limits else requests[name]
    try:
        value = parse_quantity(quantity)
    except InvalidQuantity as error:
        raise RenderError(at, f'GPU resource "{name}": {error}') from error
    if value != value.to_integral_value() or value < 0:
        raise RenderError(at, f'GPU resource "{name}" quantity "{quantity}" must be a whole number')
    return int(value)


def _names(container: JsonMap) -> list[str]:
    resources = container.get("resources") or {}
    names = {*(resources.get("limits") or {}), *(resources.get("requests") or {})}
    return sorted(name for name in names if is_gpu_resource(name))
