"""Plans as JSON data: everything that a plan says, and nothing where there is nothing."""

from __future__ import annotations

import json

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE
from dynamo_ctrl.objects.difference import ABSENT, Difference
from dynamo_ctrl.plan.document import document
from dynamo_ctrl.plan.plan import Action, Author, Later, Plan, PlannedFailure, PlannedStatus, PlannedWrite
from dynamo_ctrl.testing.widget import WIDGET

W = WIDGET.ref("ns/w")
PRIMARY = {"apiVersion": "example.com/v1", "kind": "Widget", "namespace": "ns", "name": "w"}
AUTHOR = Author(controller="widget", primary=W, step="children", effect="Sync")


def test_a_whole_plan() -> None:
    created = PlannedWrite(action=Action.CREATE, object=CONFIG_MAP.ref("ns/c"), content={"data": {"a": "1"}})
    changes = (Difference("spec.replicas", 2, 5), Difference("spec.paused", ABSENT, True))
    updated = PlannedWrite(action=Action.UPDATE, object=DEPLOYMENT.ref("ns/w"), differences=changes, authors=(AUTHOR,))
    deleted = PlannedWrite(action=Action.DELETE, object=NAMESPACE.ref("old"), held=("example.com/hold",))
    status = PlannedStatus(object=W, status={"state": "ok"}, differences=(Difference("status.state", "bad", ABSENT),))
    failure = PlannedFailure(controller="widget", primary=W, step="children", reason="Bad", message="no", terminal=True)
    plan = Plan(
        writes=(created, updated, deleted),
        statuses=(status,),
        failures=(failure,),
        later=(Later(controller="widget", primary=W, seconds=30.0),),
        passes=3,
        restless=("widget for ns/w: again",),
    )
    told = document(plan)
    assert json.loads(json.dumps(told)) == told
    assert told["passes"] == 3
    assert told["settled"] == plan.settled
    assert told["restless"] == ["widget for ns/w: again"]
    assert told["counts"] == {"create": 1, "update": 1, "delete": 1}
    assert told["writes"] == [
        {
            "action": "create",
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "c"},
            "content": {"data": {"a": "1"}},
            "authors": [],
        },
        {
            "action": "update",
            "object": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "ns", "name": "w"},
            "differences": [{"path": "spec.replicas", "old": 2, "new": 5}, {"path": "spec.paused", "new": True}],
            "authors": [{"controller": "widget", "primary": PRIMARY, "step": "children", "effect": "Sync"}],
        },
        {
            "action": "delete",
            "object": {"apiVersion": "v1", "kind": "Namespace", "name": "old"},
            "held": ["example.com/hold"],
            "authors": [],
        },
    ]
    assert told["statuses"] == [
        {"object": PRIMARY, "status": {"state": "ok"}, "differences": [{"path": "status.state", "old": "bad"}]}
    ]
    assert told["failures"] == [
        {
            "controller": "widget",
            "primary": PRIMARY,
            "step": "children",
            "reason": "Bad",
            "message": "no",
            "fatal": failure.fatal,
            "terminal": True,
        }
    ]
    assert told["later"] == [{"controller": "widget", "primary": PRIMARY, "seconds": 30.0}]


def test_an_empty_plan() -> None:
    told = document(Plan())
    assert (told["writes"], told["statuses"], told["failures"], told["later"]) == ([], [], [], [])
    assert told["settled"] is True
