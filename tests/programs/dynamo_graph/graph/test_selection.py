"""G 6: which provider serves a graph, what is stored first, and what its status says when nobody can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.owners import is_controlled_by
from dynamo_ctrl.program.effect import PatchPrimary, Refuse, Retry
from dynamo_ctrl.program.prediction import predicted
from dynamo_ctrl.program.program import Selected
from dynamo_ctrl.program.report import Failure, Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.graph.program import GraphProgram
from dynamo_graph.orchestrators import DISAGGREGATED_SET, LEADER_WORKER_SET, POD_CLIQUE_SET

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PROVIDER = "nvidia.com/workload-provider"
GROVE_OFF = {"nvidia.com/enable-grove": "false"}
DS_ON = {"nvidia.com/enable-disaggregatedset": "true"}

ALL = frozenset({"component", "grove", "disaggregatedset"})
GROVE_APIS: frozenset[Kind[Any]] = frozenset({POD_CLIQUE_SET})
DS_APIS: frozenset[Kind[Any]] = frozenset({DISAGGREGATED_SET, LEADER_WORKER_SET})


class World:
    """A view of a few children, some APIs, and at most one kind that cannot be read."""

    def __init__(
        self,
        *children: Object[Any, Any],
        serves: frozenset[Kind[Any]] = frozenset(),
        unreadable: Kind[Any] | None = None,
    ) -> None:
        self._children = children
        self._serves = serves
        self._unreadable = unreadable

    def owned(self, kind: Kind[Any], owner: Object[Any, Any]) -> Sequence[Any]:
        if kind == self._unreadable:
            raise SourceUnavailable(kind, "forbidden")
        return [child for child in self._children if child.kind == kind and is_controlled_by(child, owner)]

    def serves(self, kind: Kind[Any]) -> bool:
        return kind in self._serves

    def get(self, kind: Kind[Any], key: Any) -> Any:
        raise AssertionError("selection reads no single object")

    def list(self, kind: Kind[Any], *, namespace: str = "", selector: Any = None) -> Any:
        raise AssertionError("selection lists nothing but what is owned")

    def by_index(self, index: Any, value: str) -> Any:
        raise AssertionError("selection uses no index")


def graph(annotations: Mapping[str, str], spec: Mapping[str, Any] | None = None) -> DynamoGraphDeployment:
    metadata = {"name": "g", "namespace": "ns", "uid": "u1", "generation": 3, "resourceVersion": "7"}
    metadata |= {"annotations": dict(annotations)}
    return DYNAMO_GRAPH_DEPLOYMENT.object({"metadata": metadata, "spec": dict(spec or {})})


def child(kind: Kind[Any], *, uid: str = "u1", controller: bool = True) -> Object[Any, Any]:
    owner = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "name": "g",
        "uid": uid,
        "controller": controller,
    }
    labels = {"nvidia.com/dynamo-graph-deployment-name": "g"}
    metadata = {"name": f"g-{kind.plural}", "namespace": "ns", "uid": "c", "labels": labels, "ownerReferences": [owner]}
    found: Object[Any, Any] = kind.object({"metadata": metadata})
    return found


def select(
    primary: DynamoGraphDeployment, world: World, installed: frozenset[str] = ALL
) -> tuple[Selected | Result[Any], Report]:
    """The answer, and the report of its steps if every write succeeds."""
    answer = GraphProgram().select(Request(primary, world, NOW), installed)
    return answer, predicted(Result(steps=answer.steps), world, primary=primary)


def stored(report: Report) -> str | None:
    """The provider that the graph carries afterwards."""
    return report.primary.metadata.annotations.get(PROVIDER)


DCD = child(DYNAMO_COMPONENT_DEPLOYMENT)
PCS = child(POD_CLIQUE_SET)


@pytest.mark.parametrize(
    ("annotations", "world", "provider", "writes"),
    [
        pytest.param({PROVIDER: "component"}, World(PCS, serves=GROVE_APIS), "component", 0, id="T-SEL-01"),
        pytest.param({}, World(serves=GROVE_APIS), "grove", 1, id="T-SEL-02"),
        pytest.param({"nvidia.com/enable-grove": "FALSE"}, World(serves=GROVE_APIS), "component", 1, id="T-SEL-03"),
        pytest.param({}, World(DCD, serves=GROVE_APIS), "component", 1, id="T-SEL-04"),
        pytest.param(
            {},
            World(child(DYNAMO_COMPONENT_DEPLOYMENT, uid="u0"), serves=GROVE_APIS),
            "grove",
            1,
            id="T-SEL-07",
        ),
        pytest.param(
            {},
            World(child(DYNAMO_COMPONENT_DEPLOYMENT, controller=False), serves=GROVE_APIS),
            "grove",
            1,
            id="T-SEL-08",
        ),
        pytest.param({}, World(), "component", 1, id="T-SEL-09"),
        pytest.param(
            {"nvidia.com/enable-disaggregatedset": "True", **GROVE_OFF},
            World(serves=GROVE_APIS | DS_APIS),
            "disaggregatedset",
            1,
            id="T-SEL-13",
        ),
        pytest.param(DS_ON, World(serves=GROVE_APIS | DS_APIS), "grove", 1, id="T-SEL-14"),
        pytest.param({PROVIDER: "grove"}, World(serves=GROVE_APIS), "grove", 0, id="a stored choice is not written"),
    ],
)
def test_a_provider_is_chosen_and_stored(
    annotations: Mapping[str, str], world: World, provider: str, writes: int
) -> None:
    answer, report = select(graph(annotations), world)
    assert isinstance(answer, Selected)
    assert answer.provider == provider
    assert stored(report) == provider
    assert report.wrote == writes


@pytest.mark.parametrize(
    ("annotations", "world", "provider"),
    [
        pytest.param(GROVE_OFF, World(PCS), "grove", id="T-SEL-05"),
        pytest.param({PROVIDER: "grove"}, World(), "grove", id="a stored one"),
        pytest.param(DS_ON, World(serves=DS_APIS - {LEADER_WORKER_SET}), "disaggregatedset", id="without LWS"),
    ],
)
def test_a_provider_that_cannot_serve_here_fails_for_good(
    annotations: Mapping[str, str], world: World, provider: str
) -> None:
    answer, report = select(graph(annotations), world)
    assert isinstance(answer, Result)
    assert stored(report) == provider
    assert report.failure is not None
    assert report.failure.retry is Retry.NEVER
    assert callable(answer.status)
    status: Any = answer.status(report)
    assert status.state == "failed"
    assert [(c.type, c.status, c.reason) for c in status.conditions] == [
        ("Ready", "False", "selected_workload_provider_unavailable")
    ]
    assert provider in status.conditions[0].message
    assert status.conditions[0].observed_generation == 3
    assert status.observed_generation == 0


def test_an_api_without_an_installed_program_is_no_capability() -> None:
    answer, _ = select(graph({}), World(serves=GROVE_APIS), frozenset({"component"}))
    assert isinstance(answer, Selected)
    assert answer.provider == "component"


def test_a_stored_provider_without_its_program_is_unavailable() -> None:
    answer, report = select(graph({PROVIDER: "grove"}), World(serves=GROVE_APIS), frozenset({"component"}))
    assert isinstance(answer, Result)
    assert report.failure is not None
    assert report.failure.reason == "selected_workload_provider_unavailable"
    assert "no installed program serves it" in report.failure.message


@pytest.mark.parametrize("children", [pytest.param((DCD, PCS), id="T-SEL-06")])
def test_children_of_two_providers_store_nothing_and_are_tried_again(children: tuple[Object[Any, Any], ...]) -> None:
    answer, report = select(graph({}), World(*children, serves=GROVE_APIS))
    assert isinstance(answer, Result)
    assert report.wrote == 0
    assert report.failure is not None
    assert report.failure.retry is Retry.BACKOFF
    assert "component, grove" in report.failure.message
    assert answer.status is None


@pytest.mark.parametrize("unreadable", [pytest.param(POD_CLIQUE_SET, id="T-SEL-10")])
def test_a_kind_that_cannot_be_read_stops_the_choice(unreadable: Kind[Any]) -> None:
    with pytest.raises(SourceUnavailable):
        select(graph({}), World(unreadable=unreadable))


@pytest.mark.parametrize(
    "value", [pytest.param("unknown", id="T-SEL-11"), pytest.param("", id="T-SEL-16"), "Component"]
)
def test_an_unknown_provider_fails_for_good(value: str) -> None:
    answer, report = select(graph({PROVIDER: value}), World(unreadable=POD_CLIQUE_SET))
    assert isinstance(answer, Result)
    assert report.wrote == 0
    assert [type(effect) for step in answer.steps for effect in step.effects] == [Refuse]
    assert report.failure is not None
    assert report.failure.retry is Retry.NEVER
    assert callable(answer.status)
    status: Any = answer.status(report)
    assert (status.state, status.conditions[0].reason) == ("failed", "unsupported_workload_provider")
    assert f'"{value}"' in status.conditions[0].message


def test_a_provider_of_somebody_else_is_known_when_it_is_installed() -> None:
    answer, _ = select(graph({PROVIDER: "acme"}), World(), frozenset({"component", "acme"}))
    assert isinstance(answer, Selected)
    assert answer.provider == "acme"


def test_the_choice_is_the_only_thing_in_its_step() -> None:
    answer, _ = select(graph({}), World())
    assert isinstance(answer, Selected)
    assert [type(effect) for step in answer.steps for effect in step.effects] == [PatchPrimary]


def test_while_the_choice_cannot_be_stored_the_status_stays() -> None:
    answer, _ = select(graph(GROVE_OFF), World(PCS))
    assert isinstance(answer, Result)
    assert callable(answer.status)
    store = answer.steps[0].name
    failure = Failure(step=store, reason=None, message="no", error=RuntimeError("no"), retry=Retry.BACKOFF)
    assert answer.status(Report(primary=graph({}), failures=(failure,))) is None


CHECKPOINT = {"enabled": True, "checkpointRef": "c1", "job": {"spec": {}}}


@pytest.mark.parametrize(
    ("component", "path"),
    [
        pytest.param(
            {
                "name": "w",
                "podTemplate": {"spec": {"containers": [{"name": "main", "image": "i"}]}},
                "experimental": {"checkpoint": CHECKPOINT},
            },
            "spec.components[0].experimental.checkpoint.job",
            id="T-CON-23",
        ),
        pytest.param({"name": "w", "replicas": "three"}, "spec.components[0].replicas", id="a spec of another shape"),
        pytest.param({"name": "w"}, "spec.components[0].podTemplate.spec.containers", id="no main container"),
    ],
)
def test_a_spec_that_breaks_its_own_rules_waits_for_an_edit(component: Mapping[str, Any], path: str) -> None:
    answer, report = select(graph({PROVIDER: "component"}, {"components": [component]}), World())
    assert isinstance(answer, Result)
    assert report.failure is None
    assert answer.steps == ()
    status: Any = answer.status
    assert status.state == "failed"
    assert status.conditions[0].reason == "failed_to_reconcile_the_resources"
    assert path in status.conditions[0].message
