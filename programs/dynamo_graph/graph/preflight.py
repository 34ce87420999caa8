"""What a graph must satisfy before anything is done for it (G 2.4 step 4): the rules of its own spec.

A broken rule is not an error of an attempt: nothing but an edit of the graph can mend it, and the edit brings the next attempt.
"""

from __future__ import annotations

from collections.abc import Iterator

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.rules import graph_problems
from dynamo_graph.graph.selection import GROVE


def problem(graph: DynamoGraphDeployment, provider: str) -> InvalidObject | None:
    """The first rule that the spec breaks; `None` for a sound graph. A spec that cannot be read breaks one, too.

    Args:
        graph: the graph.
        provider: the provider that serves it.
    """
    try:
        return next(_problems(graph, provider), None)
    except InvalidObject as unreadable:
        return unreadable


def _problems(graph: DynamoGraphDeployment, provider: str) -> Iterator[InvalidObject]:
    yield from graph_problems(graph.spec)
    if graph.spec.priority_class_name and provider != GROVE:
        rule = f"requires the Grove pathway; the graph is served by the provider {provider}"
        yield InvalidObject(graph.kind.kind, "spec.priorityClassName", rule)
