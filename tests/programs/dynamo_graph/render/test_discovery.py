"""Discovery, accounts, Services and pull secrets (P 5.5, 5.7, 6.7; G 3.9.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.render.discovery import fallback_account
from dynamo_graph.render.model_service import render_model_service
from dynamo_graph.render.pull_secrets import PullSecrets, configured_registry, image_registry
from dynamo_graph.render.service import render_service, service_wanted

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench

BACKEND = "nvidia.com/dynamo-discovery-backend"
ENABLED = "nvidia.com/dynamo-discovery-enabled"
ETCD = {"metadata": {"annotations": {BACKEND: "etcd"}}}


@pytest.mark.parametrize("template", [pytest.param(ETCD, id="T-POD-123")])
def test_etcd_leaves_no_trace_of_kubernetes(bench: Bench, template: dict[str, Any]) -> None:
    rendered = bench.template("worker", template=template)
    assert rendered["spec"]["serviceAccountName"] == "default"
    assert "DYN_DISCOVERY_BACKEND" not in bench.values(rendered["spec"]["containers"][0])
    assert not {BACKEND, ENABLED} & set(rendered["metadata"]["labels"])


def test_discovery_on_kubernetes_labels_pods_and_gives_an_account(bench: Bench) -> None:
    template = bench.template("worker")
    assert template["spec"]["serviceAccountName"] == "g-k8s-service-discovery"
    labels = template["metadata"]["labels"]
    assert (labels[BACKEND], labels[ENABLED]) == ("kubernetes", "true")


@pytest.mark.parametrize("account", [pytest.param("u", id="T-POD-124")])
def test_an_account_of_the_user_is_kept(bench: Bench, account: str) -> None:
    assert bench.pod("worker", pod={"serviceAccountName": account})["serviceAccountName"] == account


def test_a_deployment_without_a_graph_uses_no_account_that_nobody_creates(bench: Bench) -> None:
    pod = bench.pod("worker", owned=False, around=Surroundings(account="labelled"))
    assert pod["serviceAccountName"] == "labelled"


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        (BACKEND, "consul", "must be one of kubernetes, etcd"),
        ("nvidia.com/dynamo-kube-discovery-mode", "node", "must be one of pod, container"),
    ],
)
def test_an_unknown_backend_or_mode_is_refused(bench: Bench, key: str, value: str, rule: str) -> None:
    with pytest.raises(InvalidObject, match=rule) as raised:
        bench.pod("worker", template={"metadata": {"annotations": {key: value}}})
    assert raised.value.path == f"spec.podTemplate.metadata.annotations[{key}]"


@pytest.mark.parametrize(
    ("accounts", "expected"),
    [
        ({"z": {"nvidia.com/dynamo-component-pod": "true"}, "b": {"nvidia.com/dynamo-component-pod": "true"}}, "b"),
        ({"a": {}, "b": {"nvidia.com/dynamo-component-pod": "false"}}, "default"),
    ],
)
def test_the_fallback_account_is_the_first_labelled_one(accounts: dict[str, dict[str, str]], expected: str) -> None:
    found = [SERVICE_ACCOUNT.object({"metadata": {"name": n, "labels": labels}}) for n, labels in accounts.items()]
    assert fallback_account(found) == expected


@pytest.mark.parametrize(
    ("type_", "template", "wanted"),
    [
        pytest.param("worker", {}, True, id="worker, kubernetes"),
        pytest.param("worker", ETCD, False, id="T-POD-125 T-DCD-10 worker, etcd"),
        pytest.param("frontend", ETCD, True, id="T-POD-125 frontend, etcd"),
    ],
)
def test_services_exist_where_they_are_the_registry(
    bench: Bench, type_: str, template: dict[str, Any], wanted: bool
) -> None:
    assert service_wanted(bench.deployment(type_, template=template), Surroundings()) is wanted


@pytest.mark.parametrize(
    ("type_", "port"),
    [
        pytest.param("frontend", {"name": "http", "port": 8000, "targetPort": "http"}, id="T-DCD-11 frontend"),
        pytest.param("epp", {"name": "grpc", "port": 9002, "targetPort": "grpc", "appProtocol": "http2"}, id="epp"),
        pytest.param("worker", {"name": "system", "port": 9090, "targetPort": "system"}, id="worker"),
        pytest.param("planner", {"name": "system", "port": 9090, "targetPort": "system"}, id="planner"),
    ],
)
def test_a_service_has_the_port_of_its_component(bench: Bench, type_: str, port: dict[str, Any]) -> None:
    tree = render_service(bench.deployment(type_, name="G.It"), Surroundings()).content()
    assert tree["metadata"]["name"] == "g-it"
    assert tree["spec"]["ports"] == [{**port, "protocol": "TCP"}]
    assert tree["spec"]["selector"] == {
        "nvidia.com/dynamo-component-type": type_,
        "nvidia.com/dynamo-namespace": "ns-g",
        "nvidia.com/dynamo-component": type_.capitalize(),
    }
    assert tree["metadata"]["labels"][ENABLED] == "true"


def test_a_service_selects_the_pods_that_are_rendered_with_it(bench: Bench) -> None:
    selector = render_service(bench.deployment("decode"), Surroundings()).spec.selector
    labels = bench.template("decode")["metadata"]["labels"]
    assert selector.items() <= labels.items()


@pytest.mark.parametrize(
    ("labels", "namespace"),
    [
        pytest.param({}, "ns-g-it", id="of its own name, as a graph would have it"),
        pytest.param({"nvidia.com/dynamo-namespace": "d"}, "d", id="of the label"),
    ],
)
def test_a_deployment_without_a_graph_has_a_dynamo_namespace(
    bench: Bench, labels: dict[str, str], namespace: str
) -> None:
    alone = bench.deployment("worker", owned=False, labels=labels)
    selector = render_service(alone, Surroundings()).spec.selector
    assert selector["nvidia.com/dynamo-namespace"] == namespace
    pods = render_deployment(alone, Surroundings()).spec.template
    assert selector.items() <= pods["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        pytest.param("llama-3", "dynamo-model-e3352e1e", id="T-POD-141"),
        pytest.param("Qwen/Qwen3-0.6B", "dynamo-model-fb68f5a6", id="T-POD-142"),
    ],
)
def test_a_model_has_one_service(bench: Bench, model: str, name: str) -> None:
    tree = render_model_service(model, "ns").content()
    digest = name.removeprefix("dynamo-model-")
    assert tree["metadata"]["name"] == name
    assert tree["metadata"]["annotations"] == {"nvidia.com/dynamo-base-model": model}
    assert tree["spec"]["clusterIP"] == "None"
    assert tree["spec"]["selector"] == {"nvidia.com/dynamo-base-model-hash": digest}
    template = bench.template("worker", modelRef={"name": model})
    assert template["metadata"]["labels"]["nvidia.com/dynamo-base-model-hash"] == digest
    assert template["metadata"]["annotations"]["nvidia.com/dynamo-base-model"] == model


def names(pod: dict[str, Any]) -> list[str]:
    return [entry["name"] for entry in pod.get("imagePullSecrets", ())]


@pytest.mark.parametrize("image", [pytest.param("r.example:5005/x:1", id="T-POD-115")])
def test_every_secret_of_a_registry_is_used(bench: Bench, image: str) -> None:
    secrets = PullSecrets.of(
        [bench.pull_secret("s2", "r.example:5005/b"), bench.pull_secret("s1", "r.example:5005/a")], "ns"
    )
    pod = bench.pod("worker", {"image": image}, around=Surroundings(secrets=secrets))
    assert names(pod) == ["s1", "s2"]


@pytest.mark.parametrize("keys", [pytest.param(("https://r.example/a", "r.example/b"), id="T-POD-116")])
def test_a_secret_with_two_keys_of_one_host_is_listed_once(bench: Bench, keys: tuple[str, str]) -> None:
    index = PullSecrets.of([bench.pull_secret("s", *keys)], "ns")
    assert index.by_registry == {"r.example": ("s",)}


@pytest.mark.parametrize("namespace", [pytest.param("other", id="T-POD-117")])
def test_a_secret_of_another_namespace_is_not_used(bench: Bench, namespace: str) -> None:
    assert PullSecrets.of([bench.pull_secret("s", "r.example", namespace=namespace)], "ns").by_registry == {}


@pytest.mark.parametrize("own", [pytest.param("s2", id="T-POD-118")])
def test_secrets_of_the_user_come_first(bench: Bench, own: str) -> None:
    secrets = PullSecrets.of([bench.pull_secret("s1", "r.example"), bench.pull_secret("s2", "r.example")], "ns")
    pod = bench.pod(
        "worker",
        {"image": "r.example/x"},
        pod={"imagePullSecrets": [{"name": own}]},
        around=Surroundings(secrets=secrets),
    )
    assert names(pod) == ["s2", "s1"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [pytest.param("true", [], id="T-POD-119 true"), pytest.param("True", ["s"], id="T-POD-119 True")],
)
def test_only_the_exact_word_switches_discovery_of_secrets_off(bench: Bench, value: str, expected: list[str]) -> None:
    secrets = PullSecrets.of([bench.pull_secret("s", "r.example")], "ns")
    template = {"metadata": {"annotations": {"nvidia.com/disable-image-pull-secret-discovery": value}}}
    pod = bench.pod("worker", {"image": "r.example/x"}, template=template, around=Surroundings(secrets=secrets))
    assert names(pod) == expected


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("https://index.docker.io/v1/", id="T-POD-120 index"),
        pytest.param("docker.io", id="T-POD-120 bare"),
    ],
)
def test_docker_hub_has_one_name(bench: Bench, key: str) -> None:
    secrets = PullSecrets.of([bench.pull_secret("s", key)], "ns")
    assert secrets.for_image("acme/private:v1") == ("s",)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="T-POD-121"),
        pytest.param("[]", id="a list"),
        pytest.param('{"auths": 3}', id="no object"),
    ],
)
def test_a_malformed_secret_is_skipped_and_named(bench: Bench, text: str) -> None:
    index = PullSecrets.of([bench.pull_secret("bad", text=text), bench.pull_secret("good", "r.example")], "ns")
    assert index.by_registry == {"r.example": ("good",)}
    assert index.malformed == ("bad",)


@pytest.mark.parametrize("image", [pytest.param("private.example/i", id="T-POD-122")])
def test_the_registry_of_an_init_container_counts(bench: Bench, image: str) -> None:
    secrets = PullSecrets.of([bench.pull_secret("s", "private.example")], "ns")
    init = {"initContainers": [{"name": "i", "image": image}]}
    assert names(bench.pod("worker", pod=init, around=Surroundings(secrets=secrets))) == ["s"]


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("acme/private:v1", "docker.io"),
        ("busybox", "docker.io"),
        ("localhost/x", "localhost"),
        ("host:5000/x:1", "host:5000"),
        ("nvcr.io/nvidia/x@sha256:0", "nvcr.io"),
        ("index.docker.io/library/x", "docker.io"),
    ],
)
def test_the_registry_of_an_image(image: str, registry: str) -> None:
    assert image_registry(image) == registry


@pytest.mark.parametrize(
    ("key", "registry"),
    [("https://r.example:5005/v2/a", "r.example:5005"), ("r.example/a", "r.example"), ("r.example", "r.example")],
)
def test_the_registry_of_a_configured_key(key: str, registry: str) -> None:
    assert configured_registry(key) == registry
