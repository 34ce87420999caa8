"""What renders but hardly does what its author meant. Told as Warning events; nothing is changed (P 4.1, 5.4, 9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dynamo_graph.api.component import Component
from dynamo_graph.api.names import Annotation, Port
from dynamo_graph.render import env, template


class RenderWarning(NamedTuple):
    """Reason and message of an event."""

    reason: str
    message: str


def render_warnings(component: Component) -> Iterator[RenderWarning]:
    """The warnings about one component."""
    main = template.main_container(component.pod_template)
    arguments = main.get("args") or ()
    name = component.name
    if component.is_worker and not main.get("command") and len(arguments) > 1:
        yield RenderWarning(
            "ArgsIgnored",
            f"component {name}: the default command is /bin/sh -c, which runs only the first of {len(arguments)} args",
        )
    port = env.value(main.get("env"), "DYN_SYSTEM_PORT")
    if component.is_worker and port not in (None, str(Port.SYSTEM)):
        yield RenderWarning(
            "SystemPortMismatch",
            f"component {name}: DYN_SYSTEM_PORT is {port}, but the default probes ask port {Port.SYSTEM}",
        )
    mode = template.annotations_of(component.pod_template).get(Annotation.DISCOVERY_MODE)
    if component.is_worker and component.frontend_sidecar and mode != "container":
        yield RenderWarning(
            "DiscoveryModePod",
            f"component {name}: worker and frontend sidecar register under one identity"
            f" unless {Annotation.DISCOVERY_MODE} is container",
        )
