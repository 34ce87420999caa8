"""G 8.7: Pods are found by component and by Deployment, and what else is there costs nothing."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_ctrl.objects.key import Key
from dynamo_graph.pods.indexes import (
    BY_COMPONENT,
    BY_SELECTOR,
    component_of,
    pods_of_component,
    pods_of_deployment,
)
from dynamo_graph.pods.testing import pod

DOWN = "main:2:waiting:1"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(pod(), "g/decode", id="T-WATCH-09 both"),
        pytest.param(pod(graph=None), None, id="T-WATCH-09 no graph"),
        pytest.param(pod(component=None), None, id="T-WATCH-09 no component"),
        pytest.param(pod(component=""), None, id="T-WATCH-09 an empty component"),
    ],
)
def test_a_pod_is_filed_under_its_component(found: Pod, expected: str | None) -> None:
    assert component_of(found) == expected
    assert list(BY_COMPONENT.values(found)) == ([f"ns/{expected}"] if expected else [])


def crowd(size: int) -> list[Pod]:
    """Pods of others: of other components, of other graphs, and of namesakes in other namespaces."""
    others: list[dict[str, Any]] = [
        {"graph": f"g-{number % 97}", "component": f"c-{number % 7}", "selector": f"g-{number % 97}-c-{number % 7}"}
        for number in range(size)
    ]
    return [
        _in(f"other-{number % 50}" if number % 2 else "ns", pod(DOWN, name=f"foreign-{number}", **other))
        if number % 3
        else _in(f"other-{number % 50}", pod(DOWN, name=f"namesake-{number}"))
        for number, other in enumerate(others)
    ]


def _in(namespace: str, found: Pod) -> Pod:
    content = found.content()
    content["metadata"]["namespace"] = namespace
    return POD.object(content)


class Indexed:
    """A view of Pods with the indexes that programs declare."""

    def __init__(self, pods: list[Pod]) -> None:
        self._content: Content[Pod] = Content((BY_COMPONENT, BY_SELECTOR))
        Random(0).shuffle(pods)
        for each in pods:
            self._content.put(each)

    def by_index(self, index: Any, value: str) -> Any:
        return self._content.by_index(index.name, value)


MINE = [pod(DOWN, name=f"mine-{number}") for number in range(5)]
LOOKUPS: dict[str, Callable[[Any], Any]] = {
    "component": lambda view: pods_of_component(view, namespace="ns", graph="g", component="decode"),
    "deployment": lambda view: pods_of_deployment(view, Key("ns", "g-decode")),
}


def work(lookup: Callable[[Any], Any], view: Indexed) -> Counter[str]:
    """Every function that a second lookup calls, those of the interpreter included; the first one sorts."""
    lookup(view)
    calls: Counter[str] = Counter()

    def told(frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            calls[frame.f_code.co_qualname if event == "call" else argument.__qualname__] += 1

    sys.setprofile(told)
    try:
        lookup(view)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("of", [pytest.param(name, id=f"T-WATCH-10 {name}") for name in LOOKUPS])
def test_a_lookup_costs_the_same_among_ten_thousand_others_as_among_one_thousand(of: str) -> None:
    few, many = (Indexed([*MINE, *crowd(size)]) for size in (1_000, 10_000))
    lookup = LOOKUPS[of]
    names = [each.metadata.name for each in lookup(many)]
    assert names == [each.metadata.name for each in lookup(few)] == [each.metadata.name for each in MINE]
    assert work(lookup, many) == work(lookup, few)


def test_pods_of_a_deployment_are_those_that_it_made() -> None:
    made = pod(DOWN, name="made")
    orphan = pod(DOWN, name="orphan", owner=None)
    clique = pod(DOWN, name="clique", owner="PodClique")
    assert LOOKUPS["deployment"](Indexed([orphan, made, clique])) == [made]
