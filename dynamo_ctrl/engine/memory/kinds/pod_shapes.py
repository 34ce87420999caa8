"""The shapes of Pods and of what other kinds share with them, as far as this server reads them."""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.engine.memory.shape import (
    BOOL,
    INT32,
    INT64,
    INT_OR_TEXT,
    METADATA,
    QUANTITIES,
    TEXT,
    TEXT_MAP,
    TEXTS,
    TIME,
    Fields,
    Many,
)


def conditions(kind: str) -> Many:
    """The conditions in a status."""
    return Many(
        Fields(f"v1.{kind}Condition", type=TEXT, status=TEXT, reason=TEXT, message=TEXT, lastTransitionTime=TIME)
    )


def requirements(go: str) -> Fields:
    """What is asked for of resources."""
    return Fields(f"v1.{go}", limits=QUANTITIES, requests=QUANTITIES)


SELECTOR: Final = Fields(
    "v1.LabelSelector",
    matchLabels=TEXT_MAP,
    matchExpressions=Many(Fields("v1.LabelSelectorRequirement", key=TEXT, operator=TEXT, values=TEXTS)),
)


def _container() -> Fields:
    http = Fields("v1.HTTPGetAction", path=TEXT, port=INT_OR_TEXT, host=TEXT, scheme=TEXT)
    handlers = {
        "exec": Fields("v1.ExecAction", command=TEXTS),
        "httpGet": http,
        "tcpSocket": Fields("v1.TCPSocketAction", port=INT_OR_TEXT, host=TEXT),
    }
    seconds = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    grpc = Fields("v1.GRPCAction", port=INT32, service=TEXT)
    probe = Fields("v1.Probe", grpc=grpc, **handlers, **dict.fromkeys(seconds, INT32))
    hook = Fields("v1.LifecycleHandler", **handlers)
    source = Fields(
        "v1.EnvVarSource",
        fieldRef=Fields("v1.ObjectFieldSelector", apiVersion=TEXT, fieldPath=TEXT),
    )
    port = Fields("v1.ContainerPort", name=TEXT, containerPort=INT32, hostPort=INT32, hostIP=TEXT, protocol=TEXT)
    texts = ("name", "image", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy", "workingDir")
    return Fields(
        "v1.Container",
        **dict.fromkeys(texts, TEXT),
        command=TEXTS,
        args=TEXTS,
        ports=Many(port),
        env=Many(Fields("v1.EnvVar", name=TEXT, value=TEXT, valueFrom=source)),
        envFrom=Many(Fields("v1.EnvFromSource", prefix=TEXT)),
        resources=requirements("ResourceRequirements"),
        volumeMounts=Many(Fields("v1.VolumeMount", name=TEXT, mountPath=TEXT, readOnly=BOOL, subPath=TEXT)),
        livenessProbe=probe,
        readinessProbe=probe,
        startupProbe=probe,
        lifecycle=Fields("v1.Lifecycle", postStart=hook, preStop=hook),
        securityContext=Fields("v1.SecurityContext"),
    )


def _volume() -> Fields:
    token = Fields("v1.ServiceAccountTokenProjection", audience=TEXT, expirationSeconds=INT64, path=TEXT)
    mode = {"defaultMode": INT32, "optional": BOOL}
    return Fields(
        "v1.Volume",
        name=TEXT,
        configMap=Fields("v1.ConfigMapVolumeSource", name=TEXT, **mode),
        secret=Fields("v1.SecretVolumeSource", secretName=TEXT, **mode),
        downwardAPI=Fields("v1.DownwardAPIVolumeSource", defaultMode=INT32),
        projected=Fields(
            "v1.ProjectedVolumeSource",
            defaultMode=INT32,
            sources=Many(Fields("v1.VolumeProjection", serviceAccountToken=token)),
        ),
        hostPath=Fields("v1.HostPathVolumeSource", path=TEXT, type=TEXT),
        emptyDir=Fields("v1.EmptyDirVolumeSource", medium=TEXT),
        persistentVolumeClaim=Fields("v1.PersistentVolumeClaimVolumeSource", claimName=TEXT, readOnly=BOOL),
    )


def _pod_spec() -> Fields:
    container = _container()
    toleration = Fields("v1.Toleration", key=TEXT, operator=TEXT, value=TEXT, effect=TEXT, tolerationSeconds=INT64)
    texts = ("restartPolicy", "dnsPolicy", "schedulerName", "serviceAccountName", "serviceAccount", "nodeName",
             "preemptionPolicy", "priorityClassName", "hostname", "subdomain", "runtimeClassName")  # fmt: skip
    flags = ("enableServiceLinks", "hostNetwork", "hostPID", "hostIPC", "automountServiceAccountToken")
    return Fields(
        "v1.PodSpec",
        **dict.fromkeys(texts, TEXT),
        **dict.fromkeys(flags, BOOL),
        containers=Many(container),
        initContainers=Many(container),
        volumes=Many(_volume()),
        tolerations=Many(toleration),
        imagePullSecrets=Many(Fields("v1.LocalObjectReference", name=TEXT)),
        schedulingGates=Many(Fields("v1.PodSchedulingGate", name=TEXT)),
        nodeSelector=TEXT_MAP,
        terminationGracePeriodSeconds=INT64,
        activeDeadlineSeconds=INT64,
        priority=INT32,
        securityContext=Fields("v1.PodSecurityContext"),
        affinity=Fields("v1.Affinity"),
        overhead=QUANTITIES,
    )


POD_SPEC: Final = _pod_spec()
TEMPLATE: Final = Fields("v1.PodTemplateSpec", metadata=METADATA, spec=POD_SPEC)
POD_STATUS: Final = Fields(
    "v1.PodStatus",
    phase=TEXT,
    qosClass=TEXT,
    podIP=TEXT,
    podIPs=Many(Fields("v1.PodIP", ip=TEXT)),
    nominatedNodeName=TEXT,
    conditions=conditions("Pod"),
    containerStatuses=Many(Fields("v1.ContainerStatus", name=TEXT, ready=BOOL, restartCount=INT32)),
)
