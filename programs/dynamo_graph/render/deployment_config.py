"""`DYN_DEPLOYMENT_CONFIG`: JSON in the environment that sets port, replicas and resources of a component (G 3.8 step 11).

The names of its fields are read in any case: `Workers` is `workers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.quantity import InvalidQuantity, parse_quantity
from dynamo_graph.api.component import Component
from dynamo_graph.api.names import Port
from dynamo_graph.render import env
from dynamo_graph.render.errors import RenderError

NAME: Final = "DYN_DEPLOYMENT_CONFIG"
_AT: Final = f"podTemplate.spec.containers[main].env[{NAME}]"
_RESOURCES: Final = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}


@dataclass(frozen=True, slots=True)
class Configured:
    """What the configuration makes of a component.

    Attributes:
        main: its container `main`.
        replicas: how many engines it names, if it does.
    """

    main: dict[str, Any]
    replicas: int | None = None


def configured(main: JsonMap, component: Component) -> Configured:
    """The container `main` after its own configuration. Resources from there replace those of the container: a request
    and its limit alike, so that one never exceeds the other.

    Raises:
        RenderError: malformed JSON, or a value that is no quantity.
    """
    text = env.value(main.get("env"), NAME)
    if not text:
        return Configured(dict(main))
    try:
        config: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise RenderError(_AT, f"is not JSON: {error}") from error
    key = _key(config, component) if isinstance(config, dict) else None
    if key is None:
        return Configured(dict(main))
    entry = config[key]
    if not isinstance(entry, dict):
        raise RenderError(_AT, f'the entry "{key}" must be an object')
    changed = dict(main)
    if component.type == "frontend":
        entry["port"] = Port.HTTP
        text = msgspec.json.encode(config).decode()
        changed["env"] = [
            {**item, "value": text} if item.get("name") == NAME else item for item in changed.get("env") or ()
        ]
    arguments = _field(entry, "ServiceArgs") or {}
    if not isinstance(arguments, dict):
        raise RenderError(_AT, f'ServiceArgs of "{key}" must be an object')
    workers = _field(arguments, "workers")
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 0):
        raise RenderError(_AT, f'ServiceArgs.workers of "{key}" must be a number of replicas')
    resources = _resources(_field(arguments, "resources") or {}, key)
    if resources:
        own = changed.get("resources") or {}
        changed["resources"] = {
            **own,
            "requests": {**(own.get("requests") or {}), **resources},
            "limits": {**(own.get("limits") or {}), **resources},
        }
    return Configured(changed, workers)


def _key(config: Mapping[str, Any], component: Component) -> str | None:
    if component.name in config:
        return component.name
    if component.type == "frontend":
        return next((key for key in config if key.lower() == "frontend"), None)
    return None


def _field(content: Mapping[str, Any], name: str) -> Any:
    """The value of a field: the one that is spelt like this, else one in other case, else `None`."""
    spelt = name if name in content else next((key for key in content if key.lower() == name.lower()), name)
    return content.get(spelt)


def _resources(wanted: Any, key: str) -> dict[str, str]:
    custom = _field(wanted, "custom") or {} if isinstance(wanted, dict) else None
    if not isinstance(custom, dict):
        raise RenderError(_AT, f'ServiceArgs.resources of "{key}" must be an object')
    found = {resource: _field(wanted, name) for name, resource in _RESOURCES.items()}
    pairs = {resource: quantity for resource, quantity in found.items() if quantity not in (None, "")} | custom
    for name, quantity in pairs.items():
        try:
            parse_quantity(quantity)
        except InvalidQuantity as error:
            raise RenderError(_AT, f'resource {name} of "{key}": {error}') from error
    return {name: str(quantity) for name, quantity in pairs.items()}
