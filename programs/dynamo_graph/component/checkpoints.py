"""Components that must not start before their checkpoint is ready (G 3.2.2). Pure.

Nothing here makes checkpoints: until something does, none is ready, and a component that waits for one has no replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dynamo_graph.api.component import Component
from dynamo_graph.graph.status import Outcome, Reason


def awaited(components: Iterable[Component]) -> dict[str, str]:
    """The components that wait for a checkpoint, with its name; empty where the checkpoint has none yet."""
    found = {}
    for component in components:
        checkpoint = component.experimental.checkpoint if component.experimental is not None else None
        if checkpoint is not None and checkpoint.enabled and checkpoint.startup_policy == "WaitForCheckpoint":
            found[component.name] = checkpoint.checkpoint_ref
    return found


def held_back(outcome: Outcome, waiting: Mapping[str, str]) -> Outcome:
    """The outcome of a graph of which some components wait; a failed one is failed all the same."""
    if not waiting or outcome.state == "failed":
        return outcome
    parts = [f"{name} ({checkpoint})" if checkpoint else name for name, checkpoint in sorted(waiting.items())]
    message = f"Waiting for checkpoints: {', '.join(parts)}"
    return replace(outcome, state="pending", reason=Reason.WAITING_FOR_CHECKPOINT, message=message)
