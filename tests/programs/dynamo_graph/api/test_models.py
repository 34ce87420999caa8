"""The models hold what the wire said: exactly, immutably, and blind to what they do not know."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component import Component, EnvVar
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment, GraphSpec
from dynamo_graph.api.graph_status import ComponentReplicaStatus, GraphStatus
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER

TEMPLATE = '{"spec":{"z":1.0,"a":null,"l":[],"m":{},"s":"","n":1e3,"big":12345678901234567890,"f":false}}'


def graph(**spec: Any) -> DynamoGraphDeployment:
    return DYNAMO_GRAPH_DEPLOYMENT.object({"metadata": {"name": "g", "namespace": "ns"}, "spec": spec})


def test_a_pod_template_comes_back_as_it_went_in() -> None:
    component = Component.model_validate_json(f'{{"name":"a","podTemplate":{TEMPLATE}}}')
    again = json.dumps(component.tree()["podTemplate"], separators=(",", ":"))
    assert again == TEMPLATE.replace("1e3", "1000.0")


def test_a_pod_template_cannot_be_changed_at_any_depth() -> None:
    template: Any = Component.model_validate_json(f'{{"name":"a","podTemplate":{TEMPLATE}}}').pod_template
    with pytest.raises(TypeError):
        template["spec"]["l"].append(1)
    with pytest.raises(TypeError):
        template["spec"]["m"]["x"] = 1
    with pytest.raises(TypeError):
        del template["spec"]


def test_models_and_their_maps_cannot_be_changed() -> None:
    spec: Any = graph(labels={"a": "b"}, components=[{"name": "a"}]).spec
    with pytest.raises(ValidationError):
        spec.components = ()
    with pytest.raises(TypeError):
        spec.labels["a"] = "c"
    status: Any = GraphStatus(components={"a": ComponentReplicaStatus(component_kind="Deployment")})
    with pytest.raises(TypeError):
        status.components["b"] = None


def test_absent_and_default_stay_two_things() -> None:
    assert Component(name="a").tree() == {"name": "a"}
    assert Component(name="a", global_dynamo_namespace=False).tree() == {"name": "a", "globalDynamoNamespace": False}
    assert EnvVar.model_validate_json('{"name":"A","value":""}').tree() == {"name": "A", "value": ""}
    assert Component.model_validate_json('{"name":"a","scalingAdapter":{}}').tree() == {
        "name": "a",
        "scalingAdapter": {},
    }


def test_null_reads_as_absent() -> None:
    found = Component.model_validate_json('{"name":"a","replicas":null,"podTemplate":null}')
    assert (found.replicas, found.pod_template) == (None, None)
    assert found.tree() == {"name": "a"}


def test_unknown_fields_are_dropped_as_the_server_prunes_them() -> None:
    assert GraphSpec.model_validate_json('{"future":1,"components":[{"name":"a","x":2}]}').tree() == {
        "components": [{"name": "a"}]
    }


def test_the_status_writes_the_names_of_the_wire() -> None:
    raw = '{"restart":{"observedID":"r","inProgress":["a"]},"checkpoints":{"a":{"checkpointID":"c"}}}'
    assert GraphStatus.model_validate_json(raw).tree() == json.loads(raw)
    assert GraphStatus().state == "initializing"


def test_a_decoded_object_reads_typed() -> None:
    found = graph(components=[{"name": "Decode", "type": "decode", "sharedMemorySize": 0}]).spec.components[0]
    assert found.is_worker
    assert found.shared_memory_size == "0"
    assert found.nodes == found.desired_replicas == 1


@pytest.mark.parametrize(
    ("component", "path"),
    [
        ({"name": "a", "replicas": "3"}, "spec.components[0].replicas"),
        ({"name": "-"}, "spec.components[0].name"),
        ({"name": "a", "type": "router"}, "spec.components[0].type"),
        ({"name": "a", "multinode": {"nodeCount": 1}}, "spec.components[0].multinode.nodeCount"),
        ({"name": "a", "runtimeVersionOverride": "1.5"}, "spec.components[0].runtimeVersionOverride"),
        ({"name": "a", "sharedMemorySize": "8 GB"}, "spec.components[0].sharedMemorySize"),
        ({}, "spec.components[0].name"),
    ],
)
def test_what_does_not_fit_the_model_is_named_by_its_path(component: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidObject) as raised:
        _ = graph(components=[component]).spec
    assert raised.value.path == path


def test_the_graph_of_a_component_deployment_is_its_first_owner_of_that_kind() -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}]
    metadata = {"name": "d", "ownerReferences": owners}
    assert DYNAMO_COMPONENT_DEPLOYMENT.object({"metadata": metadata}).graph_name == ""
    owners.append({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "2"})
    assert DYNAMO_COMPONENT_DEPLOYMENT.object({"metadata": metadata}).graph_name == "g"


def test_a_scaling_adapter_needs_replicas_and_a_component() -> None:
    spec = {"replicas": 0, "dgdRef": {"name": "g", "componentName": "a"}}
    found = DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER.object({"metadata": {"name": "x"}, "spec": spec})
    assert (found.spec.replicas, found.spec.dgd_ref.component_name) == (0, "a")
    with pytest.raises(InvalidObject, match="replicas"):
        _ = DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER.object({"metadata": {"name": "x"}, "spec": {}}).spec


def test_a_status_survives_its_codec() -> None:
    raw = {
        "observedGeneration": 2,
        "state": "pending",
        "components": {"A": {"componentKind": "Deployment", "replicas": 0}},
    }
    codec = DYNAMO_GRAPH_DEPLOYMENT.status_codec
    encoded = codec.encode(codec.decode(msgspec.json.encode(raw), what="x", path="status"))
    assert encoded["components"]["A"]["componentKind"] == "Deployment"
    assert encoded["state"] == "pending"
