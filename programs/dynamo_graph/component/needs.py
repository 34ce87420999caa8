"""What one attempt knows when it decides what a graph needs besides its components; and how what cannot be decided is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.program.effect import Refuse, Retry
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.component.checkpoints import Observation

MakeKeys: TypeAlias = Callable[[], Awaitable[Mapping[str, bytes]]]
"""Makes a key pair: the data of its Secret, `private.key` and `private.key.pub`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """One graph, and what is around it.

    Attributes:
        graph: the graph.
        view: the cluster.
        config: the operator's configuration.
        make_keys: makes key pairs.
        checkpoints: what is known of the checkpoints of its components.
    """

    graph: DynamoGraphDeployment
    view: View
    config: OperatorConfig
    make_keys: MakeKeys
    checkpoints: Observation


def refused(graph: DynamoGraphDeployment, name: str, error: InvalidObject, prefix: str = "") -> Step:
    """The step `name`, which cannot be made. If the own spec alone is to blame, only an edit brings another attempt."""
    retry = Retry.NEVER if error.what == f"{graph.kind.kind} {graph.key}" else Retry.BACKOFF
    return Step(name=name, effects=(Refuse(message=str(error), error=error, retry=retry),), prefix=prefix)
