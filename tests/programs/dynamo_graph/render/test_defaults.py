"""What each component type starts from, and the versions that change it (P 3, 10.5; G 3.9.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.runtime_version import from_image, resolve

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench

STRICT = "DYN_NAMESPACE_PREFIX_STRICT"


def get(path: str, port: str, **numbers: int) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": port}, **numbers}


def port(name: str, number: int) -> dict[str, Any]:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


@pytest.mark.parametrize("type_", [pytest.param("frontend", id="T-POD-76")])
def test_a_frontend(bench: Bench, type_: str) -> None:
    main = bench.main(type_)
    assert (main["command"], main["args"]) == (["python3"], ["-m", "dynamo.frontend"])
    assert main["ports"] == [port("http", 8000)]
    assert main["livenessProbe"] == get(
        "/live", "http", initialDelaySeconds=15, periodSeconds=10, timeoutSeconds=1, failureThreshold=3
    )
    assert main["readinessProbe"] == get(
        "/health", "http", initialDelaySeconds=10, periodSeconds=10, timeoutSeconds=3, failureThreshold=3
    )
    assert "startupProbe" not in main
    env = bench.values(main)
    assert (env["DYNAMO_PORT"], env["DYN_HTTP_PORT"], env["DYN_NAMESPACE_PREFIX"]) == ("8000", "8000", "ns-g")


def test_a_frontend_of_a_new_runtime_has_a_startup_probe(bench: Bench) -> None:
    probe = bench.main("frontend", {"image": "img:1.6.0"})["startupProbe"]
    assert probe == get("/live", "http", periodSeconds=10, timeoutSeconds=1, failureThreshold=30)


@pytest.mark.parametrize("type_", [pytest.param("worker", id="T-POD-77")])
def test_a_worker(bench: Bench, type_: str) -> None:
    main = bench.main(type_)
    assert main["command"] == ["/bin/sh", "-c"]
    assert "args" not in main
    assert main["ports"] == [port("system", 9090), port("nixl", 19090)]
    assert main["livenessProbe"]["failureThreshold"] == 1
    env = bench.values(main)
    assert env["DYN_HEALTH_CHECK_ENABLED"] == "false"
    assert env["DYN_FORWARDPASS_METRIC_PORT"] == "20380"


@pytest.mark.parametrize(
    "type_",
    [
        pytest.param("worker", id="T-REND-12 worker"),
        pytest.param("prefill", id="T-REND-12 prefill"),
        pytest.param("decode", id="T-REND-12 decode"),
    ],
)
def test_every_kind_of_worker_has_the_probes_and_variables_of_one(bench: Bench, type_: str) -> None:
    labels = {"metadata": {"labels": {"nvidia.com/dynamo-worker-hash": "abcd1234"}}}
    main = bench.main(type_, template=labels)
    assert [entry["name"] for entry in main["ports"]] == ["system", "nixl"]
    assert main["livenessProbe"] == get("/live", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=1)
    assert main["readinessProbe"] == get("/health", "system", periodSeconds=10, timeoutSeconds=4, failureThreshold=3)
    assert main["startupProbe"] == get("/live", "system", periodSeconds=10, timeoutSeconds=5, failureThreshold=720)
    assert bench.values(main) == {
        "DYN_COMPONENT": type_,
        "DYN_DISCOVERY_BACKEND": "kubernetes",
        "DYN_FORWARDPASS_METRIC_PORT": "20380",
        "DYN_HEALTH_CHECK_ENABLED": "false",
        "DYN_NAMESPACE": "ns-g",
        "DYN_NAMESPACE_WORKER_SUFFIX": "abcd1234",
        "DYN_PARENT_DGD_K8S_NAME": "g",
        "DYN_PARENT_DGD_K8S_NAMESPACE": "ns",
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_SYSTEM_PORT": "9090",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
        "NIXL_TELEMETRY_ENABLE": "n",
        "NIXL_TELEMETRY_EXPORTER": "prometheus",
        "NIXL_TELEMETRY_PROMETHEUS_PORT": "19090",
    }
    references = {e["name"]: e["valueFrom"] for e in main["env"] if "valueFrom" in e}
    assert references == {
        "POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}},
        "POD_NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        "POD_UID": {"fieldRef": {"fieldPath": "metadata.uid"}},
    }


@pytest.mark.parametrize(
    ("image", "failures", "health_check"),
    [
        pytest.param("img:1.5.0", 3, "true", id="T-POD-78 1.5.0"),
        pytest.param("img:1.4.9", 1, "false", id="T-POD-78 1.4.9"),
        pytest.param("img:1.5.0-rc1", 3, "true", id="T-POD-78 1.5.0-rc1"),
        pytest.param("img:latest", 1, "false", id="T-POD-78 latest"),
    ],
)
def test_a_worker_is_as_patient_as_its_runtime_allows(
    bench: Bench, image: str, failures: int, health_check: str
) -> None:
    main = bench.main("worker", {"image": image})
    assert main["livenessProbe"]["failureThreshold"] == failures
    assert bench.values(main)["DYN_HEALTH_CHECK_ENABLED"] == health_check


@pytest.mark.parametrize(
    ("image", "version"),
    [
        pytest.param("img:v1.6.2-cuda13", "1.6.2", id="T-POD-79"),
        pytest.param("host:5000/img", None, id="T-POD-80 port, no tag"),
        pytest.param("img:1.5", None, id="T-POD-80 two numbers"),
        pytest.param("img:01.5.0", None, id="T-POD-80 leading zero"),
        pytest.param("img@sha256:0123", None, id="T-POD-80 digest"),
        pytest.param("img:1.5.0@sha256:0123", "1.5.0", id="T-POD-80 tag and digest"),
        pytest.param("host:5000/img:1.5.0+b", "1.5.0", id="port and tag"),
        pytest.param("img:1.5.0x", None, id="glued letters"),
        pytest.param("img:V1.5.0", "1.5.0", id="capital V"),
        pytest.param("", None, id="no image"),
    ],
)
def test_the_version_is_read_from_the_tag(image: str, version: str | None) -> None:
    found = from_image(image)
    assert (str(found) if found else None) == version


@pytest.mark.parametrize("override", [pytest.param("1.5.0", id="T-POD-81")])
def test_the_override_wins_over_the_image(bench: Bench, override: str) -> None:
    assert str(resolve("img:custom", override)) == "1.5.0"
    main = bench.main("worker", {"image": "img:custom"}, runtimeVersionOverride=override)
    assert main["livenessProbe"]["failureThreshold"] == 3


@pytest.mark.parametrize("override", [pytest.param("1.5", id="T-POD-82")])
def test_a_short_override_is_an_error(bench: Bench, override: str) -> None:
    with pytest.raises(RenderError, match=r"^runtimeVersionOverride: resolve runtime version override: ") as raised:
        resolve("img:1.6.0", override)
    assert raised.value.rule.endswith('must be a semantic version such as "1.1.0"')
    with pytest.raises(InvalidObject, match="runtimeVersionOverride"):
        bench.main("worker", runtimeVersionOverride=override)


@pytest.mark.parametrize(
    ("type_", "tag", "strict"),
    [
        pytest.param("frontend", "1.5.9", None, id="T-POD-83 frontend 1.5.9"),
        pytest.param("frontend", "1.6.0", "true", id="T-POD-83 frontend 1.6.0"),
        pytest.param("frontend", "latest", None, id="T-POD-83 frontend unknown"),
        pytest.param("epp", "1.5.9", None, id="T-POD-83 epp 1.5.9"),
        pytest.param("epp", "1.6.0", "true", id="T-POD-83 epp 1.6.0"),
        pytest.param("epp", "latest", None, id="T-POD-83 epp unknown"),
    ],
)
def test_new_frontends_take_their_prefix_literally(bench: Bench, type_: str, tag: str, strict: str | None) -> None:
    assert bench.env(type_, {"image": f"img:{tag}"}).get(STRICT) == strict


@pytest.mark.parametrize("image", [pytest.param("img:1.6.0", id="T-POD-84")])
def test_a_legacy_endpoint_picker_is_configured_by_its_arguments(bench: Bench, image: str) -> None:
    pod = bench.pod("epp", {"image": image}, eppConfig={"config": {"plugins": []}})
    main = pod["containers"][0]
    assert STRICT not in bench.values(main)
    assert " ".join(main["args"]) == (
        "--pool-name g-pool --pool-namespace ns --pool-group inference.networking.k8s.io -v 4 --zap-encoder json"
        " --grpc-port 9002 --grpc-health-port 9003 --config-file /etc/epp/epp-config-dynamo.yaml"
    )
    assert {"name": "epp-config", "configMap": {"name": "g-epp-config"}} in pod["volumes"]


@pytest.mark.parametrize("type_", [pytest.param("epp", id="T-POD-85")])
def test_a_native_endpoint_picker(bench: Bench, type_: str) -> None:
    pod = bench.pod(type_)
    main = pod["containers"][0]
    assert "command" not in main
    assert "args" not in main
    assert bench.values(main)["HOME"] == "/home/dynamo"
    assert {"name": "hf-cache", "mountPath": "/home/dynamo/.cache"} in main["volumeMounts"]
    assert {"name": "hf-cache", "emptyDir": {}} in pod["volumes"]
    assert pod["terminationGracePeriodSeconds"] == 130
    assert pod["serviceAccountName"] == "epp-serviceaccount"
    assert main["startupProbe"]["failureThreshold"] == 180
    assert main["livenessProbe"] == {
        "grpc": {"port": 9003, "service": "inference-extension"},
        "initialDelaySeconds": 5,
        "periodSeconds": 10,
    }


@pytest.mark.parametrize(
    ("sidecar", "strict"),
    [
        pytest.param("img:custom", None, id="T-POD-86"),
        pytest.param("img:1.6.0", "true", id="T-POD-87"),
    ],
)
def test_a_frontend_sidecar_is_judged_by_its_own_image(bench: Bench, sidecar: str, strict: str | None) -> None:
    pod = bench.pod(
        "worker",
        {"image": "img:1.5.0"},
        others=[{"name": "fe", "image": sidecar}],
        frontendSidecar="fe",
        runtimeVersionOverride="1.6.0",
    )
    assert bench.values(pod["containers"][1]).get(STRICT) == strict


@pytest.mark.parametrize(
    ("type_", "suffix"),
    [
        pytest.param("worker", "abcd1234", id="T-POD-88 worker"),
        pytest.param("frontend", None, id="T-POD-88 frontend"),
    ],
)
def test_only_workers_register_under_their_generation(bench: Bench, type_: str, suffix: str | None) -> None:
    template = {"metadata": {"labels": {"nvidia.com/dynamo-worker-hash": "abcd1234"}}}
    assert bench.env(type_, template=template).get("DYN_NAMESPACE_WORKER_SUFFIX") == suffix


@pytest.mark.parametrize("type_", [pytest.param("planner", id="T-POD-89")])
def test_a_planner(bench: Bench, type_: str) -> None:
    pod = bench.pod(type_)
    main = pod["containers"][0]
    assert main["ports"] == [port("metrics", 9085), port("system", 9090)]
    assert main["startupProbe"]["failureThreshold"] == 720
    assert pod["serviceAccountName"] == "planner-serviceaccount"
    assert bench.values(main)["PLANNER_PROMETHEUS_PORT"] == "9085"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({}, "void", id="no GPU"),
        pytest.param({"limits": {"nvidia.com/gpu": 1}}, None, id="a GPU"),
        pytest.param({"claims": [{"name": "gpu"}]}, None, id="a claim"),
    ],
)
def test_a_frontend_without_gpus_sees_none(bench: Bench, resources: dict[str, Any], expected: str | None) -> None:
    assert bench.env("frontend", {"resources": resources}).get("NVIDIA_VISIBLE_DEVICES") == expected


def test_addresses_of_the_configuration_are_told(bench: Bench) -> None:
    config = bench.config(infrastructure={"natsAddress": "tls://n", "natsTLSCAPath": "/ca", "tcpTLSServerName": "s"})
    env = bench.env("worker", around=Surroundings(config=config))
    assert (env["NATS_SERVER"], env["NATS_TLS_CA_CERT_PATH"], env["DYN_TCP_TLS_SERVER_NAME"]) == ("tls://n", "/ca", "s")
    assert "ETCD_ENDPOINTS" not in env
