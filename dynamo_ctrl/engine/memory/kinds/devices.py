"""Dynamic resources: what Pods ask for (claims, and templates of claims), and the classes and slices that are on offer.

Claims are kept and checked; nothing here allocates a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dynamo_ctrl.engine.memory.field_error import FieldError, invalid_value, required
from dynamo_ctrl.engine.memory.kinds.filling import fill, items, section
from dynamo_ctrl.engine.memory.served import Strategy, Tree, same

EXACT_COUNT: Final = "ExactCount"
_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"
_FIXED: Final = "field is immutable"


def _fill_devices(spec: Tree) -> None:
    devices = section(spec, "devices")
    devices.setdefault("requests", None)
    for request in items(devices, "requests"):
        exactly = [request["exactly"]] if isinstance(request.get("exactly"), dict) else []
        for asked in (*exactly, *items(request, "firstAvailable")):
            fill(asked, allocationMode=EXACT_COUNT)
            if asked["allocationMode"] == EXACT_COUNT:
                fill(asked, count=1)


def _device_errors(spec: Tree, path: str) -> Iterator[FieldError]:
    for index, request in enumerate(items(section(spec, "devices"), "requests")):
        at = f"{path}.devices.requests[{index}]"
        if not request.get("name"):
            yield required(f"{at}.name")
        exactly, choices = request.get("exactly"), items(request, "firstAvailable")
        if (exactly is None) == (not choices):
            yield required(at, _ONE_OF)
        elif exactly is not None and not exactly.get("deviceClassName"):
            yield required(f"{at}.exactly.deviceClassName")
        for number, choice in enumerate(choices):
            if not choice.get("deviceClassName"):
                yield required(f"{at}.firstAvailable[{number}].deviceClassName")


def _claim(tree: Tree) -> None:
    _fill_devices(section(tree, "spec"))
    section(tree, "status")


def _claim_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    if old is not None:  # the server tells no value here
        return [] if same(new["spec"], old["spec"]) else [invalid_value("spec", None, _FIXED)]
    return list(_device_errors(new["spec"], "spec"))


def _template(tree: Tree) -> None:
    _fill_devices(section(section(tree, "spec"), "spec"))


def _template_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    if old is not None:
        return [] if same(new["spec"], old["spec"]) else [invalid_value("spec", new["spec"], _FIXED)]
    return list(_device_errors(new["spec"]["spec"], "spec.spec"))


CLAIM: Final = Strategy(admit=_claim, validate=_claim_errors)
CLAIM_TEMPLATE: Final = Strategy(admit=_template, validate=_template_errors)
