"""G 3.5.2: the hash of the workers, by its worked cases, its golden values and its invariances."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from dynamo_graph.component.worker_hash import canonical, document, worker_hash

Spec = dict[str, Any]


def hash_of(spec: Spec, **runtime_versions: str) -> str:
    graph = DYNAMO_GRAPH_DEPLOYMENT.object({"metadata": {"name": "g", "namespace": "ns"}, "spec": spec})
    return worker_hash(graph.spec.tree(), runtime_versions)


def main(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": "w:1.4.0", **container}]}}


def graph(**worker: Any) -> Spec:
    """A frontend and one worker."""
    return {
        "components": [
            {"name": "Frontend", "type": "frontend", "podTemplate": main(image="f:1.4.0")},
            {"name": "decode", "type": "decode", "podTemplate": main(), **worker},
        ]
    }


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        pytest.param({}, '{"version":"dgd-worker-rollout-v2"}', "16a1d40f", id="T-HASH-01"),
        pytest.param(
            {"components": [{"name": "worker", "type": "worker"}]},
            '{"version":"dgd-worker-rollout-v2","workers":{"worker":{"type":"worker"}}}',
            "0a72d226",
            id="T-HASH-02",
        ),
        pytest.param(
            {"backendFramework": "vllm", "components": [{"name": "decode", "type": "decode"}]},
            '{"version":"dgd-worker-rollout-v2","backendFramework":"vllm","workers":{"decode":{"type":"decode"}}}',
            "7e2c3fd4",
            id="T-HASH-03",
        ),
        pytest.param(
            {"components": [{"name": "prefill", "type": "prefill"}, {"name": "decode", "type": "decode"}]},
            '{"version":"dgd-worker-rollout-v2","workers":{"decode":{"type":"decode"},"prefill":{"type":"prefill"}}}',
            "bd679f2d",
            id="T-HASH-04",
        ),
    ],
)
def test_the_reference_values_of_the_spec(spec: Spec, text: str, expected: str) -> None:
    assert canonical(document(spec, {})).decode() == text
    assert hash_of(spec) == expected


FULL: Spec = {
    "backendFramework": "vllm",
    "annotations": {"team": "a"},
    "labels": {"tier": "gold"},
    "env": [{"name": "B", "value": "1"}, {"name": "A", "value": "2"}],
    "components": [
        {"name": "Frontend", "type": "frontend", "podTemplate": main()},
        {
            "name": "decode",
            "type": "decode",
            "replicas": 3,
            "globalDynamoNamespace": True,
            "sharedMemorySize": "16Gi",
            "multinode": {"nodeCount": 2},
            "frontendSidecar": "fe",
            "compilationCache": {"pvcName": "cache"},
            "experimental": {"gpuMemoryService": {"mode": "IntraPod"}},
            "podTemplate": {
                "metadata": {"labels": {"tier": "silver"}, "creationTimestamp": None},
                "spec": {
                    "containers": [
                        {
                            "name": "main",
                            "image": "w:1.5.0",
                            "args": ["--x", ""],
                            "env": [{"name": "A", "value": "3"}],
                            "resources": {"limits": {"nvidia.com/gpu": 1}, "requests": {}},
                            "stdin": False,
                        },
                        {"name": "fe", "image": "f:1.5.0"},
                    ],
                    "volumes": [{"name": "scratch", "emptyDir": {}}],
                    "terminationGracePeriodSeconds": 0,
                },
            },
        },
    ],
}
FULL_TEXT = (
    '{"version":"dgd-worker-rollout-v2","backendFramework":"vllm","workers":{"decode":{"type":"decode",'
    '"globalDynamoNamespace":true,"podTemplate":{"metadata":{"annotations":{"team":"a"},"labels":{"tier":"silver"}},'
    '"spec":{"containers":[{"args":["--x",""],"env":[{"name":"A","value":"3"},{"name":"B","value":"1"}],"image":"w:1.5.0",'
    '"name":"main","resources":{"limits":{"nvidia.com/gpu":1}},"stdin":false},{"image":"f:1.5.0","name":"fe"}],'
    '"terminationGracePeriodSeconds":0,"volumes":[{"name":"scratch"}]}},"multinode":{"nodeCount":2},"sharedMemorySize":"16Gi",'
    '"frontendSidecar":"fe","compilationCache":{"pvcName":"cache"},"experimental":{"gpuMemoryService":{"mode":"IntraPod"}},'
    '"runtimeVersion":"1.5.0"}}}'
)


@pytest.mark.parametrize(
    ("spec", "versions", "expected"),
    [
        pytest.param(graph(), {}, "8d1efc62", id="one worker"),
        pytest.param(graph(), {"decode": "1.5.0"}, "35b5bac6", id="one worker of runtime 1.5.0"),
        pytest.param(FULL, {"decode": "1.5.0"}, "aa129cff", id="every field"),
    ],
)
def test_golden_values_never_change(spec: Spec, versions: dict[str, str], expected: str) -> None:
    assert hash_of(spec, **versions) == expected


def test_the_canonical_text_of_every_field() -> None:
    assert canonical(document(FULL, {"decode": "1.5.0"})).decode() == FULL_TEXT


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"replicas": 9}, id="T-HASH-05 replicas"),
        pytest.param({"scalingAdapter": {}}, id="T-HASH-06 scalingAdapter"),
        pytest.param({"modelRef": {"name": "m"}}, id="T-HASH-06 modelRef"),
        pytest.param({"eppConfig": {"config": {"a": 1}}}, id="T-HASH-06 eppConfig"),
        pytest.param({"topologyConstraint": {"packDomain": "rack"}}, id="T-HASH-06 topologyConstraint"),
        pytest.param({"minAvailable": 1}, id="minAvailable"),
        pytest.param({"globalDynamoNamespace": False}, id="the default of globalDynamoNamespace"),
    ],
)
def test_what_needs_no_new_pods_leaves_the_hash(change: Spec) -> None:
    assert hash_of(graph(**change)) == hash_of(graph(replicas=1))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda spec: spec["components"][0]["podTemplate"]["spec"]["containers"][0].update(image="f:2"),
            id="T-HASH-07",
        ),
        pytest.param(lambda spec: spec["components"].reverse(), id="T-HASH-16"),
    ],
)
def test_other_components_and_their_order_leave_the_hash(change: Callable[[Spec], None]) -> None:
    spec = copy.deepcopy(graph())
    change(spec)
    assert spec != graph()
    assert hash_of(spec) == hash_of(graph())


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"podTemplate": main(env=[{"name": "A", "value": "1"}])}, id="T-HASH-08 env"),
        pytest.param({"podTemplate": main(image="w:1.4.1")}, id="T-HASH-09 image"),
        pytest.param({"podTemplate": main(args=["--x"])}, id="T-HASH-09 args"),
        pytest.param(
            {"podTemplate": {"spec": {**main()["spec"], "volumes": [{"name": "v", "emptyDir": {}}]}}},
            id="T-HASH-09 volume",
        ),
        pytest.param({"sharedMemorySize": "1Gi"}, id="T-HASH-09 sharedMemorySize"),
        pytest.param({"sharedMemorySize": "0"}, id="T-HASH-09 sharedMemorySize 0"),
        pytest.param({"multinode": {"nodeCount": 3}}, id="T-HASH-09 nodeCount"),
        pytest.param({"type": "prefill"}, id="T-HASH-10"),
        pytest.param({"globalDynamoNamespace": True}, id="globalDynamoNamespace"),
        pytest.param({"podTemplate": main(args=["", "--x"])}, id="an empty argument"),
    ],
)
def test_what_changes_pods_changes_the_hash(change: Spec) -> None:
    assert hash_of(graph(**change)) != hash_of(graph())


def test_worker_to_prefill_changes_the_hash() -> None:
    assert hash_of(graph(type="worker")) != hash_of(graph(type="prefill"))


@pytest.mark.parametrize("env", [pytest.param([{"name": "A", "value": "1"}], id="T-HASH-11")])
def test_graph_env_is_the_same_as_own_env(env: list[dict[str, str]]) -> None:
    assert hash_of({**graph(), "env": env}) == hash_of(graph(podTemplate=main(env=env)))


def test_graph_env_reaches_a_template_without_main() -> None:
    given_main = graph(podTemplate={"spec": {"containers": [{"name": "main"}, {"name": "x"}]}})
    without = graph(podTemplate={"spec": {"containers": [{"name": "x"}]}})
    env = [{"name": "A", "value": "1"}]
    assert hash_of({**without, "env": env}) == hash_of({**given_main, "env": env})


ANNOTATED = {**main(), "metadata": {"annotations": {"k": "w"}}}


@pytest.mark.parametrize("graph_annotations", [pytest.param({"k": "v"}, id="T-HASH-12")])
def test_a_component_annotation_hides_that_of_the_graph(graph_annotations: dict[str, str]) -> None:
    template_only = graph(podTemplate=ANNOTATED)
    assert hash_of({**template_only, "annotations": graph_annotations}) == hash_of(template_only)
    assert hash_of({**graph(), "annotations": graph_annotations}) != hash_of(graph())


PAIR = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


@pytest.mark.parametrize(
    ("graph_env", "equal"),
    [
        pytest.param(None, False, id="T-HASH-13"),
        pytest.param([{"name": "C", "value": "3"}], True, id="T-HASH-14"),
    ],
)
def test_the_order_of_env_counts_only_without_graph_env(graph_env: Any, equal: bool) -> None:
    extra = {"env": graph_env} if graph_env else {}
    one = hash_of({**graph(podTemplate=main(env=PAIR)), **extra})
    other = hash_of({**graph(podTemplate=main(env=PAIR[::-1])), **extra})
    assert (one == other) is equal


@pytest.mark.parametrize("added", [pytest.param({"name": "epp", "type": "epp"}, id="T-HASH-15")])
def test_an_endpoint_picker_changes_the_hash(added: Spec) -> None:
    spec = graph()
    assert hash_of({"components": [*spec["components"], added]}) != hash_of(spec)


@pytest.mark.parametrize("template", [pytest.param({}, id="T-HASH-17"), {"metadata": {"labels": {}}}, {"spec": None}])
def test_an_empty_template_is_no_template(template: Spec) -> None:
    bare = {"components": [{"name": "decode", "type": "decode"}]}
    assert hash_of({"components": [{"name": "decode", "type": "decode", "podTemplate": template}]}) == hash_of(bare)


def test_the_runtime_version_stands_last() -> None:
    text = canonical(document({"components": [{"name": "w", "type": "worker"}]}, {"w": "1.5.0"})).decode()
    assert text.endswith('"workers":{"w":{"type":"worker","runtimeVersion":"1.5.0"}}}')


NAMES = st.sampled_from(["w", "decode", "Prefill", "a-b"])
TEXTS = st.text(max_size=8)
ENV = st.lists(
    st.fixed_dictionaries({"name": NAMES, "value": TEXTS}), max_size=3, unique_by=lambda entry: entry["name"]
)
CONTAINERS = st.fixed_dictionaries(
    {"name": st.just("main"), "image": TEXTS, "args": st.lists(TEXTS, max_size=3), "env": ENV}
)
COMPONENTS = st.lists(
    st.fixed_dictionaries(
        {
            "name": NAMES,
            "type": st.sampled_from(["worker", "prefill", "decode", "frontend", "planner"]),
            "podTemplate": st.fixed_dictionaries(
                {"spec": st.fixed_dictionaries({"containers": st.lists(CONTAINERS, max_size=1)})}
            ),
        }
    ),
    max_size=4,
    unique_by=lambda component: str(component["name"]),
)
SPECS = st.fixed_dictionaries({"components": COMPONENTS, "env": ENV})


@settings(deadline=None)
@given(SPECS, st.randoms(use_true_random=False))
def test_the_order_of_components_never_counts(spec: Spec, random: Any) -> None:
    shuffled = list(spec["components"])
    random.shuffle(shuffled)
    assert worker_hash({**spec, "components": shuffled}, {}) == worker_hash(spec, {})


@settings(deadline=None)
@given(SPECS, st.integers(0, 100))
def test_replicas_never_count(spec: Spec, replicas: int) -> None:
    scaled = [{**component, "replicas": replicas} for component in spec["components"]]
    assert worker_hash({**spec, "components": scaled}, {}) == worker_hash(spec, {})


@settings(deadline=None)
@given(SPECS)
def test_components_that_are_no_workers_never_count(spec: Spec) -> None:
    workers = [each for each in spec["components"] if each["type"] in {"worker", "prefill", "decode"}]
    assert worker_hash({**spec, "components": workers}, {}) == worker_hash(spec, {})


@settings(deadline=None)
@given(SPECS)
def test_empty_fields_never_count(spec: Spec) -> None:
    padded = [
        {**each, "podTemplate": {**each["podTemplate"], "metadata": {"labels": {}, "creationTimestamp": None}}}
        for each in spec["components"]
    ]
    assert worker_hash({**spec, "components": padded}, {}) == worker_hash(spec, {})


@settings(deadline=None)
@given(SPECS, SPECS)
def test_equal_documents_and_equal_hashes_go_together(one: Spec, other: Spec) -> None:
    same_text = canonical(document(one, {})) == canonical(document(other, {}))
    assert (worker_hash(one, {}) == worker_hash(other, {})) is same_text
