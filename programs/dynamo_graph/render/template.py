"""Reading a Pod template, whose parts may be absent or null, and writing it without touching what was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_graph.api.names import MAIN


def annotations_of(template: JsonMap | None) -> Mapping[str, str]:
    """The annotations of a template."""
    return _metadata(template).get("annotations") or {}


def labels_of(template: JsonMap | None) -> Mapping[str, str]:
    """The labels of a template."""
    return _metadata(template).get("labels") or {}


def pod_spec(template: JsonMap | None) -> JsonMap:
    """The Pod spec of a template."""
    return (template or {}).get("spec") or {}


def containers(template: JsonMap | None) -> list[JsonMap]:
    """The containers of a template."""
    return list(pod_spec(template).get("containers") or ())


def main_container(template: JsonMap | None) -> JsonMap:
    """The container `main`, empty when there is none."""
    return next((container for container in containers(template) if container.get("name") == MAIN), {})


def with_metadata(
    template: JsonMap | None, *, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> dict[str, Any]:
    """A copy of the template with exactly those labels and annotations; empty ones are left out."""
    copy: dict[str, Any] = thaw(template or {})
    metadata = {
        key: value for key, value in (copy.get("metadata") or {}).items() if key not in ("labels", "annotations")
    }
    for key, values in (("labels", labels), ("annotations", annotations)):
        if values:
            metadata[key] = dict(values)
    copy.pop("metadata", None)
    return {"metadata": metadata, **copy} if metadata else copy


def with_main(template: JsonMap | None, main: JsonMap) -> dict[str, Any]:
    """A copy of the template with `main` in the place of the container of that name, or before all others."""
    copy: dict[str, Any] = thaw(template or {})
    spec = copy["spec"] = copy.get("spec") or {}
    found = list(spec.get("containers") or ())
    if any(container.get("name") == MAIN for container in found):
        spec["containers"] = [thaw(main) if container.get("name") == MAIN else container for container in found]
    else:
        spec["containers"] = [thaw(main), *found]
    return copy


def _metadata(template: JsonMap | None) -> JsonMap:
    return (template or {}).get("metadata") or {}
