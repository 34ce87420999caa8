"""From a graph to component deployments (G 3.8, 11.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component import BackendFramework
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.predicates import runtime_namespace
from dynamo_graph.render.component_deployment import render_component_deployments
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench

VLLM = {"command": ["python3", "-m", "dynamo.vllm"]}
SGLANG = {"command": ["python3", "-m", "dynamo.sglang"]}


def render(graph: Any, **options: Any) -> list[DynamoComponentDeployment]:
    return list(render_component_deployments(graph, suffix=options.pop("suffix", "abcd1234"), **options))


def main_env(deployment: DynamoComponentDeployment) -> list[tuple[str, str]]:
    assert deployment.spec.pod_template is not None
    container = deployment.spec.pod_template["spec"]["containers"][0]
    return [(entry["name"], entry["value"]) for entry in container["env"]]


def test_the_minimum_of_a_gang_is_no_business_of_a_deployment(bench: Bench) -> None:
    [deployment] = render(bench.graph(bench.component("worker", replicas=3, minAvailable=3)), replicas={"Worker": 1})
    assert deployment.spec.min_available is None


@pytest.mark.parametrize("name", [pytest.param("Decode", id="T-REND-01")])
def test_a_worker_is_named_and_labelled_by_its_generation(bench: Bench, name: str) -> None:
    [deployment] = render(bench.graph(bench.component("worker", name=name)))
    assert deployment.metadata.name == "g-decode-abcd1234"
    assert deployment.metadata.namespace == "ns"
    assert deployment.metadata.labels == {
        "nvidia.com/dynamo-component": "Decode",
        "nvidia.com/dynamo-namespace": "ns-g",
        "nvidia.com/dynamo-graph-deployment-name": "g",
        "nvidia.com/dynamo-worker-hash": "abcd1234",
    }
    assert deployment.spec.pod_template is not None
    assert deployment.spec.pod_template["metadata"]["labels"] == {"nvidia.com/dynamo-worker-hash": "abcd1234"}


@pytest.mark.parametrize("type_", [pytest.param("frontend", id="T-REND-02")])
def test_a_frontend_has_neither_suffix_nor_hash(bench: Bench, type_: str) -> None:
    [deployment] = render(bench.graph(bench.component(type_, name="Frontend")))
    assert deployment.metadata.name == "g-frontend"
    assert "nvidia.com/dynamo-worker-hash" not in deployment.metadata.labels
    assert deployment.spec.pod_template is not None
    assert "metadata" not in deployment.spec.pod_template


@pytest.mark.parametrize("env", [pytest.param([{"name": "A", "value": "1"}], id="T-REND-03")])
def test_the_environment_of_the_component_wins_over_the_graph(bench: Bench, env: list[dict[str, str]]) -> None:
    own = {"env": [{"name": "B", "value": "3"}, {"name": "A", "value": "2"}]}
    [deployment] = render(bench.graph(bench.component("worker", own), env=env))
    assert main_env(deployment) == [("A", "2"), ("B", "3")]


def test_without_graph_environment_the_order_of_the_user_is_kept(bench: Bench) -> None:
    own = {"env": [{"name": "B", "value": "3"}, {"name": "A", "value": "2"}]}
    [deployment] = render(bench.graph(bench.component("worker", own)))
    assert main_env(deployment) == [("B", "3"), ("A", "2")]


@pytest.mark.parametrize("labels", [pytest.param({"x": "1", "y": "1"}, id="T-REND-04")])
def test_a_label_of_the_template_wins_over_the_graph(bench: Bench, labels: dict[str, str]) -> None:
    component = bench.component("worker", template={"metadata": {"labels": {"x": "2"}}})
    [deployment] = render(bench.graph(component, labels=labels))
    assert deployment.spec.pod_template is not None
    labels = deployment.spec.pod_template["metadata"]["labels"]
    assert (labels["x"], labels["y"]) == ("2", "1")
    assert (deployment.metadata.labels["x"], deployment.metadata.labels["y"]) == ("2", "1")


@pytest.mark.parametrize(
    ("template", "graph", "expected"),
    [
        pytest.param({}, {}, "false", id="T-REND-05 nothing said"),
        pytest.param({"sidecar.istio.io/inject": "true"}, {}, "true", id="T-REND-05 template says"),
        pytest.param({}, {"sidecar.istio.io/inject": "true"}, "false", id="T-REND-05 graph says"),
    ],
)
def test_an_endpoint_picker_gets_no_mesh_sidecar(
    bench: Bench, template: dict[str, str], graph: dict[str, str], expected: str
) -> None:
    picker = bench.component("epp", template={"metadata": {"annotations": template}})
    worker, epp = render(bench.graph(bench.component("worker"), picker, annotations=graph))
    assert epp.spec.pod_template is not None
    assert epp.spec.pod_template["metadata"]["annotations"] == {"sidecar.istio.io/inject": expected}
    assert worker.metadata.labels["nvidia.com/dynamo-component-class"] == "worker"
    assert worker.spec.pod_template is not None
    assert worker.spec.pod_template["metadata"]["labels"]["nvidia.com/dynamo-component-class"] == "worker"
    assert "nvidia.com/dynamo-component-class" not in epp.metadata.labels


def test_an_annotation_in_the_spec_of_the_graph_does_not_lift_the_mesh_rule(bench: Bench) -> None:
    tree = bench.graph(bench.component("epp")).content()
    tree["spec"]["annotations"] = {"sidecar.istio.io/inject": "true"}
    graph = bench.graph().kind.object(tree)
    [epp] = render(graph)
    assert epp.spec.pod_template is not None
    assert epp.spec.pod_template["metadata"]["annotations"]["sidecar.istio.io/inject"] == "false"


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param({}, "planner-serviceaccount", id="T-REND-06 none given"),
        pytest.param({"serviceAccountName": "mine"}, "mine", id="T-REND-06 user wins"),
    ],
)
def test_a_planner_runs_under_its_account(bench: Bench, pod: dict[str, str], expected: str) -> None:
    [deployment] = render(bench.graph(bench.component("planner", pod=pod)))
    assert deployment.spec.pod_template is not None
    assert deployment.spec.pod_template["spec"]["serviceAccountName"] == expected


@pytest.mark.parametrize("main", [pytest.param(VLLM, id="T-REND-07")])
def test_the_engine_is_found_in_the_command(bench: Bench, main: dict[str, Any]) -> None:
    worker, frontend = render(bench.graph(bench.component("worker", main), bench.component("frontend")))
    assert worker.spec.backend_framework == "vllm"
    assert frontend.spec.backend_framework == "vllm"


@pytest.mark.parametrize("decode", [pytest.param(SGLANG, id="T-REND-08")])
def test_two_engines_in_one_graph_are_refused_by_name(bench: Bench, decode: dict[str, Any]) -> None:
    with pytest.raises(InvalidObject, match=r"sglang.*vllm") as raised:
        render(bench.graph(bench.component("prefill", VLLM), bench.component("decode", decode)))
    assert raised.value.path == "spec.components[1].podTemplate.spec.containers[main].command"


def test_an_engine_that_contradicts_the_graph_is_refused(bench: Bench) -> None:
    with pytest.raises(InvalidObject, match='detected "vllm" from command but explicitly configured as "trtllm"'):
        render(bench.graph(bench.component("worker", VLLM), backendFramework="trtllm"))


@pytest.mark.parametrize("live", [pytest.param("sglang", id="T-REND-09")])
def test_the_engine_of_the_live_deployment_stays(bench: Bench, live: BackendFramework) -> None:
    [deployment] = render(bench.graph(bench.component("worker", VLLM)), frameworks={"Worker": live})
    assert deployment.spec.backend_framework == "sglang"


@pytest.mark.parametrize("target", [pytest.param(2, id="T-REND-10")])
def test_a_wanted_count_replaces_that_of_the_component(bench: Bench, target: int) -> None:
    worker, frontend = render(
        bench.graph(bench.component("worker", replicas=5), bench.component("frontend", replicas=3)),
        replicas={"Worker": target},
    )
    assert (worker.spec.replicas, frontend.spec.replicas) == (2, 3)


def test_replicas_that_nobody_names_stay_unset(bench: Bench) -> None:
    [deployment] = render(bench.graph(bench.component("worker")))
    assert "replicas" not in deployment.content()["spec"]


def test_a_restart_is_stamped_on_the_template(bench: Bench) -> None:
    worker, frontend = render(
        bench.graph(bench.component("worker"), bench.component("frontend")), restarts={"Worker": "r1"}
    )
    assert worker.spec.pod_template is not None
    assert frontend.spec.pod_template is not None
    assert worker.spec.pod_template["metadata"]["annotations"] == {"nvidia.com/restartAt": "r1"}
    assert "metadata" not in frontend.spec.pod_template


@pytest.mark.parametrize("is_global", [pytest.param(True, id="T-REND-16")])
def test_a_component_of_the_global_namespace_shares_it(bench: Bench, is_global: bool) -> None:
    [deployment] = render(bench.graph(bench.component("worker", globalDynamoNamespace=is_global)))
    assert deployment.metadata.labels["nvidia.com/dynamo-namespace"] == "dynamo"
    found = runtime_namespace(deployment.spec, graph="g", namespace="ns", suffix="abcd1234")
    assert found == "dynamo-abcd1234"


@pytest.mark.parametrize("graph", [pytest.param("a.b", id="T-REND-17")])
def test_dots_of_the_graph_become_dashes_in_the_dynamo_namespace(bench: Bench, graph: str) -> None:
    [deployment] = render(bench.graph(bench.component("frontend"), name=graph))
    assert deployment.metadata.labels["nvidia.com/dynamo-namespace"] == "ns-a-b"


def test_annotations_come_from_template_then_spec_then_five_of_the_graph(bench: Bench) -> None:
    key = "nvidia.com/dynamo-discovery-backend"
    tree = bench.graph(bench.component("frontend"), annotations={key: "etcd", "other": "x"}).content()
    [deployment] = render(bench.graph().kind.object(tree))
    assert deployment.spec.pod_template is not None
    assert deployment.spec.pod_template["metadata"]["annotations"] == {key: "etcd"}
    tree["spec"]["annotations"] = {key: "kubernetes"}
    [deployment] = render(bench.graph().kind.object(tree))
    assert deployment.spec.pod_template is not None
    assert deployment.spec.pod_template["metadata"]["annotations"] == {key: "kubernetes"}


def test_the_pod_template_of_the_user_survives_exactly(bench: Bench) -> None:
    pod: dict[str, Any] = {"tolerations": [], "nodeSelector": {}, "x": None, "priority": 0, "f": 1.0}
    [deployment] = render(bench.graph(bench.component("worker", pod=pod)))
    assert deployment.spec.pod_template is not None
    kept = {key: deployment.spec.pod_template["spec"][key] for key in pod}
    assert kept == pod
    assert isinstance(kept["f"], float)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param('{"Worker":{"ServiceArgs":{"workers":3}}}', 3, id="workers"),
        pytest.param('{"Worker":{"serviceArgs":{"Workers":3}}}', 3, id="in other case"),
        pytest.param('{"Worker":{"ServiceArgs":{"Workers":3,"workers":2}}}', 2, id="in both cases"),
        pytest.param('{"Other":{"ServiceArgs":{"workers":3}}}', None, id="another component"),
    ],
)
def test_the_deployment_config_names_replicas(bench: Bench, config: str, expected: int | None) -> None:
    component = bench.component("worker", {"env": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": config}]})
    [deployment] = render(bench.graph(component))
    assert deployment.spec.replicas == expected
    [deployment] = render(bench.graph({**component, "replicas": 1}))
    assert deployment.spec.replicas == 1


def test_the_deployment_config_sets_port_and_resources(bench: Bench) -> None:
    config = '{"frontend":{"port":1,"ServiceArgs":{"resources":{"CPU":"2","gpu":1,"custom":{"a/b":"3"}}}}}'
    resources = {"requests": {"cpu": "4", "memory": "1Gi"}, "limits": {"cpu": "4"}}
    own = {"env": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": config}], "resources": resources}
    [deployment] = render(bench.graph(bench.component("frontend", own, name="Web")))
    assert deployment.spec.pod_template is not None
    container = deployment.spec.pod_template["spec"]["containers"][0]
    assert container["resources"] == {
        "requests": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1", "a/b": "3"},
        "limits": {"cpu": "2", "nvidia.com/gpu": "1", "a/b": "3"},
    }
    assert container["env"][0]["value"].startswith('{"frontend":{"port":8000,')


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        pytest.param("{", "is not JSON", id="not JSON"),
        pytest.param('{"Worker":3}', "must be an object", id="entry"),
        pytest.param('{"Worker":{"ServiceArgs":{"workers":"x"}}}', "must be a number of replicas", id="workers"),
        pytest.param('{"Worker":{"ServiceArgs":{"resources":{"cpu":"x"}}}}', "not a quantity", id="quantity"),
    ],
)
def test_a_malformed_deployment_config_is_an_error(bench: Bench, config: str, rule: str) -> None:
    component = bench.component("worker", {"env": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": config}]})
    with pytest.raises(InvalidObject, match=rule) as raised:
        render(bench.graph(component))
    assert raised.value.path == "spec.components[0].podTemplate.spec.containers[main].env[DYN_DEPLOYMENT_CONFIG]"


@pytest.mark.parametrize(
    ("policy", "enabled"),
    [
        pytest.param(
            {"labelKey": "z", "domain": "zone", "enforcement": "preferred", "preferredWeight": 0.85},
            "false",
            id="T-POD-126 T-POD-127 T-POD-128",
        )
    ],
)
def test_a_kv_transfer_policy_reaches_workers_only(bench: Bench, policy: dict[str, Any], enabled: str) -> None:
    own = {"env": [{"name": "DYN_TOPOLOGY_ENABLED", "value": enabled}]}
    graph = bench.graph(
        bench.component("worker", own), bench.component("frontend"), experimental={"kvTransferPolicy": policy}
    )
    worker, frontend = render(graph)
    assert dict(main_env(worker)) == {
        "DYN_KV_TRANSFER_DOMAIN": "zone",
        "DYN_KV_TRANSFER_ENFORCEMENT": "preferred",
        "DYN_KV_TRANSFER_PREFERRED_WEIGHT": "0.85",
        "DYN_TOPOLOGY_ENABLED": "true",
        "DYN_TOPOLOGY_MOUNT_PATH": "/etc/dynamo/topology",
    }
    rendered = render_deployment(worker, Surroundings()).content()["spec"]["template"]
    assert rendered["metadata"]["annotations"] == {"nvidia.com/topology-label-key": "z"}
    assert rendered["spec"]["volumes"][0] == {
        "name": "topology-labels",
        "downwardAPI": {"items": [{"path": "zone", "fieldRef": {"fieldPath": "metadata.labels['z']"}}]},
    }
    assert "topology" not in str(frontend.content())


def test_a_policy_by_cluster_topology_needs_grove(bench: Bench) -> None:
    policy = {"clusterTopologyName": "t", "domain": "zone"}
    with pytest.raises(InvalidObject, match="needs the Grove pathway") as raised:
        render(bench.graph(bench.component("worker"), experimental={"kvTransferPolicy": policy}))
    assert raised.value.path == "spec.experimental.kvTransferPolicy.clusterTopologyName"


@pytest.mark.parametrize("field", [pytest.param("gpuMemoryService", id="T-POD-145"), "failover"])
def test_what_would_silently_be_left_out_is_refused(bench: Bench, field: str) -> None:
    with pytest.raises(InvalidObject, match="gpuMemoryService / inter-pod GMS failover requires DRA") as raised:
        render(bench.graph(bench.component("worker", experimental={field: {}})))
    assert raised.value.path == f"spec.components[0].experimental.{field}"
