"""The shapes of built-in kinds, as far as this server reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dynamo_ctrl.engine.memory.kinds.pod_shapes import (
    POD_SPEC,
    POD_STATUS,
    SELECTOR,
    TEMPLATE,
    conditions,
    requirements,
)
from dynamo_ctrl.engine.memory.shape import (
    ANYTHING,
    BOOL,
    BYTES,
    ENVELOPE,
    INT32,
    INT64,
    INT_OR_TEXT,
    METADATA,
    NUMBER,
    QUANTITIES,
    TEXT,
    TEXT_MAP,
    TEXTS,
    TIME,
    Fields,
    Many,
    Mapped,
    OrBool,
    Shape,
)


def kind_shape(kind: str, sections: frozenset[str]) -> Fields:
    """The shape of a built-in kind; of one that nobody reads, that spec and status are objects."""
    known = _KINDS.get(kind)
    if known is None:
        objects = {name: Fields(f"v1.{kind}{name.title()}") for name in ("spec", "status") if name in sections}
        known = _kind(kind, **objects)
    return known


def _kind(kind: str, **sections: Shape) -> Fields:
    return Fields(f"v1.{kind}", **ENVELOPE.fields, metadata=METADATA, **sections)


def _workloads() -> Iterator[Fields]:
    common = {"replicas": INT32, "selector": SELECTOR, "template": TEMPLATE, "minReadySeconds": INT32,
              "revisionHistoryLimit": INT32}  # fmt: skip

    def strategy(go: str, bounds: str) -> Fields:
        update = Fields(f"v1.{bounds}", maxUnavailable=INT_OR_TEXT, maxSurge=INT_OR_TEXT, partition=INT32)
        return Fields(f"v1.{go}", type=TEXT, rollingUpdate=update)

    def counts(kind: str, *names: str) -> Fields:
        counted = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", *names), INT32)
        return Fields(f"v1.{kind}Status", observedGeneration=INT64, conditions=conditions(kind), **counted)

    rolling = strategy("DeploymentStrategy", "RollingUpdateDeployment")
    yield _kind(
        "Deployment",
        spec=Fields("v1.DeploymentSpec", strategy=rolling, paused=BOOL, progressDeadlineSeconds=INT32, **common),
        status=counts("Deployment", "unavailableReplicas"),
    )
    yield _kind(
        "ReplicaSet",
        spec=Fields("v1.ReplicaSetSpec", **common),
        status=counts("ReplicaSet", "fullyLabeledReplicas"),
    )
    kept = Fields("v1.StatefulSetPersistentVolumeClaimRetentionPolicy", whenDeleted=TEXT, whenScaled=TEXT)
    yield _kind(
        "StatefulSet",
        spec=Fields(
            "v1.StatefulSetSpec",
            serviceName=TEXT,
            podManagementPolicy=TEXT,
            updateStrategy=strategy("StatefulSetUpdateStrategy", "RollingUpdateStatefulSetStrategy"),
            persistentVolumeClaimRetentionPolicy=kept,
            volumeClaimTemplates=Many(Fields("v1.PersistentVolumeClaim", metadata=METADATA)),
            **common,
        ),
        status=counts("StatefulSet", "currentReplicas"),
    )
    yield _kind(
        "DaemonSet",
        spec=Fields(
            "v1.DaemonSetSpec", updateStrategy=strategy("DaemonSetUpdateStrategy", "RollingUpdateDaemonSet"), **common
        ),
        status=counts("DaemonSet", "desiredNumberScheduled", "numberReady"),
    )
    yield _kind(
        "ReplicationController",
        spec=Fields("v1.ReplicationControllerSpec", **{**common, "selector": TEXT_MAP}),
        status=counts("ReplicationController", "fullyLabeledReplicas"),
    )
    job = Fields(
        "v1.JobSpec", parallelism=INT32, completions=INT32, backoffLimit=INT32, completionMode=TEXT, suspend=BOOL,
        podReplacementPolicy=TEXT, manualSelector=BOOL, activeDeadlineSeconds=INT64, **common,
    )  # fmt: skip
    ended = Fields("v1.JobStatus", active=INT32, succeeded=INT32, failed=INT32, conditions=conditions("Job"))
    yield _kind("Job", spec=job, status=ended)
    yield _kind(
        "CronJob",
        spec=Fields(
            "v1.CronJobSpec", schedule=TEXT, concurrencyPolicy=TEXT, suspend=BOOL, successfulJobsHistoryLimit=INT32,
            failedJobsHistoryLimit=INT32, jobTemplate=Fields("v1.JobTemplateSpec", metadata=METADATA, spec=job),
        ),
        status=Fields("v1.CronJobStatus"),
    )  # fmt: skip


def _core() -> Iterator[Fields]:
    yield _kind("Pod", spec=POD_SPEC, status=POD_STATUS)
    yield _kind("PodTemplate", template=TEMPLATE)
    yield _kind(
        "Namespace",
        spec=Fields("v1.NamespaceSpec", finalizers=TEXTS),
        status=Fields("v1.NamespaceStatus", phase=TEXT, conditions=conditions("Namespace")),
    )
    port = Fields(
        "v1.ServicePort", name=TEXT, protocol=TEXT, port=INT32, targetPort=INT_OR_TEXT, nodePort=INT32, appProtocol=TEXT
    )
    service = Fields(
        "v1.ServiceSpec", type=TEXT, clusterIP=TEXT, clusterIPs=TEXTS, ports=Many(port), selector=TEXT_MAP,
        sessionAffinity=TEXT, ipFamilies=TEXTS, ipFamilyPolicy=TEXT, internalTrafficPolicy=TEXT, externalName=TEXT,
        publishNotReadyAddresses=BOOL,
    )  # fmt: skip
    yield _kind(
        "Service", spec=service, status=Fields("v1.ServiceStatus", loadBalancer=Fields("v1.LoadBalancerStatus"))
    )
    yield _kind("ConfigMap", data=TEXT_MAP, binaryData=Mapped(BYTES), immutable=BOOL)
    yield _kind("Secret", data=Mapped(BYTES), stringData=TEXT_MAP, type=TEXT, immutable=BOOL)
    claim = Fields(
        "v1.PersistentVolumeClaimSpec", accessModes=TEXTS, resources=requirements("VolumeResourceRequirements"),
        volumeName=TEXT, storageClassName=TEXT, volumeMode=TEXT, selector=SELECTOR,
    )  # fmt: skip
    yield _kind(
        "PersistentVolumeClaim",
        spec=claim,
        status=Fields("v1.PersistentVolumeClaimStatus", phase=TEXT, accessModes=TEXTS, capacity=QUANTITIES),
    )
    reference = Fields("v1.ObjectReference", kind=TEXT, namespace=TEXT, name=TEXT, uid=TEXT, apiVersion=TEXT)
    yield _kind(
        "ServiceAccount", secrets=Many(reference), imagePullSecrets=Many(Fields("v1.LocalObjectReference", name=TEXT)),
        automountServiceAccountToken=BOOL,
    )  # fmt: skip
    told = {"reason": TEXT, "message": TEXT, "note": TEXT, "action": TEXT, "type": TEXT, "reportingInstance": TEXT}
    controllers = {"reportingComponent": TEXT, "reportingController": TEXT, "count": INT32, "deprecatedCount": INT32}
    times = dict.fromkeys(
        ("eventTime", "firstTimestamp", "lastTimestamp", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"),
        TIME,
    )
    about = {"involvedObject": reference, "regarding": reference, "related": reference}
    source = Fields("v1.EventSource", component=TEXT, host=TEXT)
    series = Fields("v1.EventSeries", count=INT32, lastObservedTime=TIME)
    yield _kind("Event", series=series, source=source, deprecatedSource=source, **told, **controllers, **times, **about)


def _others() -> Iterator[Fields]:
    role = Fields("v1.RoleRef", apiGroup=TEXT, kind=TEXT, name=TEXT)
    subject = Fields("v1.Subject", apiGroup=TEXT, kind=TEXT, name=TEXT, namespace=TEXT)
    rule = Fields(
        "v1.PolicyRule", verbs=TEXTS, apiGroups=TEXTS, resources=TEXTS, resourceNames=TEXTS, nonResourceURLs=TEXTS
    )
    aggregation = Fields("v1.AggregationRule", clusterRoleSelectors=Many(SELECTOR))
    for scope in ("", "Cluster"):
        yield _kind(f"{scope}Role", rules=Many(rule), aggregationRule=aggregation)
        yield _kind(f"{scope}RoleBinding", roleRef=role, subjects=Many(subject))
    lease = Fields(
        "v1.LeaseSpec", holderIdentity=TEXT, leaseDurationSeconds=INT32, leaseTransitions=INT32, acquireTime=TIME,
        renewTime=TIME,
    )  # fmt: skip
    yield _kind("Lease", spec=lease)
    yield _kind(
        "HorizontalPodAutoscaler",
        spec=Fields("v2.HorizontalPodAutoscalerSpec", minReplicas=INT32, maxReplicas=INT32, metrics=Many(Fields("v2.MetricSpec")),
                    scaleTargetRef=Fields("v2.CrossVersionObjectReference", kind=TEXT, name=TEXT, apiVersion=TEXT)),
        status=Fields("v2.HorizontalPodAutoscalerStatus", desiredReplicas=INT32, currentReplicas=INT32),
    )  # fmt: skip
    yield _kind(
        "PodDisruptionBudget",
        spec=Fields(
            "v1.PodDisruptionBudgetSpec", minAvailable=INT_OR_TEXT, maxUnavailable=INT_OR_TEXT, selector=SELECTOR
        ),
        status=Fields("v1.PodDisruptionBudgetStatus", disruptionsAllowed=INT32, currentHealthy=INT32),
    )
    egress, ingress = Many(Fields("v1.NetworkPolicyEgressRule")), Many(Fields("v1.NetworkPolicyIngressRule"))
    policy = Fields("v1.NetworkPolicySpec", podSelector=SELECTOR, policyTypes=TEXTS, egress=egress, ingress=ingress)
    yield _kind("NetworkPolicy", spec=policy)
    yield _kind(
        "EndpointSlice",
        addressType=TEXT,
        endpoints=Many(Fields("v1.Endpoint", addresses=TEXTS)),
        ports=Many(Fields("v1.EndpointPort", name=TEXT, port=INT32, protocol=TEXT)),
    )
    yield _kind(
        "StorageClass", provisioner=TEXT, parameters=TEXT_MAP, reclaimPolicy=TEXT, mountOptions=TEXTS,
        allowVolumeExpansion=BOOL, volumeBindingMode=TEXT,
    )  # fmt: skip
    yield _kind("PriorityClass", value=INT32, globalDefault=BOOL, description=TEXT, preemptionPolicy=TEXT)
    claim = _claim()
    yield _kind("ResourceClaim", spec=claim, status=Fields("v1.ResourceClaimStatus"))
    template = Fields("v1.ResourceClaimTemplateSpec", metadata=METADATA, spec=claim)
    yield _kind("ResourceClaimTemplate", spec=template)


def _claim() -> Fields:
    asked = {"deviceClassName": TEXT, "allocationMode": TEXT, "count": INT64}
    request = Fields(
        "v1.DeviceRequest",
        name=TEXT,
        exactly=Fields("v1.ExactDeviceRequest", **asked),
        firstAvailable=Many(Fields("v1.DeviceSubRequest", name=TEXT, **asked)),
    )
    return Fields("v1.ResourceClaimSpec", devices=Fields("v1.DeviceClaim", requests=Many(request)))


def _schema() -> Fields:
    texts = dict.fromkeys(
        ("id", "$ref", "description", "type", "format", "title", "pattern", "x-kubernetes-list-type"), TEXT
    )
    numbers = dict.fromkeys(("maximum", "minimum", "multipleOf"), NUMBER)
    bounds = dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), INT64)
    flags = dict.fromkeys(
        ("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable", "x-kubernetes-preserve-unknown-fields",
         "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
        BOOL,
    )  # fmt: skip
    lists = {"required": TEXTS, "x-kubernetes-list-map-keys": TEXTS, "enum": Many(ANYTHING)}
    schema = Fields("v1.JSONSchemaProps", **texts, **numbers, **bounds, **flags, **lists)
    schema.fields |= dict.fromkeys(("allOf", "anyOf", "oneOf"), Many(schema))
    schema.fields |= dict.fromkeys(("properties", "patternProperties", "definitions"), Mapped(schema))
    schema.fields |= {
        "not": schema,
        "items": schema,
        "additionalProperties": OrBool(schema, "boolean or JSON schema expected"),
    }
    return schema


def _definition() -> Fields:
    names = Fields(
        "v1.CustomResourceDefinitionNames", plural=TEXT, singular=TEXT, kind=TEXT, listKind=TEXT, shortNames=TEXTS,
        categories=TEXTS,
    )  # fmt: skip
    scale = Fields(
        "v1.CustomResourceSubresourceScale", specReplicasPath=TEXT, statusReplicasPath=TEXT, labelSelectorPath=TEXT
    )
    version = Fields(
        "v1.CustomResourceDefinitionVersion",
        name=TEXT,
        served=BOOL,
        storage=BOOL,
        deprecated=BOOL,
        schema=Fields("v1.CustomResourceValidation", openAPIV3Schema=_schema()),
        subresources=Fields(
            "v1.CustomResourceSubresources", status=Fields("v1.CustomResourceSubresourceStatus"), scale=scale
        ),
        selectableFields=Many(Fields("v1.SelectableField", jsonPath=TEXT)),
    )
    spec = Fields(
        "v1.CustomResourceDefinitionSpec", group=TEXT, scope=TEXT, names=names, versions=Many(version),
        preserveUnknownFields=BOOL, conversion=Fields("v1.CustomResourceConversion", strategy=TEXT),
    )  # fmt: skip
    status = Fields(
        "v1.CustomResourceDefinitionStatus",
        acceptedNames=names,
        storedVersions=TEXTS,
        conditions=conditions("CustomResourceDefinition"),
    )
    return _kind("CustomResourceDefinition", spec=spec, status=status)


_KINDS: Final = {shape.go.partition(".")[2]: shape for shape in (*_workloads(), *_core(), *_others(), _definition())}
