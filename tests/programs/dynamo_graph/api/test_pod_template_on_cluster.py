"""`podTemplate` is a real PodTemplateSpec to a server: explained, checked, and stored as it was written."""

from __future__ import annotations

import json
import subprocess
from copy import deepcopy
from typing import Any

import pytest

from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from envtest import Cluster
from envtest.api import wait_for
from envtest.openapi.schemas import FILE, pod_template, text
from tests.programs.dynamo_graph.api.servers import Refused, Server, create_graph

Tree = dict[str, Any]

EXPLAIN_TIMEOUT = 60.0
"""Seconds until the server's OpenAPI document knows a CRD."""

TEMPLATE: Tree = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"nvidia.com/deployment-strategy": "Recreate"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "registry.example/w:1",
                "args": ["--model", "Qwen/Qwen3-0.6B", ""],
                "env": [
                    {"name": "A", "value": ""},
                    {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": False}}},
                    {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": 1}}},
                ],
                "envFrom": [{"secretRef": {"name": "hf-token-secret"}}],
                "ports": [{"containerPort": 8000, "protocol": "TCP", "name": "http"}],
                "resources": {
                    "limits": {"nvidia.com/gpu": 1, "memory": "16Gi"},
                    "requests": {"cpu": "1.5", "nvidia.com/gpu": "1"},
                    "claims": [{"name": "gpu", "request": "one"}],
                },
                "livenessProbe": {"httpGet": {"path": "/live", "port": "http"}, "periodSeconds": 5},
                "startupProbe": {"exec": {"command": ["true"]}, "failureThreshold": 720},
                "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": False}],
                "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
                "securityContext": {
                    "capabilities": {"add": ["IPC_LOCK"]},
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "imagePullPolicy": "",
            },
        ],
        "initContainers": [{"name": "init", "image": "i", "restartPolicy": "Always"}],
        "volumes": [
            {"name": "v", "emptyDir": {}},
            {"name": "w", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"name": "x", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
            {"name": "y", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]
                }
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {}}}
                ]
            },
        },
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
        ],
        "imagePullSecrets": [{"name": "pull"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["h"]}],
        "overhead": {"cpu": "1m"},
        "securityContext": {"sysctls": [{"name": "n", "value": "v"}], "fsGroup": 0},
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {},
        "schedulerName": "",
        "hostNetwork": False,
    },
}
"""Something of every part of a Pod; zeros, empty texts and empty objects among it, which must not vanish."""


def component(template: Tree) -> Tree:
    return {"name": "a", "podTemplate": template}


def stored(server: Server, template: Tree) -> Tree:
    found: Tree = create_graph(server, components=[component(template)])["spec"]["components"][0]["podTemplate"]
    return found


def test_a_template_is_stored_as_it_was_written(server: Server) -> None:
    """Nothing is filled in and nothing is lost: worker hashes are made of it."""
    assert json.dumps(stored(server, TEMPLATE), sort_keys=True) == json.dumps(TEMPLATE, sort_keys=True)


def test_a_null_stands_for_nothing(server: Server) -> None:
    """As Go clients write a time that is not set, and YAML a key without a value."""
    template = deepcopy(TEMPLATE)
    template["metadata"]["creationTimestamp"] = None
    template["spec"]["containers"][0]["command"] = None
    assert stored(server, template) == TEMPLATE


WRONG: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("spec",), [], "podTemplate.spec"),
    (("spec", "containers"), {}, "podTemplate.spec.containers"),
    (("spec", "containers", 0, "image"), 1, "podTemplate.spec.containers[0].image"),
    (("spec", "containers", 0, "args"), "--model", "podTemplate.spec.containers[0].args"),
    (("spec", "containers", 0, "args", 0), True, "podTemplate.spec.containers[0].args[0]"),
    (("spec", "containers", 0, "env", 0, "value"), 1, "podTemplate.spec.containers[0].env[0].value"),
    (("spec", "containers", 0, "env", 0, "name"), None, "podTemplate.spec.containers[0].env[0].name"),
    (("spec", "containers", 0, "ports", 0, "containerPort"), "8000", "ports[0].containerPort"),
    (("spec", "containers", 0, "resources", "limits", "memory"), {}, "resources.limits.memory"),
    (("spec", "containers", 0, "livenessProbe", "periodSeconds"), "5s", "livenessProbe.periodSeconds"),
    (("spec", "containers", 0, "volumeMounts", 0, "readOnly"), "no", "volumeMounts[0].readOnly"),
    (("spec", "tolerations", 0, "operator"), "Like", "tolerations[0].operator"),
    (("spec", "terminationGracePeriodSeconds"), 1.5, "podTemplate.spec.terminationGracePeriodSeconds"),
    (("spec", "nodeSelector"), {"a": 1}, "podTemplate.spec.nodeSelector.a"),
    (("metadata", "labels"), ["a"], "podTemplate.metadata.labels"),
    (("metadata", "annotations"), {"a": True}, "podTemplate.metadata.annotations.a"),
]


def test_a_wrong_type_is_refused_at_apply(server: Server) -> None:
    for index, (steps, value, path) in enumerate(WRONG):
        template = deepcopy(TEMPLATE)
        at: Any = template
        for step in steps[:-1]:
            at = at[step]
        at[steps[-1]] = value
        with pytest.raises(Refused) as raised:
            create_graph(server, f"g{index}", components=[component(template)])
        assert raised.value.code == 422, path
        assert path in raised.value.message, path


def test_a_field_that_no_pod_has_is_told(server: Server) -> None:
    template = deepcopy(TEMPLATE)
    template["spec"]["containers"][0]["imagePulPolicy"] = "Always"
    tree = {"metadata": {"name": "g"}, "spec": {"components": [component(template)]}}
    with pytest.raises(
        Refused, match=r'unknown field \\?"spec.components\[0\].podTemplate.spec.containers\[0\].imagePul'
    ):
        server.create(DYNAMO_GRAPH_DEPLOYMENT, tree, strict=True)
    assert stored(server, template) == TEMPLATE


def test_kubectl_explains_it(cluster: Cluster, crds: list[Tree]) -> None:
    def explain(path: str) -> str | None:
        try:
            return cluster.kubectl("explain", path)
        except subprocess.CalledProcessError:  # the OpenAPI document follows the CRD with a delay
            return None

    told = wait_for("kubectl explain", lambda: explain("dgd.spec.components.podTemplate.spec"), timeout=EXPLAIN_TIMEOUT)
    lines = {line.split("\t")[0].strip(): line.split("\t")[1:] for line in told.splitlines() if "\t" in line}
    assert lines["containers"] == ["<[]Object> -required-"]
    assert lines["terminationGracePeriodSeconds"] == ["<integer>"]
    assert "nodeCount\t<integer>\n    Nodes of one engine." in (explain("dgd.spec.components.multinode") or "")


def test_the_schema_is_what_make_generate_writes_from_this_server(cluster: Cluster) -> None:
    assert FILE.read_text(encoding="utf-8") == text(pod_template(cluster.api)), "run: make generate"
