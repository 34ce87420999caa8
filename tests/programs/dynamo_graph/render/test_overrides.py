"""How values of the user override defaults (P 4, 10.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.env import merge, resolvable

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench


def test_a_script_of_the_user_replaces_command_and_arguments_T_POD_90(bench: Bench) -> None:
    main = bench.main("frontend", {"command": ["/bin/sh", "-c"], "args": ["script"]})
    assert (main["command"], main["args"]) == (["/bin/sh", "-c"], ["script"])


def test_command_and_arguments_are_judged_apart_T_POD_91(bench: Bench) -> None:
    main = bench.main("frontend", {"args": ["-m", "dynamo.frontend", "--x"]})
    assert (main["command"], main["args"]) == (["python3"], ["-m", "dynamo.frontend", "--x"])


@pytest.mark.parametrize("empty", [[], None])
def test_an_empty_list_clears_no_default(bench: Bench, empty: Any) -> None:
    main = bench.main("frontend", {"command": empty, "args": empty})
    assert (main["command"], main["args"]) == (["python3"], ["-m", "dynamo.frontend"])


def test_a_probe_is_replaced_not_merged_T_POD_92(bench: Bench) -> None:
    main = bench.main("worker", {"readinessProbe": {"exec": {"command": ["true"]}}})
    assert main["readinessProbe"] == {"exec": {"command": ["true"]}}
    assert main["livenessProbe"]["httpGet"]["port"] == "system"


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


def test_resources_of_the_user_pass_through_T_POD_94(bench: Bench) -> None:
    main = bench.main("worker", {"resources": {"limits": {"memory": "1Gi"}}})
    assert main["resources"] == {"limits": {"memory": "1Gi"}}


def test_environment_has_an_order_of_sources_T_POD_95(bench: Bench) -> None:
    graph_and_main = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "NATS_SERVER", "value": "x"}]
    config = bench.config(infrastructure={"natsAddress": "nats://n"})
    env = bench.env("worker", {"env": graph_and_main}, around=Surroundings(config=config))
    assert (env["A"], env["B"], env["NATS_SERVER"]) == ("1", "2", "x")


def test_an_entry_stands_behind_what_it_refers_to_T_POD_96(bench: Bench) -> None:
    main = bench.main("worker", {"env": [{"name": "A", "value": "$(Z)"}, {"name": "Z", "value": "1"}]})
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


def test_a_grace_period_of_zero_is_honoured_T_POD_97(bench: Bench) -> None:
    assert bench.pod("worker", pod={"terminationGracePeriodSeconds": 0})["terminationGracePeriodSeconds"] == 0
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


def test_a_mount_of_the_user_leaves_those_of_an_endpoint_picker_T_POD_100(bench: Bench) -> None:
    pod = bench.pod("epp", {"volumeMounts": [{"name": "x", "mountPath": "/x"}]}, pod={"volumes": [{"name": "x"}]})
    assert [mount["name"] for mount in pod["containers"][0]["volumeMounts"]] == ["x", "hf-cache", "shared-memory"]
    assert [volume["name"] for volume in pod["volumes"]] == ["x", "hf-cache", "shared-memory"]


def test_a_sidecar_is_copied_unchanged_behind_main_T_POD_101(bench: Bench) -> None:
    sidecar = {"name": "log", "image": "log:1", "args": ["x"]}
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
    from dynamo_graph.render.deployment import render_deployment

    first = render_deployment(deployment, Surroundings())
    second = render_deployment(deployment, Surroundings())
    assert deployment.content() == before
    assert first.raw == second.raw
