"""Which inference engine a worker runs: told by the graph, or found in its command (G 3.8 step 2, P 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, get_args

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.component import BackendFramework, Component
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.template import main_container

_FRAMEWORKS: Final[tuple[BackendFramework, ...]] = get_args(BackendFramework)
_ENGINE: Final = re.compile(
    rf"(?:^|[\s/'\"(;&|])python\d*(?:\.\d+)*\s(?:[^|&;\n]*?\s)?-m\s+dynamo\.({'|'.join(_FRAMEWORKS)})(?![\w-])"
)


def detected(container: JsonMap, path: str) -> BackendFramework | None:
    """The engine that the command and arguments of a container start.

    Raises:
        RenderError: they start two different ones.
    """
    line = " ".join((*(container.get("command") or ()), *(container.get("args") or ())))
    found = sorted(set(_ENGINE.findall(line)))
    if len(found) > 1:
        raise RenderError(path, f"starts several backend frameworks: {', '.join(found)}")
    return next((framework for framework in _FRAMEWORKS if framework in found), None)


def resolved(explicit: BackendFramework | None, container: JsonMap, path: str) -> BackendFramework | None:
    """The engine of one worker: the explicit one, else the detected one; `None` means that no engine's rules apply.

    Raises:
        RenderError: the two differ.
    """
    found = detected(container, path)
    if explicit and found and found != explicit:
        rule = f'backend framework mismatch: detected "{found}" from command but explicitly configured as "{explicit}"'
        raise RenderError(path, rule)
    return explicit or found


def graph_framework(explicit: BackendFramework | None, components: Iterable[Component]) -> BackendFramework | None:
    """The one engine of a graph's workers.

    Raises:
        RenderError: two workers run different engines, or one differs from the explicit engine.
    """
    first: tuple[str, BackendFramework] | None = None
    for index, component in enumerate(components):
        if not component.is_worker:
            continue
        path = f"components[{index}].podTemplate.spec.containers[main].command"
        found = resolved(explicit, main_container(component.pod_template), path)
        if found is None:
            continue
        if first is not None and first[1] != found:
            rule = f'runs {found}, but component "{first[0]}" runs {first[1]}: a graph has one backend framework'
            raise RenderError(path, rule)
        first = first or (component.name, found)
    return explicit or (first[1] if first else None)
