"""A real kube-apiserver takes everything that the converter can make."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from dynamo_ctrl.objects.duration import Duration
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.schema.crd import Column, CustomResource, definition
from dynamo_ctrl.objects.schema.marks import (
    Atomic,
    Int32,
    Int64,
    IntOrString,
    JsonTree,
    ListMap,
    ListSet,
    Nullable,
    Quantity,
    Rule,
    ServerDefault,
    Texts,
)
from envtest import ApiError, Cluster
from envtest.api import wait_for

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TIMEOUT = 30.0
"""Seconds until the server has looked at a CRD."""


class Disk(BaseModel):
    kind: Literal["disk"]
    size: Quantity


class Net(BaseModel):
    kind: Literal["net"]
    port: IntOrString | None = None


class Item(BaseModel):
    name: Annotated[str, Field(max_length=63)]
    weight: Annotated[float, Field(gt=0, lt=1)] | None = None


class SinkSpec(BaseModel):
    flag: bool = False
    count: Annotated[Int32, Field(ge=0), ServerDefault()] = 3
    big: Int64 | None = None
    level: Literal[1, 2] | None = None
    delay: Duration | None = None
    when: datetime | None = None
    labels: Texts | None = None
    tree: JsonTree | None = None
    anything: Any = None
    nothing: Annotated[str | None, Nullable()] = None
    tags: Annotated[tuple[str, ...], ListSet()] = ()
    items: Annotated[
        tuple[Item, ...],
        Field(max_length=10),
        ListMap("name"),
        Rule("self.all(i, i.name != 'forbidden')", "no item may be called forbidden"),
    ] = ()
    only: Annotated[Item, Atomic()] | None = None
    source: Annotated[Disk | Net, Field(discriminator="kind")] | None = None


class SinkStatus(BaseModel):
    count: Annotated[Int32, ServerDefault()] = 0


class Sink(Object[SinkSpec, SinkStatus]):
    """A kind that uses everything."""


SINK = Kind(Sink, group="schema.test", version="v1", kind="Sink", plural="sinks")


@pytest.fixture(scope="module")
def sinks(cluster: Cluster) -> Iterator[str]:
    """The path of the collection, once the server answers for it."""
    resource = CustomResource(
        kind=SINK,
        description="A kind that uses everything.",
        columns=(Column(name="Count", type="integer", path=".spec.count"),),
        selectable=(".spec.count",),
        categories=("everything",),
    )
    document = definition(resource)
    cluster.api.create(CRDS, document)
    address = f"{CRDS}/{document['metadata']['name']}"

    def conditions() -> dict[str, str] | None:
        status = cluster.api.get(address).get("status", {})
        found = {c["type"]: c["status"] for c in status.get("conditions") or ()}
        return found if found.get("Established") == "True" else None

    assert "NonStructuralSchema" not in wait_for("the CRD to be established", conditions, timeout=TIMEOUT)
    path = SINK.path("default")

    def served() -> bool:
        try:
            return bool(cluster.api.get(path))
        except ApiError as error:
            if error.code not in (404, 429):
                raise
            return False

    wait_for("the kind to be served", served, timeout=TIMEOUT)
    yield path
    cluster.api.delete(address)


def create(cluster: Cluster, path: str, **spec: Any) -> dict[str, Any]:
    body = {"apiVersion": "schema.test/v1", "kind": "Sink", "metadata": {"generateName": "s-"}, "spec": spec}
    tree: dict[str, Any] = cluster.api.create(path, body)["spec"]
    return tree


def test_what_the_model_writes_is_stored_as_it_is(cluster: Cluster, sinks: str) -> None:
    spec = {
        "flag": False,
        "count": 0,
        "big": 2**62,
        "level": 2,
        "delay": "1h30m",
        "when": "2026-01-01T00:00:00Z",
        "labels": {"a": "b"},
        "tree": {"a": None, "b": [{}, 1.5]},
        "anything": [1, {"x": None}],
        "nothing": None,
        "tags": ["a"],
        "items": [{"name": "a", "weight": 0.5}],
        "only": {"name": "b"},
        "source": {"kind": "disk", "size": 5},
    }
    assert create(cluster, sinks, **spec) == spec


def test_a_server_default_is_filled_in_and_unknown_fields_are_pruned(cluster: Cluster, sinks: str) -> None:
    assert create(cluster, sinks, unknown=1) == {"count": 3}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"count": -1}, "greater than or equal to 0"),
        ({"count": 2**31}, "int32"),
        ({"level": 3}, "Unsupported value"),
        ({"delay": "soon"}, "should match"),
        ({"tags": ["a", "a"]}, "Duplicate value"),
        ({"items": [{"name": "forbidden"}]}, "no item may be called forbidden"),
        ({"items": [{"name": "a", "weight": 1}]}, "less than 1"),
        ({"source": {"kind": "disk"}}, "fields must be those of kind 'disk'"),
        ({"source": {"kind": "disk", "size": "1", "port": 1}}, "fields must be those of kind 'disk'"),
        ({"source": {"kind": "tape"}}, "Unsupported value"),
    ],
)
def test_the_server_refuses_what_the_schema_forbids(
    cluster: Cluster, sinks: str, spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as raised:
        create(cluster, sinks, **spec)
    assert raised.value.code == 422
    assert message in raised.value.status["message"]
