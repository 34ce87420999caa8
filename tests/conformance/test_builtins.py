"""Built-in kinds: the defaults that a server fills in, and the rules that clients run into."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, PERSISTENT_VOLUME_CLAIM, POD, SECRET, SERVICE
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING
from tests.conformance.kinds import body, stored
from tests.conformance.outcome import Outcome, Tree, invalid
from tests.conformance.world import World

RBAC = "rbac.authorization.k8s.io"
CONTAINER = {
    "name": "c",
    "image": "i",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}
POD_SPEC = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
TOKEN_VOLUME = "kube-api-access-"
"""Volumes that the ServiceAccount admission of a real server adds; the memory engine has no admission."""


def template(**spec: Any) -> Tree:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def deployment(**spec: Any) -> Tree:
    content = {"replicas": 0, "paused": True, "selector": {"matchLabels": {"a": "b"}}, "template": template()}
    return body(DEPLOYMENT, "a", spec={**content, **spec})


def pod(world: World, **spec: Any) -> Outcome:
    sent = {
        "metadata": {"name": "a"},
        "spec": {"nodeName": "nowhere", "containers": [{"name": "c", "image": "i"}], **spec},
    }
    return world.accepted(lambda: world.create(POD, sent))


def without_tokens(found: Tree) -> Tree:
    spec = dict(found["spec"])
    spec["volumes"] = [each for each in spec.get("volumes", []) if not each["name"].startswith(TOKEN_VOLUME)]
    spec["containers"] = [
        {**each, "volumeMounts": [m for m in each.get("volumeMounts", []) if not m["name"].startswith(TOKEN_VOLUME)]}
        for each in spec["containers"]
    ]
    for holder in (spec, *spec["containers"]):
        for name in ("volumes", "volumeMounts"):
            if holder.get(name) == []:
                del holder[name]
    return {**found, "spec": spec}


def test_a_pod_gets_defaults(world: World) -> None:
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    found = without_tokens(pod(world).object)
    assert found == stored(
        POD,
        "a",
        metadata={"generation": 1},
        spec={
            "nodeName": "nowhere",
            "containers": [CONTAINER],
            **POD_SPEC,
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "enableServiceLinks": True,
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", **toleration},
                {"key": "node.kubernetes.io/unreachable", **toleration},
            ],
        },
        status={"phase": "Pending", "qosClass": "BestEffort"},
    )
    world.delete(POD, "a", grace=0)


def container_of(world: World, **content: Any) -> Tree:
    found = pod(world, containers=[{"name": "c", "image": "i", **content}])
    (container,) = without_tokens(found.object)["spec"]["containers"]
    world.delete(POD, "a", grace=0)
    return {name: value for name, value in container.items() if CONTAINER.get(name) != value or name == "image"}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"image": "i:1"}, {"image": "i:1", "imagePullPolicy": "IfNotPresent"}),
        ({"image": "r:5000/i"}, {"image": "r:5000/i"}),
        ({"image": "i:latest"}, {"image": "i:latest"}),
        (
            {"image": "i@sha256:" + "a" * 64},
            {"image": "i@sha256:" + "a" * 64, "imagePullPolicy": "IfNotPresent"},
        ),
        ({"ports": [{"containerPort": 1}]}, {"image": "i", "ports": [{"containerPort": 1, "protocol": "TCP"}]}),
        (
            {"readinessProbe": {"httpGet": {"port": 80}}},
            {"image": "i", "readinessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1,
                                              "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}},
        ),
        (
            {"env": [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]},
            {"image": "i", "env": [{"name": "A"}, {"name": "B", "valueFrom": {
                "fieldRef": {"fieldPath": "metadata.uid", "apiVersion": "v1"}}}]},
        ),
        (
            {"resources": {"limits": {"cpu": "1"}}},
            {"image": "i", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}},
        ),
        ({"command": [], "args": [], "env": []}, {"image": "i"}),
    ],
    ids=str,
)  # fmt: skip
def test_a_container_gets_defaults(world: World, sent: Tree, kept: Tree) -> None:
    assert container_of(world, **sent) == kept


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
    ids=str,
)
def test_a_pod_has_a_quality_of_service(world: World, resources: Tree, expected: str) -> None:
    found = pod(world, containers=[{"name": "c", "image": "i", "resources": resources}])
    assert found.object["status"]["qosClass"] == expected
    world.delete(POD, "a", grace=0)


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"name": "v"}, {"name": "v", "emptyDir": {}}),
        (
            {"name": "v", "secret": {"secretName": "s"}},
            {"name": "v", "secret": {"secretName": "s", "defaultMode": 420}},
        ),
        ({"name": "v", "configMap": {"name": "s"}}, {"name": "v", "configMap": {"name": "s", "defaultMode": 420}}),
    ],
    ids=str,
)
def test_a_volume_gets_defaults(world: World, volume: Tree, expected: Tree) -> None:
    assert without_tokens(pod(world, volumes=[volume]).object)["spec"]["volumes"] == [expected]
    world.delete(POD, "a", grace=0)


def test_a_pod_changes_its_image_only(world: World) -> None:
    pod(world)
    containers = world.get(POD, "a").raw["spec"]["containers"]
    found = world.merge(POD, "a", {"spec": {"containers": [{**containers[0], "image": "other"}]}})
    assert found.object["spec"]["containers"][0]["image"] == "other"
    assert found.object["metadata"]["generation"] == 2
    refused = world.merge(POD, "a", {"spec": {"restartPolicy": "Never"}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert [(each["field"], each["reason"]) for each in refused.details["causes"]] == [("spec", "FieldValueForbidden")]
    world.delete(POD, "a", grace=0)


def test_a_deployment_gets_defaults(world: World) -> None:
    assert world.create(DEPLOYMENT, deployment()).object == stored(
        DEPLOYMENT,
        "a",
        metadata={"generation": 1},
        spec={
            "replicas": 0,
            "paused": True,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER], **POD_SPEC}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
        status={},
    )


def test_a_deployment_has_one_replica_unless_it_says_otherwise(world: World) -> None:
    found = world.create(DEPLOYMENT, deployment(replicas=None))
    assert found.object["spec"]["replicas"] == 1


def test_a_deployment_that_recreates_has_no_bounds(world: World) -> None:
    found = world.create(DEPLOYMENT, deployment(strategy={"type": "Recreate"}))
    assert found.object["spec"]["strategy"] == {"type": "Recreate"}


def test_an_equal_deployment_keeps_its_generation(world: World) -> None:
    before = world.create(DEPLOYMENT, deployment())
    world.eventually(lambda: world.update(DEPLOYMENT, "a", deployment()).object["metadata"]["generation"], 1)
    assert world.merge(DEPLOYMENT, "a", {"spec": {"replicas": 0}}).uid == before.uid


def test_an_annotation_moves_the_generation_of_a_deployment(world: World) -> None:
    world.create(DEPLOYMENT, deployment())
    before = world.get(DEPLOYMENT, "a").object["metadata"]["generation"]
    found = world.merge(DEPLOYMENT, "a", {"metadata": {"annotations": {"n": "1"}}})
    assert found.object["metadata"]["generation"] == before + 1
    found = world.merge(DEPLOYMENT, "a", {"metadata": {"labels": {"n": "1"}}})
    assert found.object["metadata"]["generation"] == before + 1


def test_a_deployment_selects_its_own_pods(world: World) -> None:
    rule = 'Invalid value: {"a":"b"}: `selector` does not match template `labels`'
    assert world.create(DEPLOYMENT, deployment(selector={"matchLabels": {"a": "c"}})) == invalid(
        DEPLOYMENT, "a", ("spec.template.metadata.labels", "Invalid", rule)
    )


def test_a_deployment_keeps_its_selector(world: World) -> None:
    world.create(DEPLOYMENT, deployment())
    changed = {"matchLabels": {"a": "b", "c": None}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
    found = world.merge(DEPLOYMENT, "a", {"spec": {"selector": changed}})
    assert (found.code, found.reason) == (422, "Invalid")
    (cause,) = found.details["causes"]
    assert (cause["field"], cause["message"].rpartition(": ")[2]) == ("spec.selector", "field is immutable")


def test_a_deployment_has_no_negative_replicas(world: World) -> None:
    rule = "Invalid value: -1: must be greater than or equal to 0"
    assert world.create(DEPLOYMENT, deployment(replicas=-1)) == invalid(
        DEPLOYMENT, "a", ("spec.replicas", "Invalid", rule)
    )


def test_a_deployment_has_containers(world: World) -> None:
    assert world.create(DEPLOYMENT, deployment(template=template(containers=[]))) == invalid(
        DEPLOYMENT, "a", ("spec.template.spec.containers", "Required", "Required value")
    )


def test_a_deployment_restarts_its_containers(world: World) -> None:
    found = world.create(DEPLOYMENT, deployment(template=template(restartPolicy="Never")))
    rule = 'Unsupported value: "Never": supported values: "Always"'
    assert found == invalid(DEPLOYMENT, "a", ("spec.template.spec.restartPolicy", "NotSupported", rule))


def test_a_replica_set_always_tells_its_replicas(world: World) -> None:
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template()}
    assert world.create(REPLICA_SET, body(REPLICA_SET, "a", spec=spec)).object["status"] == {"replicas": 0}


def test_a_service_gets_an_address_and_defaults(world: World) -> None:
    found = world.create(SERVICE, body(SERVICE, "a", spec={"ports": [{"port": 80}], "selector": {"a": "b"}})).object
    address = found["spec"].pop("clusterIP")
    assert found["spec"].pop("clusterIPs") == [address]
    assert address.count(".") == 3
    assert found == stored(
        SERVICE,
        "a",
        spec={
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            "selector": {"a": "b"},
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        status={"loadBalancer": {}},
    )


def test_a_service_keeps_its_address(world: World) -> None:
    sent = body(SERVICE, "a", spec={"ports": [{"port": 80}]})
    before = world.create(SERVICE, sent).raw["spec"]["clusterIP"]
    found = world.update(SERVICE, "a", {**sent, "spec": {"ports": [{"port": 81}]}})
    assert found.raw["spec"]["clusterIP"] == before


def test_a_headless_service_has_no_address(world: World) -> None:
    found = world.create(SERVICE, body(SERVICE, "a", spec={"clusterIP": "None", "ports": [{"port": 80}]})).object
    assert (found["spec"]["clusterIP"], found["spec"]["clusterIPs"]) == ("None", ["None"])


def test_ports_have_names_when_there_are_two(world: World) -> None:
    found = world.create(SERVICE, body(SERVICE, "a", spec={"ports": [{"port": 80, "name": "x"}, {"port": 81}]}))
    assert found == invalid(SERVICE, "a", ("spec.ports[1].name", "Required", "Required value"))


def test_a_service_has_ports(world: World) -> None:
    found = world.create(SERVICE, body(SERVICE, "a", spec={}))
    assert found == invalid(SERVICE, "a", ("spec.ports", "Required", "Required value"))


def test_a_secret_encodes_its_texts(world: World) -> None:
    found = world.create(SECRET, body(SECRET, "a", stringData={"k": "v"}))
    assert found.object == stored(SECRET, "a", data={"k": "dg=="}, type="Opaque")


def test_a_secret_keeps_its_type(world: World) -> None:
    world.create(SECRET, body(SECRET, "a", type="x.y/z"))
    rule = 'Invalid value: "Opaque": field is immutable'
    assert world.merge(SECRET, "a", {"type": "Opaque"}) == invalid(SECRET, "a", ("type", "Invalid", rule))


def test_a_key_of_a_config_map_is_a_file_name(world: World) -> None:
    rule = (
        "Invalid value: \"x y\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
    )
    found = world.create(CONFIG_MAP, body(CONFIG_MAP, "a", data={"x y": "1"}))
    assert found == invalid(CONFIG_MAP, "a", ("data[x y]", "Invalid", rule))


def test_a_claim_gets_defaults(world: World) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    found = world.create(PERSISTENT_VOLUME_CLAIM, body(PERSISTENT_VOLUME_CLAIM, "a", spec=spec)).object
    assert found["spec"] == {**spec, "volumeMode": "Filesystem"}
    assert found["status"] == {"phase": "Pending"}


def test_a_role_without_rules_says_so(world: World) -> None:
    assert world.create(ROLE, body(ROLE, "a:b")).object == stored(ROLE, "a:b", rules=None)


def test_a_role_binding_gets_groups_and_keeps_its_role(world: World) -> None:
    subjects = [{"kind": "ServiceAccount", "name": "x", "namespace": "y"}, {"kind": "User", "name": "u"}]
    sent = body(ROLE_BINDING, "a", roleRef={"kind": "Role", "name": "r", "apiGroup": RBAC}, subjects=subjects)
    assert world.create(ROLE_BINDING, sent).object == stored(
        ROLE_BINDING,
        "a",
        subjects=[subjects[0], {**subjects[1], "apiGroup": RBAC}],
        roleRef={"kind": "Role", "name": "r", "apiGroup": RBAC},
    )
    found = world.merge(ROLE_BINDING, "a", {"roleRef": {"name": "other"}})
    value = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}'
    assert found == invalid(ROLE_BINDING, "a", ("roleRef", "Invalid", f"Invalid value: {value}: field is immutable"))


def test_an_event_is_stored_as_it_is_sent(world: World) -> None:
    content: Tree = {
        "regarding": {"kind": "Pod", "namespace": world.namespace, "name": "x"},
        "reason": "R",
        "note": "n",
        "type": "Normal",
        "action": "A",
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "reportingController": "c.d/e",
        "reportingInstance": "i",
    }
    assert world.create(EVENT, body(EVENT, "a", **content)).object == stored(
        EVENT,
        "a",
        **(content | {"regarding": {"kind": "Pod", "namespace": "NS", "name": "x"}}),
        deprecatedSource={},
        deprecatedFirstTimestamp=None,
        deprecatedLastTimestamp=None,
    )
