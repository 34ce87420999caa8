"""The rule that mends a refusal, in the words of real API servers."""

from __future__ import annotations

import pytest
import yaml

from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.engine.rights import missing_rule

WHO = 'User "system:serviceaccount:dynamo-system:dynamo-manager"'


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        pytest.param(
            f'deployments.apps is forbidden: {WHO} cannot create resource "deployments" in API group "apps" in the '
            'namespace "ns"',
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create"]},
            id="create",
        ),
        pytest.param(
            f'services "g" is forbidden: {WHO} cannot patch resource "services" in API group "" in the namespace "ns"',
            {"apiGroups": [""], "resources": ["services"], "verbs": ["patch"]},
            id="core group",
        ),
        pytest.param(
            f'graphs.nvidia.com "g" is forbidden: {WHO} cannot patch resource "graphs/status" in API group "nvidia.com" in the '
            'namespace "ns"',
            {"apiGroups": ["nvidia.com"], "resources": ["graphs/status"], "verbs": ["patch"]},
            id="subresource",
        ),
        pytest.param(
            f'secrets is forbidden: {WHO} cannot list resource "secrets" in API group "" at the cluster scope',
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]},
            id="cluster scope",
        ),
    ],
)
def test_the_missing_rule_is_read_from_the_refusal(message: str, rule: dict[str, list[str]]) -> None:
    found = missing_rule(Forbidden(message))
    assert found is not None
    assert "\n" not in found
    assert yaml.safe_load(found) == [rule]


@pytest.mark.parametrize(
    "message",
    [
        'roles "r" is forbidden: unable to create new content in namespace ns because it is being terminated',
        'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
    ],
)
def test_where_no_right_is_missing_no_rule_is_told(message: str) -> None:
    assert missing_rule(Forbidden(message)) is None
