"""Strategies of Deployments: those that could never be rolled are refused, in the server's words."""

from __future__ import annotations

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from tests.conformance.kinds import body
from tests.conformance.outcome import Tree, invalid
from tests.conformance.world import World

PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
AT = "spec.strategy.rollingUpdate"


def deployment(strategy: Tree) -> Tree:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    content = {"replicas": 0, "paused": True, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return body(DEPLOYMENT, "a", spec={**content, "strategy": strategy})


@pytest.mark.parametrize(
    ("strategy", "causes"),
    [
        (
            {"maxSurge": 0, "maxUnavailable": 0},
            [("maxUnavailable", "Invalid value: 0: may not be 0 when `maxSurge` is 0")],
        ),
        (
            {"maxSurge": "0%", "maxUnavailable": 0},
            [("maxUnavailable", "Invalid value: 0: may not be 0 when `maxSurge` is 0")],
        ),
        ({"maxSurge": "abc", "maxUnavailable": 1}, [("maxSurge", f'Invalid value: "abc": {PERCENT_RULE}')]),
        (
            {"maxSurge": -1, "maxUnavailable": 1},
            [("maxSurge", "Invalid value: -1: must be greater than or equal to 0")],
        ),
        ({"maxUnavailable": "101%"}, [("maxUnavailable", 'Invalid value: "101%": must not be greater than 100%')]),
        ({"maxSurge": "150%", "maxUnavailable": "100%"}, []),
    ],
)
def test_a_deployment_can_be_rolled(world: World, strategy: Tree, causes: list[tuple[str, str]]) -> None:
    found = world.create(DEPLOYMENT, deployment({"type": "RollingUpdate", "rollingUpdate": strategy}))
    if causes:
        assert found == invalid(DEPLOYMENT, "a", *((f"{AT}.{field}", "Invalid", rule) for field, rule in causes))
    else:
        assert found.object["spec"]["strategy"]["rollingUpdate"] == strategy


def test_a_strategy_is_one_of_two_and_only_one_rolls(world: World) -> None:
    rule = 'Unsupported value: {"Type":"Roll","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"'
    assert world.create(DEPLOYMENT, deployment({"type": "Roll"})) == invalid(
        DEPLOYMENT, "a", ("spec.strategy", "NotSupported", rule)
    )
    world.create(DEPLOYMENT, deployment({}))
    rule = "Forbidden: may not be specified when strategy `type` is 'Recreate'"
    assert world.merge(DEPLOYMENT, "a", {"spec": {"strategy": {"type": "Recreate"}}}) == invalid(
        DEPLOYMENT, "a", (AT, "Forbidden", rule)
    )
