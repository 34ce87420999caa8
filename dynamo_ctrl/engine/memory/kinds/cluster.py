"""Services and the other kinds around workloads: defaults, and the few rules that clients run into."""

from __future__ import annotations

import uuid
from typing import Final

from dynamo_ctrl.engine.memory.field_error import FieldError, forbidden_field, invalid_value, required
from dynamo_ctrl.engine.memory.kinds.filling import drop_empty, fill, items, section
from dynamo_ctrl.engine.memory.served import Strategy, Tree

HEADLESS: Final = "None"
_CPU_TARGET: Final = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
_CLAIM_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def _service(tree: Tree) -> None:
    spec = section(tree, "spec")
    fill(spec, type="ClusterIP", sessionAffinity="None")
    for port in items(spec, "ports"):
        fill(port, protocol="TCP", targetPort=port.get("port"))
    if spec["type"] != "ExternalName":
        fill(spec, ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack", internalTrafficPolicy="Cluster")
        if spec.get("clusterIP"):
            fill(spec, clusterIPs=[spec["clusterIP"]])
    drop_empty(spec, "clusterIP", "selector", "ports")
    fill(section(tree, "status"), loadBalancer={})


def _new_service(tree: Tree) -> None:
    spec = tree["spec"]
    if spec["type"] != "ExternalName" and not spec.get("clusterIP"):
        address = _cluster_ip(tree["metadata"]["uid"])
        spec |= {"clusterIP": address, "clusterIPs": [address]}


def _cluster_ip(uid: str) -> str:
    """An address of 10.96.0.0/12 that follows from the uid, so that equal histories give equal addresses."""
    number = uuid.UUID(uid).int % (1 << 20)
    return f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _keep_address(new: Tree, old: Tree) -> None:
    spec, before = section(new, "spec"), old["spec"]
    if spec.get("type", before["type"]) == before["type"] and before.get("clusterIP") and not spec.get("clusterIP"):
        spec |= {"clusterIP": before["clusterIP"], "clusterIPs": before["clusterIPs"]}


def _service_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    spec = new["spec"]
    ports = items(spec, "ports")
    errors: list[FieldError] = []
    if not ports and spec["type"] != "ExternalName" and spec.get("clusterIP") != HEADLESS:
        errors.append(required("spec.ports"))
    for index, port in enumerate(ports):
        if not port.get("name") and len(ports) > 1:
            errors.append(required(f"spec.ports[{index}].name"))
        number = port.get("port")
        if not isinstance(number, int) or not 0 < number < 65536:
            errors.append(
                invalid_value(f"spec.ports[{index}].port", number or 0, "must be between 1 and 65535, inclusive")
            )
    if old is not None and old["spec"].get("clusterIP") and spec["type"] == old["spec"]["type"] != "ExternalName":
        before, address = old["spec"]["clusterIP"], spec.get("clusterIP")
        if address != before:
            rule = "may not change once set"
            errors.append(invalid_value("spec.clusterIPs[0]", [address], rule))
    return errors


def _claim(tree: Tree) -> None:
    fill(section(tree, "spec"), volumeMode="Filesystem")
    fill(section(tree, "status"), phase="Pending")


def _claim_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    spec = new["spec"]
    errors = [] if spec.get("accessModes") else [required("spec.accessModes", "at least 1 access mode is required")]
    if not ((spec.get("resources") or {}).get("requests") or {}).get("storage"):
        errors.append(required("spec.resources[storage]"))
    if old is not None and _fixed_claim(spec) != _fixed_claim(old["spec"]):
        errors.append(forbidden_field("spec", _CLAIM_FIXED))
    return errors


def _fixed_claim(spec: Tree) -> Tree:
    return {
        name: value
        for name, value in spec.items()
        if name not in ("resources", "volumeName", "volumeAttributesClassName")
    }


def _autoscaler(tree: Tree) -> None:
    fill(section(tree, "spec"), minReplicas=1, metrics=[_CPU_TARGET])
    fill(section(tree, "status"), desiredReplicas=0)
    tree["status"].setdefault("currentMetrics", None)


def _disruption_budget(tree: Tree) -> None:
    fill(section(tree, "status"), disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0, expectedPods=0)


def _ingress(tree: Tree) -> None:
    fill(section(tree, "status"), loadBalancer={})


def _network_policy(tree: Tree) -> None:
    spec = section(tree, "spec")
    fill(spec, policyTypes=["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])


def _endpoint_slice(tree: Tree) -> None:
    for name in ("endpoints", "ports"):
        if not tree.get(name):
            tree[name] = None


def _storage_class(tree: Tree) -> None:
    fill(tree, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _priority_class(tree: Tree) -> None:
    fill(tree, preemptionPolicy="PreemptLowerPriority")


def _core_event(tree: Tree) -> None:
    fill(tree, source={}, reportingComponent="", reportingInstance="")
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        tree.setdefault(name, None)


def _event(tree: Tree) -> None:
    fill(tree, deprecatedSource={})
    for name in ("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"):
        tree.setdefault(name, None)


def _has_status(tree: Tree) -> None:
    section(tree, "status")


SERVICE: Final = Strategy(admit=_service, create=_new_service, update=_keep_address, validate=_service_errors)
CLAIM: Final = Strategy(admit=_claim, validate=_claim_errors)
AUTOSCALER: Final = Strategy(admit=_autoscaler)
DISRUPTION_BUDGET: Final = Strategy(admit=_disruption_budget)
INGRESS: Final = Strategy(admit=_ingress)
NETWORK_POLICY: Final = Strategy(admit=_network_policy)
ENDPOINT_SLICE: Final = Strategy(admit=_endpoint_slice)
STORAGE_CLASS: Final = Strategy(admit=_storage_class)
PRIORITY_CLASS: Final = Strategy(admit=_priority_class)
CORE_EVENT: Final = Strategy(admit=_core_event)
EVENT: Final = Strategy(admit=_event)
QUOTA: Final = Strategy(admit=_has_status)
