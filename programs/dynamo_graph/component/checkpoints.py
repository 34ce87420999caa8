"""Checkpoints of components, as far as a graph depends on them: who waits for one, and what becomes of them (G 3.2.2, 9.1). Pure.

`Checkpoints` is a port: whoever makes checkpoints says here how far they are. Nothing in this package makes one; `NoCheckpoints`
knows that none is ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Delete
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import PROGRESS, Result, Step
from dynamo_graph.api.component import Component
from dynamo_graph.api.experimental import Checkpoint
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.graph_status import CheckpointStatus, GraphStatus
from dynamo_graph.graph.status import Outcome, Reason

FAILED: Final = "failed to reconcile checkpoints: "

NOTHING_READY: Final[Mapping[str, CheckpointStatus]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What is known of the checkpoints of one graph.

    Attributes:
        checkpoints: component name to its checkpoint, for every component that uses one. A name in it is that of an object that
            exists.
        problem: why not everything could be done; what was seen counts all the same.
    """

    checkpoints: Mapping[str, CheckpointStatus] = field(default_factory=lambda: NOTHING_READY)
    problem: Exception | None = None


@dataclass(frozen=True, slots=True)
class Automatic:
    """An object of a checkpoint that was made for a graph, without its author naming it.

    Attributes:
        object: it.
        policy: what becomes of it when the graph goes.
    """

    object: Object[Any, Any]
    policy: Literal["Delete", "Retain"]


class Checkpoints(Protocol):
    """Whoever makes checkpoints. Reads of the view only: neither method changes anything."""

    def observe(self, graph: DynamoGraphDeployment, view: View) -> Observation:
        """How far the checkpoints of the graph's components are."""

    def automatic(self, graph: DynamoGraphDeployment, view: View) -> Sequence[Automatic]:
        """What was made for this very graph (by its uid), and is not gone yet."""


class NoCheckpoints:
    """Nobody makes checkpoints: none is ready, whatever its name, and none has to go."""

    def observe(self, graph: DynamoGraphDeployment, view: View) -> Observation:
        """Every checkpoint that is asked for, not ready."""
        del view
        asked = {component.name: enabled(component) for component in graph.spec.components}
        found = {name: CheckpointStatus(checkpoint_name=asked.checkpoint_ref) for name, asked in asked.items() if asked}
        return Observation(checkpoints=found)

    def automatic(self, graph: DynamoGraphDeployment, view: View) -> Sequence[Automatic]:
        """Nothing."""
        del graph, view
        return ()


def enabled(component: Component) -> Checkpoint | None:
    """How the component uses a checkpoint; `None` if it does not."""
    checkpoint = component.experimental.checkpoint if component.experimental is not None else None
    return checkpoint if checkpoint is not None and checkpoint.enabled else None


def awaited(components: Iterable[Component], known: Mapping[str, CheckpointStatus]) -> dict[str, str]:
    """The components that wait for a checkpoint, with its name; empty where the checkpoint has none yet."""
    found = {}
    for component in components:
        checkpoint, state = enabled(component), known.get(component.name, CheckpointStatus())
        if checkpoint is not None and checkpoint.startup_policy == "WaitForCheckpoint" and not state.ready:
            found[component.name] = state.checkpoint_name
    return found


def held_back(outcome: Outcome, waiting: Mapping[str, str]) -> Outcome:
    """The outcome of a graph of which some components wait; a failed one is failed all the same."""
    if not waiting or outcome.state == "failed":
        return outcome
    parts = [f"{name} ({checkpoint})" if checkpoint else name for name, checkpoint in sorted(waiting.items())]
    message = f"Waiting for checkpoints: {', '.join(parts)}"
    return replace(outcome, state="pending", reason=Reason.WAITING_FOR_CHECKPOINT, message=message)


def cleaned_up(checkpoints: Checkpoints, request: Request[DynamoGraphDeployment]) -> Result[GraphStatus]:
    """What must be gone before a graph goes: automatic checkpoints that are to be deleted. Until they are, it is asked again."""
    made = checkpoints.automatic(request.object, request.view)
    going = tuple(Delete(target=each.object, owned=False) for each in made if each.policy == "Delete")
    if not going:
        return Result()
    return Result(steps=(Step(name="checkpoints", effects=going),), requeue_after=PROGRESS)
