"""Sample objects of every kind that the memory server serves by itself, as clients send them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamo_ctrl.engine.memory.builtins import builtins
from dynamo_ctrl.engine.memory.served import Served
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

Tree = dict[str, Any]


class Plain(Object[Mapping[str, Any], Mapping[str, Any]]):
    """An object of any kind."""


METADATA: Tree = {
    "generateName": "a-",
    "namespace": "ns",
    "uid": "",
    "resourceVersion": "",
    "generation": 1,
    "creationTimestamp": None,
    "deletionTimestamp": None,
    "deletionGracePeriodSeconds": 0,
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "finalizers": ["example.com/a"],
    "ownerReferences": [
        {"apiVersion": "v9", "kind": "K", "name": "n", "uid": "u", "controller": True, "blockOwnerDeletion": False}
    ],
}
"""Metadata with every field; what a client may not set is empty."""

POD: Tree = {
    "containers": [
        {
            "name": "main",
            "image": "i",
            "command": ["c"],
            "ports": [{"containerPort": 80, "name": "http"}],
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "1"}},
            "livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 1},
            "readinessProbe": {"grpc": {"port": 80}},
            "lifecycle": {"preStop": {"httpGet": {"port": "http"}}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    ],
    "volumes": [
        {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "p"}}]}},
        {"name": "w", "configMap": {"name": "c"}},
        {"name": "x", "hostPath": {"path": "/"}},
    ],
    "tolerations": [{"key": "k", "effect": "NoExecute"}],
    "nodeSelector": {"a": "b"},
    "serviceAccountName": "default",
    "nodeName": "n",
    "terminationGracePeriodSeconds": 1,
}
SELECTOR: Tree = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
TEMPLATE: Tree = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}},
    "spec": {"containers": POD["containers"]},
}
ROLLING: Tree = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "10%"}}
WORKLOAD: Tree = {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE}
COUNTS: Tree = {"replicas": 1, "conditions": [{"type": "Available", "status": "True"}]}
JOB: Tree = {"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}, "parallelism": 1}
DEVICES: Tree = {
    "devices": {
        "requests": [
            {"name": "a", "exactly": {"deviceClassName": "c", "count": 1}},
            {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "c"}]},
        ]
    }
}
REFERENCE: Tree = {"kind": "Pod", "namespace": "ns", "name": "p"}
RULES: Tree = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
BINDING: Tree = {
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
    "subjects": [{"kind": "User", "name": "u"}],
}
_NODE: Tree = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1, "multipleOf": 2, "enum": [2], "default": 2, "format": "int32"},
        "text": {"type": "string", "pattern": "a", "minLength": 1, "maxLength": 9, "nullable": True},
        "list": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
            "maxItems": 3,
        },
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "open": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-embedded-resource": True,
        },
        "one": {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "oneOf": [{"required": ["a"]}],
            "not": {"required": ["b"]},
        },
    },
}
DEFINITION: Tree = {
    "group": "GROUP",
    "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList", "shortNames": ["w"]},
    "versions": [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _NODE, "status": _NODE}}},
            "subresources": {
                "status": {},
                "scale": {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count",
                          "labelSelectorPath": ".status.text"},
            },
            "selectableFields": [{"jsonPath": ".spec.text"}],
        }
    ],
}  # fmt: skip
CUSTOM: Tree = {
    "spec": {
        "count": 2,
        "text": "a",
        "list": [{"name": "a"}],
        "map": {"a": "b"},
        "open": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "labels": {"a": "b"}}},
        "one": {"a": 1},
    },
    "status": {"count": 2, "text": "a"},
}
"""An object of the resource that `DEFINITION` defines."""

CONTENT: Mapping[str, Tree] = {
    "Namespace": {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
    "Node": {"spec": {"unschedulable": True}, "status": {"capacity": {"cpu": "1"}}},
    "Pod": {"spec": POD, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
    "Service": {
        "spec": {"type": "ClusterIP", "ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}},
        "status": {"loadBalancer": {}},
    },
    "ServiceAccount": {"secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "a"}]},
    "ConfigMap": {"data": {"a": "b"}, "binaryData": {"c": "ZA=="}, "immutable": False},
    "Secret": {"data": {"a": "Yg=="}, "stringData": {"c": "d"}, "type": "Opaque"},
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound"},
    },
    "ReplicationController": {"spec": {**WORKLOAD, "selector": {"a": "b"}}, "status": COUNTS},
    "PodTemplate": {"template": TEMPLATE},
    "Deployment": {"spec": {**WORKLOAD, "strategy": ROLLING}, "status": COUNTS},
    "ReplicaSet": {"spec": WORKLOAD, "status": COUNTS},
    "StatefulSet": {"spec": {**WORKLOAD, "updateStrategy": ROLLING, "serviceName": "s"}, "status": COUNTS},
    "DaemonSet": {"spec": {"selector": SELECTOR, "template": TEMPLATE, "updateStrategy": ROLLING}, "status": COUNTS},
    "ControllerRevision": {"data": {"a": 1}, "revision": 1},
    "Job": {"spec": JOB, "status": {"succeeded": 1}},
    "CronJob": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}, "status": {}},
    "HorizontalPodAutoscaler": {
        "spec": {"maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
        "status": {"desiredReplicas": 1},
    },
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": SELECTOR}, "status": {"disruptionsAllowed": 1}},
    "Role": RULES,
    "ClusterRole": {**RULES, "aggregationRule": {"clusterRoleSelectors": [SELECTOR]}},
    "RoleBinding": BINDING,
    "ClusterRoleBinding": BINDING,
    "Lease": {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 1, "renewTime": "2020-01-01T00:00:00.000000Z"}},
    "NetworkPolicy": {"spec": {"podSelector": SELECTOR, "egress": [{}], "policyTypes": ["Egress"]}},
    "EndpointSlice": {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}], "ports": [{"port": 80}]},
    "StorageClass": {"provisioner": "p", "parameters": {"a": "b"}, "reclaimPolicy": "Delete"},
    "PriorityClass": {"value": 1, "preemptionPolicy": "Never"},
    "ResourceClaim": {"spec": DEVICES, "status": {}},
    "ResourceClaimTemplate": {"spec": {"spec": DEVICES}},
    "Event": {
        "involvedObject": REFERENCE, "regarding": REFERENCE, "reason": "R", "source": {"component": "c"}, "type": "Normal",
        "eventTime": "2020-01-01T00:00:00.000000Z", "count": 1, "series": {"count": 1},
    },
    "CustomResourceDefinition": {"spec": DEFINITION},
}  # fmt: skip


def content_of(served: Served) -> Tree:
    """The sections of a sample; of a kind that nobody reads they hold a little of anything."""
    return CONTENT.get(served.kind) or {section: {"a": {"b": [1]}} for section in sorted(served.sections)}


def kind_of(served: Served) -> Kind[Plain]:
    """The descriptor of a resource."""
    return Kind(
        Plain, group=served.group, version=served.storage_version, kind=served.kind, plural=served.plural,
        namespaced=served.namespaced, status_subresource=served.status,
    )  # fmt: skip


BUILTIN = {f"{served}": served for served in builtins()}
"""Every built-in resource by its name."""
