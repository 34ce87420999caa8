"""The built-in resources, as a table: what each is called, what it has, and which strategy its content follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dynamo_ctrl.engine.memory.crds import CRD_STRATEGY
from dynamo_ctrl.engine.memory.namespaces import NAMESPACE_STRATEGY
from dynamo_ctrl.engine.memory.served import ScalePaths, Served, Strategy
from dynamo_ctrl.engine.port import AnyKind

_SPEC: Final = frozenset({"spec"})
_BOTH: Final = frozenset({"spec", "status"})
_SCALE: Final = ScalePaths(selector="spec.selector")
_PLAIN: Final = Strategy()


def _resource(
    group: str,
    kind: str,
    plural: str = "",
    *,
    version: str = "v1",
    strategy: Strategy = _PLAIN,
    sections: frozenset[str] = _BOTH,
    cluster: bool = False,
    bumps: tuple[str, ...] = (),
    scale: ScalePaths | None = None,
    unconditional: bool = True,
    returns_deleted: bool = False,
    selectable: tuple[str, ...] = (),
    name_rule: str = "subdomain",
) -> Served:
    return Served(
        group=group,
        plural=plural or f"{kind.lower()}s",
        kind=kind,
        namespaced=not cluster,
        versions={version: strategy},
        stored=strategy,
        storage_version=version,
        status="status" in sections,
        scale=scale,
        bumps=bumps,
        unconditional=unconditional,
        returns_deleted=returns_deleted,
        sections=sections,
        selectable=frozenset(selectable),
        name_rule=name_rule,
    )


def _core() -> Iterator[Served]:
    yield _resource("", "Namespace", cluster=True, strategy=NAMESPACE_STRATEGY, returns_deleted=True, name_rule="label",
                    selectable=("status.phase",))  # fmt: skip
    yield _resource("", "Node", cluster=True, returns_deleted=True, selectable=("spec.unschedulable",))
    yield _resource("", "PersistentVolume", cluster=True, returns_deleted=True)
    yield _resource("", "Pod", bumps=("spec",), returns_deleted=True,
                    selectable=("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
                                "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs",
                                "status.nominatedNodeName"))  # fmt: skip
    yield _resource(
        "", "Service", returns_deleted=True, name_rule="service", selectable=("spec.clusterIP", "spec.type")
    )
    yield _resource("", "ServiceAccount", sections=frozenset({"secrets", "imagePullSecrets", "automountServiceAccountToken"}),
                    returns_deleted=True)  # fmt: skip
    yield _resource("", "ConfigMap", sections=frozenset({"data", "binaryData", "immutable"}))
    yield _resource("", "Secret", sections=frozenset({"data", "stringData", "type", "immutable"}), selectable=("type",))
    yield _resource("", "PersistentVolumeClaim", returns_deleted=True)
    yield _resource("", "Endpoints", "endpoints", sections=frozenset({"subsets"}))
    yield _resource("", "ReplicationController", bumps=("spec",), scale=_SCALE, returns_deleted=True,
                    selectable=("status.replicas",))  # fmt: skip
    yield _resource("", "PodTemplate", sections=frozenset({"template"}), returns_deleted=True)
    yield _resource("", "ResourceQuota", returns_deleted=True)
    yield _resource("", "LimitRange", sections=_SPEC)


def _apps() -> Iterator[Served]:
    yield _resource("apps", "Deployment", bumps=("spec", "annotations"), scale=_SCALE, returns_deleted=True)
    yield _resource("apps", "ReplicaSet", bumps=("spec",), scale=_SCALE, returns_deleted=True,
                    selectable=("status.replicas",))  # fmt: skip
    yield _resource("apps", "StatefulSet", bumps=("spec",), scale=_SCALE, returns_deleted=True)
    yield _resource("apps", "DaemonSet", bumps=("spec",), returns_deleted=True)
    yield _resource("apps", "ControllerRevision", sections=frozenset({"data", "revision"}))
    yield _resource("batch", "Job", bumps=("spec",), returns_deleted=True, selectable=("status.successful",))
    yield _resource("batch", "CronJob", bumps=("spec",), returns_deleted=True)
    yield _resource("autoscaling", "HorizontalPodAutoscaler", version="v2", bumps=("spec",), returns_deleted=True)
    yield _resource("policy", "PodDisruptionBudget", bumps=("spec",), unconditional=False, returns_deleted=True)


_RULES: Final = frozenset({"rules", "aggregationRule"})
_ROLE_BINDING: Final = frozenset({"subjects", "roleRef"})


def _others() -> Iterator[Served]:
    rbac = "rbac.authorization.k8s.io"
    yield _resource(rbac, "Role", sections=_RULES, name_rule="path")
    yield _resource(rbac, "RoleBinding", sections=_ROLE_BINDING, name_rule="path")
    yield _resource(rbac, "ClusterRole", sections=_RULES, cluster=True, name_rule="path")
    yield _resource(rbac, "ClusterRoleBinding", sections=_ROLE_BINDING, cluster=True, name_rule="path")
    yield _resource("coordination.k8s.io", "Lease", sections=_SPEC, unconditional=False)
    yield _resource("networking.k8s.io", "Ingress", "ingresses", bumps=("spec",), returns_deleted=True)
    yield _resource(
        "networking.k8s.io", "IngressClass", "ingressclasses", sections=_SPEC, bumps=("spec",), cluster=True
    )
    yield _resource("networking.k8s.io", "NetworkPolicy", "networkpolicies", sections=_SPEC, bumps=("spec",))
    yield _resource("discovery.k8s.io", "EndpointSlice", sections=frozenset({"addressType", "endpoints", "ports"}),
                    bumps=("addressType", "endpoints", "ports"))  # fmt: skip
    yield _resource("storage.k8s.io", "StorageClass", "storageclasses", cluster=True, returns_deleted=True,
                    sections=frozenset({"provisioner", "parameters", "reclaimPolicy", "mountOptions",
                                        "allowVolumeExpansion", "volumeBindingMode", "allowedTopologies"}))  # fmt: skip
    yield _resource("scheduling.k8s.io", "PriorityClass", "priorityclasses", cluster=True, bumps=("value",),
                    sections=frozenset({"value", "globalDefault", "description", "preemptionPolicy"}))  # fmt: skip
    yield _resource("node.k8s.io", "RuntimeClass", "runtimeclasses", cluster=True, unconditional=False,
                    sections=frozenset({"handler", "overhead", "scheduling"}))  # fmt: skip
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        yield _resource("admissionregistration.k8s.io", kind, cluster=True, bumps=("webhooks",), unconditional=False,
                        sections=frozenset({"webhooks"}))  # fmt: skip
    yield _resource("apiextensions.k8s.io", "CustomResourceDefinition", cluster=True, bumps=("spec",),
                    strategy=CRD_STRATEGY, unconditional=False, returns_deleted=True)  # fmt: skip


_EVENT: Final = frozenset({"eventTime", "series", "reportingInstance", "action", "reason", "related", "type"})


def _events() -> Iterator[Served]:
    core = _EVENT | {
        "involvedObject",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "reportingComponent",
    }
    fields = ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
              "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
              "reportingComponent", "source", "type")  # fmt: skip
    yield _resource("", "Event", sections=core, selectable=fields)
    events = _EVENT | {"regarding", "note", "reportingController", "deprecatedSource", "deprecatedFirstTimestamp",
                       "deprecatedLastTimestamp", "deprecatedCount"}  # fmt: skip
    yield _resource("events.k8s.io", "Event", sections=events)


def builtins() -> Iterator[Served]:
    """Every built-in resource."""
    yield from _core()
    yield from _apps()
    yield from _others()
    yield from _events()


def registered(kind: AnyKind) -> Served:
    """A resource for a kind without a CRD: custom, and without a schema."""
    return Served(
        group=kind.group,
        plural=kind.plural,
        kind=kind.kind,
        namespaced=kind.namespaced,
        versions={kind.version: _PLAIN},
        stored=_PLAIN,
        storage_version=kind.version,
        status=kind.status_subresource,
        scale=ScalePaths(),
        bumps=("*",),
        custom=True,
        unconditional=False,
    )
