"""Pods and pod templates: defaults, quality of service, grace, and what an update may change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dynamo_ctrl.engine.memory.field_error import FieldError, forbidden_field, invalid_value, required, unsupported
from dynamo_ctrl.engine.memory.kinds.filling import drop_empty, fill, items, section
from dynamo_ctrl.engine.memory.served import Strategy, Tree

DEFAULT_GRACE: Final = 30
"""Seconds of grace of a Pod that names none."""

FILE_MODE: Final = 0o644

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_CONTAINER_LISTS: Final = ("containers", "initContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_MODE_VOLUMES: Final = ("configMap", "secret", "downwardAPI", "projected")
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS: Final = 300
_COUNTED: Final = ("cpu", "memory")
_MAY_CHANGE: Final = (
    "activeDeadlineSeconds",
    "tolerations",
    "terminationGracePeriodSeconds",
    "schedulingGates",
    "nodeName",
)
_ONLY: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FINISHED: Final = ("Succeeded", "Failed")


def default_pod_spec(spec: Tree) -> None:
    """The defaults that hold for every pod spec, in a Pod or in a template."""
    for name in _CONTAINER_LISTS:
        for container in items(spec, name):
            _default_container(container)
    fill(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=DEFAULT_GRACE,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    for volume in items(spec, "volumes"):
        _default_volume(volume)
    drop_empty(spec, "volumes", "initContainers", "nodeSelector", "tolerations", "imagePullSecrets", "nodeName")


def _default_container(container: Tree) -> None:
    image = str(container.get("image") or "")
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    latest = "@" not in image and tag in ("", "latest")
    fill(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy="Always" if latest else "IfNotPresent",
    )
    for port in items(container, "ports"):
        fill(port, protocol="TCP")
    for probe in (container[name] for name in _PROBES if isinstance(container.get(name), dict)):
        fill(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
        _default_handler(probe)
    lifecycle = container.get("lifecycle")
    for hook in lifecycle.values() if isinstance(lifecycle, dict) else ():
        if isinstance(hook, dict):
            _default_handler(hook)
    for variable in items(container, "env"):
        source = variable.get("valueFrom")
        if isinstance(source, dict) and isinstance(source.get("fieldRef"), dict):
            fill(source["fieldRef"], apiVersion="v1")
        drop_empty(variable, "value")
    resources = container["resources"]
    if isinstance(resources, dict) and isinstance(resources.get("limits"), dict):
        requests = section(resources, "requests")
        for name, amount in resources["limits"].items():
            requests.setdefault(name, amount)
    drop_empty(container, "env", "envFrom", "ports", "args", "command", "volumeMounts")


def _default_handler(handler: Tree) -> None:
    if isinstance(handler.get("httpGet"), dict):
        fill(handler["httpGet"], scheme="HTTP", path="/")
    if isinstance(handler.get("grpc"), dict):
        fill(handler["grpc"], service="")


def _default_volume(volume: Tree) -> None:
    for name in _MODE_VOLUMES:
        if isinstance(volume.get(name), dict):
            fill(volume[name], defaultMode=FILE_MODE)
    projected = volume.get("projected")
    for source in items(projected, "sources") if isinstance(projected, dict) else ():
        if isinstance(source.get("serviceAccountToken"), dict):
            fill(source["serviceAccountToken"], expirationSeconds=3600)
    if isinstance(volume.get("hostPath"), dict):
        fill(volume["hostPath"], type="")
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def _admit(tree: Tree) -> None:
    spec = section(tree, "spec")
    fill(spec, serviceAccountName="default")
    default_pod_spec(spec)
    fill(spec, enableServiceLinks=True, priority=0, preemptionPolicy="PreemptLowerPriority")
    tolerated = {(each.get("key"), each.get("effect")) for each in items(spec, "tolerations")}
    for taint in _TAINTS:
        if not tolerated & {(taint, "NoExecute"), (taint, None), (None, None), (None, "NoExecute")}:
            spec.setdefault("tolerations", []).append(
                {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}
            )
    fill(section(tree, "status"), phase="Pending", qosClass=quality_of_service(spec))


def quality_of_service(spec: Tree) -> str:
    """The QoS class that the resources of a pod spec give."""
    resources = [section(container, "resources") for name in _CONTAINER_LISTS for container in items(spec, name)]
    asked = [
        (each.get("requests") or {}).get(name) or (each.get("limits") or {}).get(name)
        for each in resources
        for name in _COUNTED
    ]
    if not any(asked):
        return "BestEffort"
    full = all(
        (each.get("limits") or {}).get(name) and (each.get("requests") or {}).get(name) == each["limits"][name]
        for each in resources
        for name in _COUNTED
    )
    return "Guaranteed" if full else "Burstable"


def pod_spec_errors(spec: Tree, path: str, *, restart: tuple[str, ...] = _RESTART_POLICIES) -> Iterator[FieldError]:
    """The rules of a pod spec that clients run into."""
    if not items(spec, "containers"):
        yield required(f"{path}.containers")
    for name in _CONTAINER_LISTS:
        for index, container in enumerate(items(spec, name)):
            if not container.get("name"):
                yield required(f"{path}.{name}[{index}].name")
            if not container.get("image"):
                yield required(f"{path}.{name}[{index}].image")
    if spec.get("restartPolicy") not in restart:
        yield unsupported(f"{path}.restartPolicy", spec.get("restartPolicy"), restart)


def _validate(new: Tree, old: Tree | None) -> list[FieldError]:
    errors = list(pod_spec_errors(new["spec"], "spec"))
    if old is not None and _fixed(new["spec"]) != _fixed(old["spec"]):
        errors.append(forbidden_field("spec", _ONLY))
    if old is not None and old["spec"].get("nodeName") not in (None, new["spec"].get("nodeName")):
        errors.append(invalid_value("spec.nodeName", new["spec"].get("nodeName", ""), "field is immutable"))
    return errors


def _fixed(spec: Tree) -> Tree:
    fixed: dict[str, Any] = {name: value for name, value in spec.items() if name not in _MAY_CHANGE}
    for name in _CONTAINER_LISTS:
        fixed[name] = [
            {field: value for field, value in container.items() if field not in ("image", "imagePullPolicy")}
            for container in items(spec, name)
        ]
    return fixed


def _grace(tree: Tree, asked: int | None) -> int:
    """A Pod that no node has, or that has ended, goes at once; any other waits for its kubelet."""
    spec = tree["spec"]
    if not spec.get("nodeName") or tree.get("status", {}).get("phase") in _FINISHED:
        return 0
    grace = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE) if asked is None else asked
    return 1 if grace < 0 else int(grace)


POD: Final = Strategy(admit=_admit, validate=_validate, grace=_grace)
