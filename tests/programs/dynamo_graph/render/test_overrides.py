"""How values of the user override defaults (P 4, 10.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.render.env import merge, resolvable

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench


@pytest.mark.parametrize("own", [pytest.param({"command": ["/bin/sh", "-c"], "args": ["script"]}, id="T-POD-90")])
def test_a_script_of_the_user_replaces_command_and_arguments(bench: Bench, own: dict[str, Any]) -> None:
    main = bench.main("frontend", own)
    assert (main["command"], main["args"]) == (["/bin/sh", "-c"], ["script"])


@pytest.mark.parametrize("args", [pytest.param(["-m", "dynamo.frontend", "--x"], id="T-POD-91")])
def test_command_and_arguments_are_judged_apart(bench: Bench, args: list[str]) -> None:
    main = bench.main("frontend", {"args": args})
    assert (main["command"], main["args"]) == (["python3"], ["-m", "dynamo.frontend", "--x"])


@pytest.mark.parametrize("empty", [[], None])
def test_an_empty_list_clears_no_default(bench: Bench, empty: Any) -> None:
    main = bench.main("frontend", {"command": empty, "args": empty})
    assert (main["command"], main["args"]) == (["python3"], ["-m", "dynamo.frontend"])


@pytest.mark.parametrize("probe", [pytest.param({"exec": {"command": ["true"]}}, id="T-POD-92")])
def test_a_probe_is_replaced_not_merged(bench: Bench, probe: dict[str, Any]) -> None:
    main = bench.main("worker", {"readinessProbe": probe})
    assert main["readinessProbe"] == {"exec": {"command": ["true"]}}
    assert main["livenessProbe"]["httpGet"]["port"] == "system"


def test_a_liveness_probe_of_the_user_shortens_no_start(bench: Bench) -> None:
    """Loading a model takes up to two hours; a start-up probe of the user's own wins."""
    own = {"tcpSocket": {"port": 1}}
    probe = bench.main("worker", {"livenessProbe": own})["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 7200
    assert bench.main("worker", {"startupProbe": own})["startupProbe"] == own


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        pytest.param(
            [{"name": "metrics", "containerPort": 9400}],
            [("metrics", 9400), ("system", 9090), ("nixl", 19090)],
            id="T-POD-93",
        ),
        pytest.param([{"name": "system", "containerPort": 1}], [("system", 1), ("nixl", 19090)], id="own system port"),
    ],
)
def test_default_ports_stay_under_their_names(
    bench: Bench, ports: list[dict[str, Any]], expected: list[tuple[str, int]]
) -> None:
    main = bench.main("worker", {"ports": ports})
    assert [(entry["name"], entry["containerPort"]) for entry in main["ports"]] == expected


@pytest.mark.parametrize("resources", [pytest.param({"limits": {"memory": "1Gi"}}, id="T-POD-94")])
def test_resources_of_the_user_pass_through(bench: Bench, resources: dict[str, Any]) -> None:
    main = bench.main("worker", {"resources": resources})
    assert main["resources"] == {"limits": {"memory": "1Gi"}}


@pytest.mark.parametrize("nats", [pytest.param("nats://n", id="T-POD-95")])
def test_environment_has_an_order_of_sources(bench: Bench, nats: str) -> None:
    graph_and_main = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "NATS_SERVER", "value": "x"}]
    config = bench.config(infrastructure={"natsAddress": nats})
    env = bench.env("worker", {"env": graph_and_main}, around=Surroundings(config=config))
    assert (env["A"], env["B"], env["NATS_SERVER"]) == ("1", "2", "x")


@pytest.mark.parametrize("value", [pytest.param("$(Z)", id="T-POD-96")])
def test_an_entry_stands_behind_what_it_refers_to(bench: Bench, value: str) -> None:
    main = bench.main("worker", {"env": [{"name": "A", "value": value}, {"name": "Z", "value": "1"}]})
    names = [entry["name"] for entry in main["env"]]
    assert names.index("Z") < names.index("A")
    assert sorted(names[:-2]) == names[:-2]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({"A": "$(Z)", "B": "", "Z": ""}, ["B", "Z", "A"], id="moved behind"),
        pytest.param({"A": "$$(Z)", "Z": ""}, ["A", "Z"], id="escaped"),
        pytest.param({"A": "$$$(Z)", "Z": ""}, ["Z", "A"], id="escape and reference"),
        pytest.param({"A": "$(B)", "B": "$(A)", "C": ""}, ["C", "A", "B"], id="cycle"),
        pytest.param({"A": "$(A)/x"}, ["A"], id="itself"),
        pytest.param({"A": "$(Missing)", "B": ""}, ["A", "B"], id="unknown"),
        pytest.param({"A": "$(B)", "B": "$(C)", "C": ""}, ["C", "B", "A"], id="chain"),
    ],
)
def test_references_order_the_environment(values: dict[str, str], expected: list[str]) -> None:
    entries = [{"name": name, "value": value} for name, value in values.items()]
    assert [entry["name"] for entry in resolvable(entries)] == expected


def test_of_two_entries_in_one_list_the_last_wins() -> None:
    assert merge([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]) == [{"name": "A", "value": "2"}]


@pytest.mark.parametrize("grace", [pytest.param(0, id="T-POD-97")])
def test_a_grace_period_of_zero_is_honoured(bench: Bench, grace: int) -> None:
    assert bench.pod("worker", pod={"terminationGracePeriodSeconds": grace})["terminationGracePeriodSeconds"] == 0
    assert bench.pod("worker")["terminationGracePeriodSeconds"] == 60


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param({}, {"fsGroup": 1000}, id="T-POD-98 T-REND-13 absent"),
        pytest.param({"securityContext": {"runAsUser": 0}}, {"runAsUser": 0}, id="T-POD-98 given"),
        pytest.param({"securityContext": {}}, {}, id="T-REND-13 empty"),
    ],
)
def test_a_group_is_set_only_when_nothing_is_said_about_security(
    bench: Bench, pod: dict[str, Any], expected: dict[str, int]
) -> None:
    assert bench.pod("worker", pod=pod)["securityContext"] == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("tolerations", [{"operator": "Exists"}], id="T-POD-99 tolerations"),
        pytest.param("affinity", {"nodeAffinity": {}}, id="T-POD-99 affinity"),
        pytest.param("nodeSelector", {"a": "b"}, id="T-POD-99 nodeSelector"),
        pytest.param("schedulerName", "kai", id="T-POD-99 schedulerName"),
        pytest.param("restartPolicy", "OnFailure", id="restartPolicy"),
        pytest.param("initContainers", [{"name": "i", "image": "img"}], id="initContainers"),
    ],
)
def test_pod_fields_pass_through(bench: Bench, field: str, value: Any) -> None:
    assert bench.pod("worker", pod={field: value})[field] == value


@pytest.mark.parametrize("own", [pytest.param({"name": "x", "mountPath": "/x"}, id="T-POD-100")])
def test_a_mount_of_the_user_leaves_those_of_an_endpoint_picker(bench: Bench, own: dict[str, str]) -> None:
    pod = bench.pod("epp", {"volumeMounts": [own]}, pod={"volumes": [{"name": "x"}]})
    assert [mount["name"] for mount in pod["containers"][0]["volumeMounts"]] == ["x", "hf-cache", "shared-memory"]
    assert [volume["name"] for volume in pod["volumes"]] == ["x", "hf-cache", "shared-memory"]


@pytest.mark.parametrize("sidecar", [pytest.param({"name": "log", "image": "log:1", "args": ["x"]}, id="T-POD-101")])
def test_a_sidecar_is_copied_unchanged_behind_main(bench: Bench, sidecar: dict[str, Any]) -> None:
    containers = bench.pod("worker", others=[sidecar])["containers"]
    assert [container["name"] for container in containers] == ["main", "log"]
    assert containers[1] == sidecar


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param({"hostNetwork": True}, "ClusterFirstWithHostNet", id="silent"),
        pytest.param({"hostNetwork": True, "dnsPolicy": "Default"}, "Default", id="given"),
        pytest.param({}, None, id="own network"),
    ],
)
def test_pods_on_the_host_network_resolve_cluster_names(
    bench: Bench, pod: dict[str, Any], expected: str | None
) -> None:
    assert bench.pod("worker", pod=pod).get("dnsPolicy") == expected


def test_nothing_that_was_given_is_changed_or_shared(bench: Bench) -> None:
    deployment = bench.deployment("worker", {"env": [{"name": "A", "value": "1"}]})
    before = deployment.content()
    first = render_deployment(deployment, Surroundings())
    second = render_deployment(deployment, Surroundings())
    assert deployment.content() == before
    assert first.raw == second.raw
