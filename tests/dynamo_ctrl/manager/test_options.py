"""Options: every field has a default, a rule that is named when it is broken, and one way in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import pytest

from dynamo_ctrl.cache.cache import CacheOptions
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.manager.errors import InvalidOption
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions, resolve

GIVEN: Mapping[str, Any] = {
    "name": "mine",
    "cache": {"namespaces": ["a", "b"]},
    "controller": {"workers": 3},
    "controllers": {"graph": {"workers": 5}},
    "health_address": ":8081",
    "metrics_address": ":8080",
    "leader_election": {"enabled": True, "name": "mine"},
    "sync_timeout": 1,
    "stop_budget": 2.5,
    "event_capacity": 7,
    "event_flush": 0,
    "stall_threshold": 1,
    "request_histograms": True,
    "garbage": False,
    "debug": True,
}


def test_every_field_can_be_given_and_differs_from_its_default() -> None:
    default, given = ManagerOptions(), resolve(ManagerOptions, GIVEN)
    names = {option.name for option in fields(ManagerOptions)}
    assert set(GIVEN) == names, "a new option belongs into this test"
    assert {name for name in names if getattr(given, name) == getattr(default, name)} == set()
    assert given.cache == CacheOptions(namespaces=("a", "b"))
    assert given.for_controller("graph").workers == 5
    assert given.for_controller("other").workers == 3


def test_nothing_given_is_the_default() -> None:
    assert resolve(ManagerOptions) == ManagerOptions()
    assert resolve(ManagerOptions, {"name": None}, {}) == ManagerOptions()


def test_the_first_layer_that_names_a_field_wins_field_by_field() -> None:
    flags = {"controller": {"workers": 8}, "name": None}
    file = {"controller": {"workers": 2, "max_progress": 3}, "name": "from-the-file"}
    resolved = resolve(ManagerOptions, flags, file)
    assert resolved.controller == ControllerOptions(workers=8, max_progress=3)
    assert resolved.name == "from-the-file"


def test_numbers_may_come_as_text() -> None:
    assert resolve(ManagerOptions, {"stop_budget": "12.5", "garbage": "false"}).stop_budget == 12.5


@pytest.mark.parametrize(
    ("given", "field", "rule"),
    [
        ({"nmae": "x"}, "nmae", "no such option; there are: cache, controller"),
        ({"controller": {"wrokers": 1}}, "controller.wrokers", "no such option; there are: ageing"),
        ({"stop_budget": "soon"}, "stop_budget", "Expected `float`, got `str`"),
        ({"stop_budget": -1}, "stop_budget", "must not be negative, got -1.0"),
        ({"event_capacity": 0}, "event_capacity", "must be at least 1, got 0"),
        ({"name": "my controller"}, "name", "must be a qualified name, or no event is taken, got 'my controller'"),
        ({"name": "n" * 64}, "name", "must be a qualified name"),
        ({"name": "Example.com/graphs"}, "name", "must be a qualified name"),
        ({"controller": {"workers": 0}}, "controller", "workers: must be at least 1, got 0"),
        ({"cache": {"namespaces": 5}}, "cache.namespaces", "Expected `array`, got `int`"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(given: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        resolve(ManagerOptions, given)
    assert caught.value.field == field
    assert caught.value.rule.startswith(rule)


def test_options_cannot_change() -> None:
    options = ManagerOptions(controllers=MappingProxyType({}))
    with pytest.raises(AttributeError):
        options.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"lease_duration": 10}, "lease_duration: must be more than renew_deadline (10)"),
        ({"renew_deadline": 2.4, "guard_margin": 0}, "renew_deadline: must be more than 1.2 times retry_period (2)"),
        ({"guard_margin": 7.7}, "guard_margin: must leave writes more than 1.2 times retry_period"),
        ({"retry_period": 0}, "retry_period: must be positive and finite, got 0.0"),
        ({"lease_duration": float("inf")}, "lease_duration: must be positive and finite, got inf"),
        ({"renew_deadline": -1}, "renew_deadline: must be positive and finite"),
        ({"guard_margin": -1}, "guard_margin: must be finite and not negative"),
        ({"health_tolerance": -1}, "health_tolerance: must be finite and not negative"),
        ({"name": ""}, "name: must be given when leader election is enabled"),
        ({"groups": {"graph": ""}}, "groups: the lease of 'graph' needs a name"),
        ({"renewal": "never"}, "Invalid enum value 'never'"),
    ],
)
def test_the_durations_of_an_election_keep_their_distance(given: dict[str, Any], rule: str) -> None:
    """R 1.8, config checks: lease > renew > retry * 1.2, all positive."""
    with pytest.raises(InvalidOption) as caught:
        resolve(ManagerOptions, {"leader_election": {"enabled": True, "name": "lease", **given}})
    assert caught.value.field.startswith("leader_election")
    assert caught.value.rule.startswith(rule)


def test_a_request_of_the_election_may_take_half_the_renew_deadline_and_a_second_at_least() -> None:
    assert LeaderElectionOptions().request_timeout == 5.0
    assert LeaderElectionOptions(renew_deadline=1.5, retry_period=0.2, lease_duration=3).request_timeout == 1.0


def test_the_leases_are_that_of_the_manager_and_those_of_groups_each_once() -> None:
    options = LeaderElectionOptions(name="main", groups={"a": "other", "b": "other", "c": "main"})
    assert options.leases() == ("main", "other")
