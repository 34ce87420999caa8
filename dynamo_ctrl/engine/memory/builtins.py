"""The built-in resources, as a table: what each is called, what it has, and which strategy its content follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dynamo_ctrl.engine.memory.crds import CRD_STRATEGY
from dynamo_ctrl.engine.memory.kinds import cluster, configuration, devices, pods, workloads
from dynamo_ctrl.engine.memory.kinds.shapes import kind_shape
from dynamo_ctrl.engine.memory.namespaces import NAMESPACE_STRATEGY
from dynamo_ctrl.engine.memory.served import ScalePaths, Served, Strategy
from dynamo_ctrl.engine.port import AnyKind

_SCALE: Final = ScalePaths(selector="spec.selector")
_PLAIN: Final = Strategy()


def _resource(
    group: str,
    kind: str,
    strategy: Strategy = _PLAIN,
    *,
    plural: str = "",
    version: str = "v1",
    sections: str = "spec status",
    at_cluster: bool = False,
    bumps: str = "",
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
        namespaced=not at_cluster,
        versions={version: strategy},
        stored=strategy,
        storage_version=version,
        status="status" in sections.split(),
        scale=scale,
        bumps=tuple(bumps.split()),
        unconditional=unconditional,
        returns_deleted=returns_deleted,
        sections=frozenset(sections.split()),
        shape=kind_shape(kind, frozenset(sections.split())),
        selectable=frozenset(selectable),
        name_rule=name_rule,
    )


# fmt: off
def _core() -> Iterator[Served]:
    pod_fields = ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
                  "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName")
    yield _resource("", "Namespace", NAMESPACE_STRATEGY, at_cluster=True, returns_deleted=True, name_rule="label",
                    selectable=("status.phase",))
    yield _resource("", "Node", at_cluster=True, returns_deleted=True, selectable=("spec.unschedulable",))
    yield _resource("", "PersistentVolume", at_cluster=True, returns_deleted=True)
    yield _resource("", "Pod", pods.POD, bumps="spec", returns_deleted=True, selectable=pod_fields)
    yield _resource("", "Service", cluster.SERVICE, returns_deleted=True, name_rule="label",
                    selectable=("spec.clusterIP", "spec.type"))
    yield _resource("", "ServiceAccount", returns_deleted=True,
                    sections="secrets imagePullSecrets automountServiceAccountToken")
    yield _resource("", "ConfigMap", configuration.CONFIG_MAP, sections="data binaryData immutable")
    yield _resource("", "Secret", configuration.SECRET, sections="data stringData type immutable", selectable=("type",))
    yield _resource("", "PersistentVolumeClaim", cluster.CLAIM, returns_deleted=True)
    yield _resource("", "Endpoints", plural="endpoints", sections="subsets")
    yield _resource("", "ReplicationController", bumps="spec", scale=_SCALE, returns_deleted=True,
                    selectable=("status.replicas",))
    yield _resource("", "PodTemplate", sections="template", returns_deleted=True)
    yield _resource("", "ResourceQuota", cluster.QUOTA, returns_deleted=True)
    yield _resource("", "LimitRange", sections="spec")


def _apps() -> Iterator[Served]:
    yield _resource("apps", "Deployment", workloads.DEPLOYMENT, bumps="spec annotations", scale=_SCALE, returns_deleted=True)
    yield _resource("apps", "ReplicaSet", workloads.REPLICA_SET, bumps="spec", scale=_SCALE, returns_deleted=True,
                    selectable=("status.replicas",))
    yield _resource("apps", "StatefulSet", workloads.STATEFUL_SET, bumps="spec", scale=_SCALE, returns_deleted=True)
    yield _resource("apps", "DaemonSet", workloads.DAEMON_SET, bumps="spec", returns_deleted=True)
    yield _resource("apps", "ControllerRevision", sections="data revision")
    yield _resource("batch", "Job", workloads.JOB, bumps="spec", returns_deleted=True, selectable=("status.successful",))
    yield _resource("batch", "CronJob", workloads.CRON_JOB, bumps="spec", returns_deleted=True)
    yield _resource("autoscaling", "HorizontalPodAutoscaler", cluster.AUTOSCALER, version="v2", bumps="spec",
                    returns_deleted=True)
    yield _resource("policy", "PodDisruptionBudget", cluster.DISRUPTION_BUDGET, bumps="spec", unconditional=False,
                    returns_deleted=True)


def _others() -> Iterator[Served]:
    rbac, networking, hooks = "rbac.authorization.k8s.io", "networking.k8s.io", "admissionregistration.k8s.io"
    for scope, at_cluster in (("", False), ("Cluster", True)):
        yield _resource(rbac, f"{scope}Role", configuration.ROLE, at_cluster=at_cluster, name_rule="path",
                        sections="rules aggregationRule")
        yield _resource(rbac, f"{scope}RoleBinding", configuration.ROLE_BINDING, at_cluster=at_cluster, name_rule="path",
                        sections="subjects roleRef")
    yield _resource("coordination.k8s.io", "Lease", sections="spec", unconditional=False)
    yield _resource(networking, "Ingress", cluster.INGRESS, plural="ingresses", bumps="spec", returns_deleted=True)
    yield _resource(networking, "IngressClass", plural="ingressclasses", sections="spec", bumps="spec", at_cluster=True)
    yield _resource(networking, "NetworkPolicy", cluster.NETWORK_POLICY, plural="networkpolicies", sections="spec",
                    bumps="spec")
    yield _resource("discovery.k8s.io", "EndpointSlice", cluster.ENDPOINT_SLICE, sections="addressType endpoints ports",
                    bumps="addressType endpoints ports")
    yield _resource("storage.k8s.io", "StorageClass", cluster.STORAGE_CLASS, plural="storageclasses", at_cluster=True,
                    returns_deleted=True, sections="provisioner parameters reclaimPolicy mountOptions allowVolumeExpansion "
                                                   "volumeBindingMode allowedTopologies")
    yield _resource("scheduling.k8s.io", "PriorityClass", cluster.PRIORITY_CLASS, plural="priorityclasses",
                    at_cluster=True, bumps="value", sections="value globalDefault description preemptionPolicy")
    yield _resource("node.k8s.io", "RuntimeClass", plural="runtimeclasses", at_cluster=True, unconditional=False,
                    sections="handler overhead scheduling")
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        yield _resource(hooks, kind, at_cluster=True, bumps="webhooks", unconditional=False, sections="webhooks")
    yield _resource("apiextensions.k8s.io", "CustomResourceDefinition", CRD_STRATEGY, at_cluster=True, bumps="spec",
                    unconditional=False, returns_deleted=True)


def _devices() -> Iterator[Served]:
    group = "resource.k8s.io"
    yield _resource(group, "ResourceClaim", devices.CLAIM, returns_deleted=True)
    yield _resource(group, "ResourceClaimTemplate", devices.CLAIM_TEMPLATE, sections="spec", returns_deleted=True)
    yield _resource(group, "DeviceClass", plural="deviceclasses", sections="spec", at_cluster=True, bumps="spec",
                    returns_deleted=True)
    yield _resource(group, "ResourceSlice", sections="spec", at_cluster=True, bumps="spec", returns_deleted=True,
                    selectable=("spec.driver", "spec.nodeName"))


def _events() -> Iterator[Served]:
    shared = "eventTime series reportingInstance action reason related type"
    fields = ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
              "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
              "reportingComponent", "source", "type")
    yield _resource("", "Event", cluster.CORE_EVENT, selectable=fields,
                    sections=f"{shared} involvedObject message source firstTimestamp lastTimestamp count reportingComponent")
    yield _resource("events.k8s.io", "Event", cluster.EVENT,
                    sections=f"{shared} regarding note reportingController deprecatedSource deprecatedFirstTimestamp "
                             "deprecatedLastTimestamp deprecatedCount")
# fmt: on


def builtins() -> Iterator[Served]:
    """Every built-in resource."""
    yield from _core()
    yield from _apps()
    yield from _others()
    yield from _devices()
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
