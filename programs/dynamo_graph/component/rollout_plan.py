"""One step of a rollout: what every generation of every worker shall ask for now (G 3.6.4-3.6.8). Pure.

While some component lacks its target, nothing destructive happens to any: its generation may not even be possible. What is
rendered new meanwhile stays inside the surge of what runs.

A generation that shrinks, and is wanted again before it has shrunk, grows only when it has: until then its replicas may still be
ended for the smaller number, and nobody may count on those that the larger one would keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from dynamo_graph.component.inventory import Worker
from dynamo_graph.component.rollout_arithmetic import (
    DEFAULT_SHARE,
    Counts,
    OldSize,
    Targets,
    budget,
    distributed,
    recreate_targets,
    rolling_targets,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the graph asks of one worker component.

    Attributes:
        name: of the component.
        desired: how many replicas.
        recreate: whether the old generations end before the new one starts.
        surge: text of its annotation.
        unavailable: text of its annotation.
        held: it must not start yet; its old generations stay meanwhile.
    """

    name: str
    desired: int
    recreate: bool = False
    surge: str = DEFAULT_SHARE
    unavailable: str = DEFAULT_SHARE
    held: bool = False

    @property
    def size(self) -> int:
        """What its target is to have when nothing old is left."""
        return 0 if self.held else self.desired


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPlan:
    """The sizes of one pass.

    Attributes:
        pending: some component has no target yet.
        new: component name to the size of its target, for those that have old generations.
        old: every old deployment to its size; empty while pending.
        drained: whether nothing is left of any old generation.
        ready: whether every target has what it is to have, and has been seen having it.
        updated: the components that are done, sorted.
    """

    pending: bool
    new: Mapping[str, int] = field(default_factory=dict)
    old: Mapping[Worker, int] = field(default_factory=dict)
    drained: bool = True
    ready: bool = True
    updated: tuple[str, ...] = ()


def rollout_plan(
    wishes: Iterable[Wish],
    targets: Mapping[str, Worker],
    olds: Iterable[Worker],
    drained: Callable[[str, tuple[Worker, ...]], bool],
) -> RolloutPlan:
    """The next step.

    Args:
        wishes: one for each worker component of the graph.
        targets: component name to its deployment of the wanted generation.
        olds: all other worker deployments; those of components that left the graph go to zero.
        drained: whether nothing is left of the old deployments of the component of that name.
    """
    wishes = tuple(wishes)
    of: dict[str, tuple[Worker, ...]] = {}
    for old in olds:
        of[old.component] = (*of.get(old.component, ()), old)
    empty = {name: drained(name, found) for name, found in of.items()}
    pending = any(wish.name not in targets for wish in wishes)
    new: dict[str, int] = {}
    sizes = {old: 0 for found in of.values() for old in found}
    for wish in wishes:
        found = of.get(wish.name, ())
        if found:
            target = targets.get(wish.name)
            step = _step(wish, target, found, drained=empty[wish.name] and not pending)
            new[wish.name] = step.new
            sizes |= {old: old.replicas for old in found} if wish.held else _distributed(step.old, found)
    return RolloutPlan(
        pending=pending,
        new=new,
        old={} if pending else sizes,
        drained=all(empty.values()),
        ready=not pending and all(_ready(targets[wish.name], new.get(wish.name, wish.size)) for wish in wishes),
        updated=tuple(
            sorted(wish.name for wish in wishes if _updated(wish, targets.get(wish.name), of.get(wish.name, ())))
        ),
    )


def _step(wish: Wish, target: Worker | None, olds: tuple[Worker, ...], *, drained: bool) -> Targets:
    counts = Counts(
        old=sum(old.replicas for old in olds),
        old_available=sum(old.available for old in olds),
        new=target.replicas if target is not None else 0,
        new_available=target.available if target is not None else 0,
    )
    if wish.held:
        return Targets(old=counts.old, new=0)
    if wish.recreate:
        return recreate_targets(wish.desired, counts.new, drained=drained)
    step = rolling_targets(wish.desired, budget(wish.desired, wish.surge, wish.unavailable), counts)
    if target is not None and target.shrinking:
        return replace(step, new=min(step.new, counts.new))
    return step


def _distributed(target: int, olds: tuple[Worker, ...]) -> dict[Worker, int]:
    sizes = distributed(
        target,
        [OldSize(name=old.name, created=old.created, replicas=old.replicas, available=old.available) for old in olds],
    )
    return {old: sizes[old.name] for old in olds}


def _ready(target: Worker, size: int) -> bool:
    """Whether it has been seen with that size and all of it is available."""
    return target.observed and target.replicas == size and target.available >= size


def _updated(wish: Wish, target: Worker | None, olds: tuple[Worker, ...]) -> bool:
    return target is not None and target.ready >= wish.desired and not any(old.ready for old in olds)
