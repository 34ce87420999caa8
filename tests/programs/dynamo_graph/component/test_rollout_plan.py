"""G 3.6.4-3.6.8: the sizes of one pass, component by component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_graph.component.inventory import Worker
from dynamo_graph.component.rollout_plan import RolloutPlan, Wish, rollout_plan

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.component.conftest import MakeWorker


def planned(wishes: list[Wish], targets: list[Worker], olds: list[Worker], *, drained: bool = False) -> RolloutPlan:
    return rollout_plan(wishes, {each.component: each for each in targets}, olds, lambda name, olds: drained)


def sizes(plan: RolloutPlan) -> dict[str, int]:
    return {old.name: size for old, size in plan.old.items()}


def wish(desired: int = 4, name: str = "decode", **more: Any) -> Wish:
    return Wish(name=name, desired=desired, **more)


@pytest.mark.parametrize(
    ("surge", "new"),
    [
        pytest.param("25%", 1, id="T-ROLL-64 inside the surge of what runs"),
        pytest.param("0", 0, id="T-ROLL-33 nothing fits"),
        pytest.param("100%", 4, id="T-ROLL-34 everything fits"),
    ],
)
def test_while_a_target_is_missing_it_is_made_and_old_ones_stay(worker: MakeWorker, surge: str, new: int) -> None:
    plan = planned([wish(surge=surge)], [], [worker("a", replicas=4)])
    assert plan.pending
    assert plan.new == {"decode": new}
    assert plan.old == {}
    assert not plan.ready
    assert plan.updated == ()


@pytest.mark.parametrize("there", [pytest.param("prefill", id="T-ROLL-61")])
def test_one_missing_target_holds_the_old_ones_of_all_components(worker: MakeWorker, there: str) -> None:
    targets = [worker("p-new", there, replicas=1)]
    olds = [worker("p-old", "prefill", replicas=4), worker("d-old", "decode", replicas=4)]
    plan = planned([wish(name="prefill"), wish(name="decode")], targets, olds)
    assert plan.pending
    assert plan.new == {"prefill": 1, "decode": 1}
    assert plan.old == {}


def test_a_target_that_is_there_never_shrinks_for_another_that_is_missing(worker: MakeWorker) -> None:
    targets = [worker("p-new", "prefill", replicas=3)]
    olds = [worker("p-old", "prefill", replicas=4), worker("d-old", "decode", replicas=4)]
    assert planned([wish(name="prefill"), wish(name="decode")], targets, olds).new["prefill"] == 3


def test_a_new_component_among_old_ones_has_its_own_size(worker: MakeWorker) -> None:
    plan = planned([wish(), wish(3, name="prefill")], [], [worker("a", replicas=4)])
    assert "prefill" not in plan.new


@pytest.mark.parametrize(
    ("target", "drained", "new", "old"),
    [
        pytest.param(None, False, 0, {}, id="T-ROLL-67 made at zero, the old one stays"),
        pytest.param(0, False, 0, {"a": 0}, id="T-ROLL-67 the old one goes"),
        pytest.param(0, False, 0, {"a": 0}, id="T-ROLL-68 and something of it still runs"),
        pytest.param(0, True, 2, {"a": 0}, id="T-ROLL-69 nothing runs any more"),
        pytest.param(2, False, 2, {"a": 0}, id="what runs already is not stopped"),
    ],
)
def test_recreate(worker: MakeWorker, target: int | None, drained: bool, new: int, old: dict[str, int]) -> None:
    targets = [] if target is None else [worker("b", replicas=target)]
    plan = planned([wish(2, recreate=True)], targets, [worker("a", replicas=2)], drained=drained)
    assert plan.new == {"decode": new}
    assert sizes(plan) == old


@pytest.mark.parametrize("strategy", [pytest.param(True, id="T-ROLL-70")])
def test_each_component_follows_its_own_strategy(worker: MakeWorker, strategy: bool) -> None:
    wishes = [wish(2, name="prefill", recreate=strategy), wish(4, name="decode")]
    targets = [worker("p-new", "prefill", replicas=0), worker("d-new", "decode", replicas=1)]
    olds = [worker("p-old", "prefill", replicas=2), worker("d-old", "decode", replicas=4)]
    plan = planned(wishes, targets, olds)
    assert plan.new == {"prefill": 0, "decode": 1}
    assert sizes(plan) == {"p-old": 0, "d-old": 2}


def test_a_component_that_left_the_graph_goes_to_zero(worker: MakeWorker) -> None:
    plan = planned([wish()], [worker("new", replicas=4)], [worker("gone", "prefill", replicas=3)])
    assert sizes(plan) == {"gone": 0}
    assert plan.new == {}


def test_a_component_that_must_not_start_keeps_its_old_generation(worker: MakeWorker) -> None:
    plan = planned([wish(2, held=True, recreate=True)], [worker("b", replicas=0)], [worker("a", replicas=2)])
    assert plan.new == {"decode": 0}
    assert sizes(plan) == {"a": 2}
    assert plan.updated == ()


def test_several_old_generations_share(worker: MakeWorker) -> None:
    olds = [worker("a", replicas=2, age=2), worker("b", replicas=2, available=1, age=1)]
    plan = planned([wish()], [worker("c", replicas=1)], olds)
    assert sizes(plan) == {"a": 1, "b": 1}


def test_groups_count_as_available_when_they_are_ready(worker: MakeWorker) -> None:
    old = worker("a", replicas=1, kind="LeaderWorkerSet")
    plan = planned([wish(1)], [worker("b", replicas=1, kind="LeaderWorkerSet")], [old])
    assert sizes(plan) == {"a": 0}


def test_what_is_being_deleted_counts_as_asked_for_and_not_as_available(worker: MakeWorker) -> None:
    olds = [worker("a", replicas=3, age=1), worker("going", replicas=3, terminating=True)]
    plan = planned([wish()], [worker("c", replicas=0)], olds)
    assert plan.new == {"decode": 0}
    assert sizes(plan)["a"] == 3


@pytest.mark.parametrize(
    ("target", "ready"),
    [
        ({"replicas": 4}, True),
        ({"replicas": 4, "available": 3}, False),
        ({"replicas": 4, "generation": 3, "observed": 2}, False),
        ({"replicas": 3}, False),
        ({"replicas": 4, "status": False}, False),
    ],
)
def test_a_target_is_ready_when_it_was_seen_with_all_that_it_is_to_have(
    worker: MakeWorker, target: dict[str, Any], ready: bool
) -> None:
    assert planned([wish()], [worker("b", **target)], []).ready is ready


def test_a_target_that_is_to_have_nothing_is_ready(worker: MakeWorker) -> None:
    assert planned([wish(0)], [worker("b", replicas=0)], []).ready


@pytest.mark.parametrize(
    ("target", "olds", "expected"),
    [
        (4, [], ("decode",)),
        (3, [], ()),
        (4, [{"replicas": 0}], ("decode",)),
        (4, [{"replicas": 1}], ()),
        (4, [{"replicas": 1, "available": 0}], ("decode",)),
    ],
)
def test_a_component_is_updated_when_the_new_one_serves_and_nothing_old_does(
    worker: MakeWorker, target: int, olds: list[dict[str, Any]], expected: tuple[str, ...]
) -> None:
    found = [worker(f"old-{number}", **old) for number, old in enumerate(olds)]
    assert planned([wish()], [worker("b", replicas=target)], found).updated == expected


def test_without_workers_everything_is_done() -> None:
    plan = planned([], [], [])
    assert (plan.pending, plan.ready, plan.drained) == (False, True, True)
