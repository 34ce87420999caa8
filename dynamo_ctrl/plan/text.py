"""A plan as lines for people, in the manner of Terraform: `+` is new, `~` changes, `-` goes.

Pure. Each line has a tone, which a terminal shows as a colour and everything else leaves out.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import yaml

from dynamo_ctrl.objects.difference import ABSENT, Difference
from dynamo_ctrl.objects.frozen import thaw
from dynamo_ctrl.plan.plan import Action, Plan, PlannedFailure, PlannedStatus, PlannedWrite

CONTEXT: Final = 2
"""Unchanged lines that are shown around a change inside a list."""


class Tone(Enum):
    """How a line is meant."""

    PLAIN = "plain"
    HEADING = "heading"
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    WRONG = "wrong"


class Line(NamedTuple):
    """One line of text."""

    tone: Tone
    text: str


_TONES: Final = {Action.CREATE: Tone.ADDED, Action.UPDATE: Tone.CHANGED, Action.DELETE: Tone.REMOVED}
_MARKS: Final = {Action.CREATE: "+", Action.UPDATE: "~", Action.DELETE: "-"}
_WILL: Final = {Action.CREATE: "will be created", Action.UPDATE: "will be changed", Action.DELETE: "will be deleted"}


def lines(plan: Plan, *, brief: bool = False) -> Iterator[Line]:
    """The whole plan; `brief` leaves out what is in the objects."""
    for write in plan.writes:
        yield from written(write, brief=brief)
        if not brief:
            yield Line(Tone.PLAIN, "")
    if plan.writes and brief:
        yield Line(Tone.PLAIN, "")
    if plan.statuses:
        yield Line(Tone.HEADING, "Statuses:")
        for status in plan.statuses:
            yield from _status(status, brief=brief)
        yield Line(Tone.PLAIN, "")
    if plan.failures:
        yield Line(Tone.HEADING, "Refused or failed:")
        yield from map(_failure, plan.failures)
        yield Line(Tone.PLAIN, "")
    if plan.restless:
        yield Line(Tone.WRONG, f"No end after {plan.passes} passes; the last one still wrote:")
        yield from (Line(Tone.WRONG, f"  {text}") for text in plan.restless)
        yield Line(Tone.PLAIN, "")
    for later in plan.later:
        yield Line(Tone.PLAIN, f"{later.controller} would look at {later.primary} again after {later.seconds:g} s.")
    yield Line(Tone.HEADING, summary(plan))


def summary(plan: Plan) -> str:
    """The plan in one line."""
    if plan.empty and not plan.failures:
        return "Nothing to do: nothing would be written."
    counts = plan.counts
    parts = [f"{counts[action]} to {action}" for action in Action]
    parts.append(f"{len(plan.statuses)} {'status' if len(plan.statuses) == 1 else 'statuses'} to write")
    if plan.failures:
        parts.append(f"{len(plan.failures)} refused or failed")
    after = f"{plan.passes} {'pass' if plan.passes == 1 else 'passes'}"
    rest = f"settled after {after}" if plan.settled else "not settled"
    return f"Plan: {', '.join(parts)}; {rest}."


def written(write: PlannedWrite, *, brief: bool = False) -> Iterator[Line]:
    """What becomes of one object."""
    action = write.action
    generated = action is Action.CREATE and not write.content
    what = " with generated content" if generated else ""
    held = f", and held by {', '.join(write.held)}" if write.held else ""
    yield Line(_TONES[action], f"{_MARKS[action]} {write.object} {_WILL[action]}{what}{held}")
    if brief:
        return
    for author in write.authors:
        yield Line(Tone.PLAIN, f"    by {author}")
    if action is Action.DELETE and not write.authors:
        yield Line(Tone.PLAIN, "    because its owner goes")
    if write.content:
        yield from _block("+", Tone.ADDED, write.content)
    for difference in write.differences:
        yield from changed(difference)


def changed(difference: Difference) -> Iterator[Line]:
    """One difference: in one line where both values are small, else as what changes inside."""
    path, old, new = difference
    if old is ABSENT:
        yield from _entry("+", Tone.ADDED, path, new)
    elif new is ABSENT:
        yield from _entry("-", Tone.REMOVED, path, old)
    elif _small(old) and _small(new):
        yield Line(Tone.CHANGED, f"    ~ {path}: {_flow(old)} -> {_flow(new)}")
    else:
        yield Line(Tone.CHANGED, f"    ~ {path}:")
        yield from _inside(old, new)


def _status(status: PlannedStatus, *, brief: bool) -> Iterator[Line]:
    yield Line(Tone.CHANGED, f"~ {status.object}")
    if brief:
        return
    for difference in status.differences:
        yield from changed(difference)


def _failure(failure: PlannedFailure) -> Line:
    step = f", step {failure.step}" if failure.step else ""
    reason = f" [{failure.reason}]" if failure.reason else ""
    end = "; trying again would not help" if failure.terminal else "" if failure.fatal else "; the attempt goes on"
    where = f"{failure.controller} for {failure.primary}{step}{reason}"
    return Line(Tone.WRONG, f"! {where}: {failure.message}{end}")


def _inside(old: Any, new: Any) -> Iterator[Line]:
    before, after = _yaml(old), _yaml(new)
    for number, group in enumerate(difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT)):
        if number:
            yield Line(Tone.PLAIN, "          ...")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (Line(Tone.PLAIN, f"          {text}") for text in before[old_from:old_to])
                continue
            yield from (Line(Tone.REMOVED, f"        - {text}") for text in before[old_from:old_to])
            yield from (Line(Tone.ADDED, f"        + {text}") for text in after[new_from:new_to])


def _entry(mark: str, tone: Tone, path: str, value: Any) -> Iterator[Line]:
    if _small(value):
        yield Line(tone, f"    {mark} {path}: {_flow(value)}")
        return
    yield Line(tone, f"    {mark} {path}:")
    yield from _block(mark, tone, value, indent=2)


def _block(mark: str, tone: Tone, value: Any, indent: int = 0) -> Iterator[Line]:
    return (Line(tone, f"    {mark} {' ' * indent}{text}") for text in _yaml(value))


def _small(value: Any) -> bool:
    if isinstance(value, str):
        return "\n" not in value
    return not value or not isinstance(value, Mapping | Sequence)


def _flow(value: Any) -> str:
    text: str = yaml.dump(thaw(value), Dumper=_Dumper, default_flow_style=True, width=_WIDTH, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()


def _yaml(value: Any) -> list[str]:
    text: str = yaml.dump(
        thaw(value), Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=_WIDTH, allow_unicode=True
    )
    return text.removesuffix("\n...\n").splitlines()


_WIDTH: Final = 10_000
"""Nothing is broken into several lines: a long value stays one line, to be compared as one."""


class _Dumper(yaml.SafeDumper):
    """Safe, with lists indented below their names, without aliases, and with texts of several lines as blocks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def told(lines_: Iterable[Line]) -> str:
    """Lines as one text without tones."""
    return "".join(f"{line.text}\n" for line in lines_)
