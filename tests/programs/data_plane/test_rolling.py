"""The arithmetic of a rolling update."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_plane.bounds import Bounds, bounds
from data_plane.rolling import Count, grown, shrunk, total
from dynamo_ctrl.objects.builtin.apps import DeploymentSpec, DeploymentStrategy, RollingUpdate
from dynamo_ctrl.objects.errors import InvalidObject


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (4, "25%", "25%", Bounds(4, 1, 1)),
        (10, "25%", "25%", Bounds(10, 3, 2)),
        (1, "25%", "25%", Bounds(1, 1, 0)),
        (3, 0, 1, Bounds(3, 0, 1)),
        (3, 0, "10%", Bounds(3, 0, 1)),
        (3, 2, 9, Bounds(3, 2, 3)),
        (0, "25%", "25%", Bounds(0, 0, 0)),
    ],
)
def test_surge_is_rounded_up_and_unavailability_down(
    replicas: int, surge: int | str, unavailable: int | str, expected: Bounds
) -> None:
    update = RollingUpdate(max_surge=surge, max_unavailable=unavailable)
    spec = DeploymentSpec(replicas=replicas, strategy=DeploymentStrategy(rolling_update=update))
    assert bounds(spec) == expected


@pytest.mark.parametrize("field", ["maxSurge", "maxUnavailable"])
def test_a_bound_that_is_no_number_is_named(field: str) -> None:
    update = RollingUpdate(max_surge="many" if field == "maxSurge" else 1, max_unavailable="many")
    with pytest.raises(InvalidObject, match=f"spec.strategy.rollingUpdate.{field}: must be an integer or a percentage"):
        bounds(DeploymentSpec(strategy=DeploymentStrategy(rolling_update=update)))


def test_without_numbers_the_servers_defaults_hold() -> None:
    assert bounds(DeploymentSpec()) == Bounds(1, 1, 0)


def test_recreate_has_no_bounds_to_give() -> None:
    assert bounds(DeploymentSpec(replicas=3, strategy=DeploymentStrategy(type="Recreate"))) == Bounds(3)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [(0, 4, 1), (1, 3, 2), (2, 1, 4), (4, 0, 4), (6, 0, 4), (1, 5, 1)],
    ids=["room for one", "one has gone", "room for two", "complete", "too many", "too many old ones"],
)
def test_the_new_one_grows_as_far_as_the_surge_leaves_room(new: int, old: int, expected: int) -> None:
    assert grown(Bounds(4, 1, 1), new, old) == expected


def test_old_ones_shrink_by_what_is_available_beyond_the_bound() -> None:
    assert shrunk(Bounds(4, 1, 1), Count("new", 2, 2), [Count("old", 3, 3)]) == {"old": 1}


def test_the_oldest_gives_first() -> None:
    old = [Count("oldest", 2, 2), Count("older", 2, 2)]
    assert shrunk(Bounds(4, 1, 1), Count("new", 1, 1), old) == {"oldest": 0}


def test_broken_old_pods_go_before_working_ones() -> None:
    old = [Count("works", 3, 3), Count("broken", 2, 0)]
    assert shrunk(Bounds(4, 1, 1), Count("new", 0, 0), old) == {"broken": 0}


def test_new_pods_that_do_not_work_stop_the_rollout() -> None:
    assert shrunk(Bounds(4, 1, 1), Count("new", 2, 0), [Count("old", 3, 3)]) == {}


def test_while_new_pods_do_not_work_even_broken_old_ones_stay() -> None:
    assert shrunk(Bounds(10, 3, 2), Count("new", 5, 0), [Count("old", 8, 7)]) == {}


def test_nothing_shrinks_on_numbers_that_have_not_caught_up() -> None:
    assert shrunk(Bounds(4, 1, 1), Count("new", 2, 2), [Count("old", 2, 3)]) == {}


@st.composite
def rollouts(draw: st.DrawFn) -> tuple[Bounds, Count, list[Count]]:
    replicas = draw(st.integers(1, 20))
    surge, unavailable = draw(st.integers(0, 10)), draw(st.integers(0, replicas))
    limits = Bounds(replicas, surge, unavailable if surge or unavailable else 1)
    sizes = draw(st.lists(st.integers(1, 20), max_size=4))
    old = [Count(f"old-{number}", size, draw(st.integers(0, size))) for number, size in enumerate(sizes)]
    size = draw(st.integers(0, replicas))
    return limits, Count("new", size, draw(st.integers(0, size))), old


@given(rollouts())
def test_shrinking_never_takes_an_available_pod_below_the_bound(rollout: tuple[Bounds, Count, list[Count]]) -> None:
    limits, new, old = rollout
    sizes = shrunk(limits, new, old)
    assert all(0 <= sizes[count.name] < count.size for count in old if count.name in sizes)
    before = new.available + sum(count.available for count in old)
    after = new.available + sum(min(count.available, sizes.get(count.name, count.size)) for count in old)
    assert after >= min(before, limits.least_available)


@given(rollouts())
def test_growing_never_goes_beyond_the_surge(rollout: tuple[Bounds, Count, list[Count]]) -> None:
    limits, new, old = rollout
    size = grown(limits, new.size, total(old))
    assert new.size <= size <= limits.replicas
    assert size + total(old) <= max(limits.most, new.size + total(old))


@given(rollouts())
def test_a_rollout_whose_pods_all_work_always_ends(rollout: tuple[Bounds, Count, list[Count]]) -> None:
    limits, new, old = rollout
    size, olds = new.size, {count.name: count.size for count in old}
    for _ in range(200):
        size = grown(limits, size, sum(olds.values()))
        olds |= shrunk(limits, Count("new", size, size), [Count(n, s, s) for n, s in olds.items() if s])
    assert size == limits.replicas
    assert not any(olds.values())
