"""What a graph must satisfy before anything is done for it (G 2.4 step 4): the rules of its own spec.

A broken rule is not an error of an attempt: nothing but an edit of the graph can mend it, and the edit brings the next attempt.
"""

from __future__ import annotations

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.rules import validate_graph


def problem(graph: DynamoGraphDeployment) -> InvalidObject | None:
    """The first rule that the spec breaks; `None` for a sound graph. A spec that cannot be read breaks one, too."""
    try:
        validate_graph(graph.spec)
    except InvalidObject as found:
        return found
    return None
