"""The Deployment around the Pod (G 3.9.2), and what is told as a warning (P 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component import Component
from dynamo_graph.render.warnings import render_warnings

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench


def annotated(**annotations: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {f"nvidia.com/{key.replace('_', '-')}": v for key, v in annotations.items()}}}


def test_a_deployment_selects_its_pods_by_its_own_name(bench: Bench) -> None:
    tree = bench.rendered("worker", name="g-worker-abcd1234").content()
    assert tree["metadata"]["name"] == "g-worker-abcd1234"
    assert tree["spec"]["selector"] == {"matchLabels": {"nvidia.com/selector": "g-worker-abcd1234"}}
    assert tree["spec"]["template"]["metadata"]["labels"]["nvidia.com/selector"] == "g-worker-abcd1234"
    assert "replicas" not in tree["spec"]


def test_replicas_pass_through_zero_too(bench: Bench) -> None:
    assert bench.rendered("worker", replicas=0).content()["spec"]["replicas"] == 0


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("Recreate", "Recreate", id="T-DCD-12 Recreate"),
        pytest.param("recreate", "RollingUpdate", id="T-DCD-12 recreate"),
    ],
)
def test_only_the_exact_word_recreates(bench: Bench, word: str, expected: str) -> None:
    tree = bench.rendered("worker", template=annotated(deployment_strategy=word)).content()
    assert tree["spec"]["strategy"]["type"] == expected


@pytest.mark.parametrize(
    ("annotations", "surge", "unavailable"),
    [
        ({}, "25%", "25%"),
        ({"deployment_rolling_update_max_surge": "1", "deployment_rolling_update_max_unavailable": "10%"}, 1, "10%"),
        ({"deployment_rolling_update_max_unavailable": "0"}, "25%", 0),
    ],
)
def test_surge_and_unavailability_pass_through(
    bench: Bench, annotations: dict[str, str], surge: int | str, unavailable: int | str
) -> None:
    tree = bench.rendered("worker", template=annotated(**annotations)).content()
    assert tree["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": surge, "maxUnavailable": unavailable}


def test_labels_of_pods_come_from_deployment_template_and_system(bench: Bench) -> None:
    template = {"metadata": {"labels": {"a": "template", "nvidia.com/dynamo-component": "forged"}}}
    labels = bench.template("worker", labels={"a": "deployment", "b": "deployment"}, template=template)["metadata"][
        "labels"
    ]
    assert labels == {
        "a": "template",
        "b": "deployment",
        "nvidia.com/dynamo-component": "Worker",
        "nvidia.com/dynamo-component-type": "worker",
        "nvidia.com/dynamo-discovery-backend": "kubernetes",
        "nvidia.com/dynamo-discovery-enabled": "true",
        "nvidia.com/dynamo-graph-deployment-name": "g",
        "nvidia.com/dynamo-namespace": "ns-g",
        "nvidia.com/metrics-enabled": "true",
        "nvidia.com/selector": "g-it",
    }


@pytest.mark.parametrize(("value", "expected"), [("false", None), ("False", "true"), ("true", "true")])
def test_metrics_are_on_unless_the_exact_word_says_no(bench: Bench, value: str, expected: str | None) -> None:
    labels = bench.template("worker", template=annotated(enable_metrics=value))["metadata"]["labels"]
    assert labels.get("nvidia.com/metrics-enabled") == expected


def test_the_origin_of_the_graph_and_forged_topology_stay_off_the_pods(bench: Bench) -> None:
    template = annotated(dynamo_operator_origin_version="1.2.0", topology_label_key="x", restartAt="r")
    assert bench.template("worker", template=template)["metadata"]["annotations"] == {"nvidia.com/restartAt": "r"}


def test_a_name_that_no_label_can_hold_is_refused(bench: Bench) -> None:
    with pytest.raises(InvalidObject, match="at most 63 characters"):
        bench.rendered("worker", name="g-" + "x" * 62)


def test_errors_name_the_step_that_failed(bench: Bench) -> None:
    with pytest.raises(InvalidObject) as raised:
        bench.pod("worker", {"volumeMounts": [{"name": "m"}]})
    assert raised.value.path == "spec.podTemplate.spec.containers[main].volumeMounts[0].mountPath"
    assert raised.value.rule == ("failed to merge podTemplate main container: volumeMount.mountPath is required for m")


@pytest.mark.parametrize(
    ("main", "fields", "reasons"),
    [
        ({"args": ["a", "b"]}, {}, ["ArgsIgnored"]),
        ({"command": ["x"], "args": ["a", "b"]}, {}, []),
        ({"args": ["a"]}, {}, []),
        ({"env": [{"name": "DYN_SYSTEM_PORT", "value": "1"}]}, {}, ["SystemPortMismatch"]),
        ({"env": [{"name": "DYN_SYSTEM_PORT", "value": "9090"}]}, {}, []),
        ({}, {"frontendSidecar": "fe"}, ["DiscoveryModePod"]),
        ({}, {"frontendSidecar": "fe", "template": annotated(dynamo_kube_discovery_mode="container")}, []),
    ],
)
def test_what_hardly_does_what_it_says_is_told(
    bench: Bench, main: dict[str, Any], fields: dict[str, Any], reasons: list[str]
) -> None:
    component = Component.model_validate(bench.component("worker", main, **fields))
    assert [warning.reason for warning in render_warnings(component)] == reasons
