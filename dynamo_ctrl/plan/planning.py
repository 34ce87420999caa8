"""`plan`: what programs would do, found out by letting them do it on a scratch cluster.

All programs run over all their primaries again and again until a pass changes nothing. Nobody plays a data plane, and time stands
still unless a horizon is given: what a program would do once its Deployments are ready, or in ten minutes, is not in a plan.

The programs' ports are not asked for anything that makes a secret (`NoPorts`); what a port would answer is known after the call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dynamo_ctrl.objects.frozen import EMPTY
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.plan.comparison import Comparison, Pair
from dynamo_ctrl.plan.follower import Followers
from dynamo_ctrl.plan.passes import Passes, Ran, drive
from dynamo_ctrl.plan.plan import Action, Author, Later, Plan, PlannedFailure, PlannedStatus, PlannedWrite
from dynamo_ctrl.plan.scratch import Scratch
from dynamo_ctrl.plan.view import ScratchView
from dynamo_ctrl.program.definition import custom_resources, definitions
from dynamo_ctrl.program.effect import CreateOnce, Event
from dynamo_ctrl.program.ports import NoPorts
from dynamo_ctrl.program.trace import Did, Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far a plan goes.

    Attributes:
        passes: how often all primaries may run.
        horizon: seconds that may pass for programs that ask to be run again later.
    """

    passes: int = 50
    horizon: float = 0.0

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        if self.passes < 1:
            raise ValueError(f"passes: must be at least 1, got {self.passes}")
        if not self.horizon >= 0:
            raise ValueError(f"horizon: must not be negative, got {self.horizon}")


def plan(
    programs: object,
    objects: Iterable[Object[Any, Any]] = (),
    *,
    bounds: Bounds | None = None,
    now: datetime | None = None,
    seed: int = 0,
) -> Plan:
    """What `programs` (one, or several) would do in a cluster that holds `objects`.

    Objects with a uid come from a cluster and are taken as they are; others are created as a user would create them, so that
    the programs' schemas default and check them. The APIs that the programs need are there, and of the optional ones those that
    an object belongs to or a program defines. Equal arguments give equal plans.

    Raises:
        NotAProgram, DefinitionError: the programs do not fit together.
        Invalid, BadRequest: an object that a schema refuses.
        Suspended: a program awaits a port that does not answer at once; `plan_on` can be awaited instead.
    """
    members = _several(programs)
    given = tuple(objects)
    scratch = Scratch(now=now, seed=seed)
    prepare(scratch, members)
    scratch.serve(obj.kind for obj in given)
    for obj in given:
        if obj.metadata.uid:
            scratch.restore(obj)
        else:
            scratch.add(obj)
    return drive(plan_on(scratch, members, bounds))


def prepare(scratch: Scratch, programs: Iterable[object]) -> None:
    """Let a scratch cluster serve what the programs define and need; not what they call optional."""
    members = tuple(programs)
    scratch.define(custom_resources(members))
    watches = [watch for definition in definitions(members) for watch in definition.watches.all]
    scratch.serve(watch.kind for watch in watches if not watch.optional)


async def plan_on(scratch: Scratch, programs: Iterable[object], bounds: Bounds | None = None) -> Plan:
    """What `programs` would do in that scratch cluster. They do it there.

    Raises:
        NotAProgram, DefinitionError: the programs do not fit together.
    """
    bounds = bounds if bounds is not None else Bounds()
    planned = definitions(programs)
    followers = Followers(scratch.core)
    silence = _Silence()
    passes = Passes(
        engine=scratch.engine,
        view=lambda definition: ScratchView(scratch.core, definition.watches, followers),
        clock=scratch.clock,
        written=silence,
        recorder=silence,
        ports=NoPorts(),
    )
    since = scratch.core.version
    end = scratch.clock.monotonic() + bounds.horizon
    times = [scratch.clock.now()]
    every: list[Ran] = []
    last: list[Ran] = []
    quiet = False
    passed = 0
    while passed < bounds.passes:
        passed += 1
        before = scratch.core.version
        last = await passes.over(planned)
        every += last
        quiet = scratch.core.version == before and not any(_goes_on(ran) for ran in last)
        if not quiet:
            continue
        wait = min((ran.answer.requeue_after for ran in last if ran.answer.requeue_after), default=math.inf)
        if scratch.clock.monotonic() + wait > end:
            break
        scratch.clock.advance(wait)
        times.append(scratch.clock.now())
    watched = [watch.kind for definition in planned for watch in definition.watches.all]
    touched = [line.object.kind for ran in every for line in ran.trace.lines if line.object is not None]
    comparison = Comparison(scratch, since, [*watched, *touched], times)
    primaries = {definition.kind for definition in planned}
    return Plan(
        writes=tuple(_writes(comparison, every)),
        statuses=tuple(_statuses(comparison, primaries)),
        failures=tuple(failure for ran in last for failure in _failures(ran)),
        later=tuple(
            Later(controller=ran.controller, primary=ran.primary, seconds=ran.answer.requeue_after)
            for ran in last
            if ran.answer.requeue_after
        ),
        passes=passed,
        restless=() if quiet else tuple(_restless(last)),
    )


def applied(scratch: Scratch, since: int, objects: Iterable[Object[Any, Any]]) -> tuple[PlannedWrite, ...]:
    """What became of those objects since that version of a scratch cluster, by somebody else's hand."""
    refs = dict.fromkeys(obj.ref for obj in objects)
    comparison = Comparison(scratch, since, (ref.kind for ref in refs), [scratch.clock.now()])
    pairs = (comparison.of(ref) for ref in refs)
    writes = (_write(comparison, pair, (), generated=False) for pair in pairs if pair is not None)
    return tuple(write for write in writes if write is not None)


def _goes_on(ran: Ran) -> bool:
    """Whether an attempt is to be followed by another one at once, whatever it wrote."""
    return ran.answer.conflict or ran.answer.requeue_after == 0


def _several(programs: object) -> tuple[object, ...]:
    return tuple(programs) if isinstance(programs, Sequence) else (programs,)


def _writes(comparison: Comparison, every: Sequence[Ran]) -> Iterable[PlannedWrite]:
    authors: dict[Ref, dict[Author, None]] = {}
    generated: set[Ref] = set()
    for ran in every:
        for line in ran.trace.lines:
            if line.object is None or line.did in (Did.UNCHANGED, Did.FAILED):
                continue
            author = Author(controller=ran.controller, primary=ran.primary, step=line.step, effect=line.effect)
            authors.setdefault(line.object, {})[author] = None
            if line.effect == CreateOnce.__name__:
                generated.add(line.object)
    pairs = [pair for pair in map(comparison.of, authors) if pair is not None]
    pairs += [pair for pair in comparison if pair.ref not in authors]
    for pair in pairs:
        write = _write(comparison, pair, tuple(authors.get(pair.ref, ())), generated=pair.ref in generated)
        if write is not None:
            yield write


def _write(comparison: Comparison, pair: Pair, authors: tuple[Author, ...], *, generated: bool) -> PlannedWrite | None:
    after = pair.after
    match pair.action:
        case Action.CREATE:
            assert after is not None, "what was created is there"  # noqa: S101
            content = EMPTY if generated else comparison.content(after)
            return PlannedWrite(action=Action.CREATE, object=pair.ref, content=content, authors=authors)
        case Action.DELETE:
            held = () if after is None else tuple(after.metadata.finalizers)
            return PlannedWrite(action=Action.DELETE, object=pair.ref, authors=authors, held=held)
        case Action.UPDATE:
            changes = () if generated else comparison.changes(pair)
            if not changes and not generated:
                return None
            return PlannedWrite(action=Action.UPDATE, object=pair.ref, differences=changes, authors=authors)


def _statuses(comparison: Comparison, primaries: set[Kind[Any]]) -> Iterable[PlannedStatus]:
    for pair in comparison:
        if pair.ref.kind in primaries and pair.after is not None:
            status, changes = comparison.status(pair)
            if changes:
                yield PlannedStatus(object=pair.ref, status=status, differences=changes)


def _failures(ran: Ran) -> Iterable[PlannedFailure]:
    failed = [line for line in ran.trace.lines if line.did is Did.FAILED]
    for line in failed:
        yield PlannedFailure(
            controller=ran.controller,
            primary=ran.primary,
            step=line.step,
            reason=line.reason,
            message=line.message,
            fatal=line.fatal,
            terminal=line.fatal and ran.answer.terminal,
        )
    if ran.answer.error is not None and not any(line.fatal for line in failed):
        yield PlannedFailure(
            controller=ran.controller, primary=ran.primary, message=ran.trace.error, terminal=ran.answer.terminal
        )


def _restless(last: Sequence[Ran]) -> Iterable[str]:
    """What the last pass still did, in words; never empty."""
    found = False
    for ran in last:
        for text in _still(ran):
            found = True
            yield f"{ran.controller} for {ran.primary}: {text}"
    if not found:
        yield "a program asks to be run again at once, for ever"


def _still(ran: Ran) -> Iterable[str]:
    for line in ran.trace.lines:
        if line.did not in (Did.UNCHANGED, Did.FAILED):
            yield f"{line.did} {line.object}{_paths(line)}"
    if ran.trace.status:
        yield f"status: {', '.join(told.path for told in ran.trace.status)}"
    if ran.answer.conflict:
        yield f"conflict: {ran.trace.error}"


def _paths(line: Line) -> str:
    return f": {', '.join(told.path for told in line.differences)}" if line.differences else ""


class _Silence:
    """Nobody has to be told: reads see every write at once, and events of a plan reach nobody."""

    def wrote(self, obj: Object[Any, Any]) -> None:
        pass

    def deleted(self, kind: Kind[Any], key: Key, uid: str) -> None:
        pass

    def event(self, regarding: Object[Any, Any], event: Event) -> None:
        pass
