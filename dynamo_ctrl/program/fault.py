"""`explain`: what is wrong with a result that made the attempt raise.

Types are looked at only here, after something raised: an attempt that goes well pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import timedelta
from typing import Any, Final, get_args

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Effect, Event, SyncPolicy
from dynamo_ctrl.program.errors import ProgramFault
from dynamo_ctrl.program.result import Note, Result, Step

_PLAIN: Final = (EngineError, SourceUnavailable, InvalidObject, ProgramFault)
"""Errors that say themselves what is wrong."""

_EFFECTS: Final = get_args(Effect)
_OBJECTS: Final = ("child", "object", "target")
_LEVELS: Final = ("debug", "info", "warning")


def explain(error: Exception, program: str, result: Result[Any]) -> None:
    """Say what is wrong with `result`, at which `error` was raised, if that can be told.

    Raises:
        ProgramFault: it names the program, the field and what was expected there.
    """
    if isinstance(error, _PLAIN):
        return
    fault = next(_faults(result), None)
    if fault is not None:
        raise ProgramFault(f"{program}: {fault}") from error


def _faults(result: Any) -> Iterator[str]:
    after = result.requeue_after
    if not (after is None or isinstance(after, timedelta) or callable(after)):
        yield _wrong("requeue_after", "a timedelta, a function or None", after)
    yield from _tuple("steps", result.steps, Step, "a Step")
    for step in result.steps:
        where = f"step {step.name!r}: effects"
        yield from _tuple(where, step.effects, _EFFECTS, "an effect")
        for number, effect in enumerate(step.effects):
            yield from _effect(f"{where}[{number}]: {type(effect).__name__}", effect)
    yield from _tuple("notes", result.notes, Note, "a Note")
    for number, note in enumerate(result.notes):
        if note.level not in _LEVELS:
            yield _wrong(f"notes[{number}].level", f"one of {', '.join(_LEVELS)}", note.level)
    yield from _tuple("events", result.events, Event, "an Event")
    if result.transitions is not None and not callable(result.transitions):
        yield _wrong("transitions", "a function or None", result.transitions)


def _effect(where: str, effect: Any) -> Iterator[str]:
    for field in fields(effect):
        value = getattr(effect, field.name)
        if field.name in _OBJECTS and not isinstance(value, Object):
            yield _wrong(f"{where}.{field.name}", "an object", value)
        if field.name == "policy" and not isinstance(value, SyncPolicy):
            yield _wrong(f"{where}.policy", "a SyncPolicy", value)
        if field.name in ("event", "failed") and not (value is None or isinstance(value, Event)):
            yield _wrong(f"{where}.{field.name}", "an Event or None", value)


def _tuple(where: str, values: object, types: Any, one: str) -> Iterator[str]:
    if not isinstance(values, Iterable):
        yield _wrong(where, f"a tuple, each of it {one}", values)
        return
    for number, value in enumerate(values):
        if not isinstance(value, types):
            yield _wrong(f"{where}[{number}]", one, value)


def _wrong(where: str, expected: str, value: object) -> str:
    return f"{where} must be {expected}, got {type(value).__name__}"
