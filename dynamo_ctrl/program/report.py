"""`Report`: what came of the steps of an attempt. Immutable; status functions are computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Effect, Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One effect that failed.

    Attributes:
        step: the step's name.
        reason: the step's `reason`, what an error in it means; `None` where the step names none.
        message: the step's `prefix` and the text of the error.
        error: the error itself.
        retry: whether trying again can help.
        fatal: whether it stopped the attempt (`on_error="stop"`).
    """

    step: str
    reason: str | None
    message: str
    error: Exception
    retry: Retry
    fatal: bool = True


@dataclass(frozen=True, kw_only=True)
class Report:
    """The steps' results, looked up by the effect itself.

    Attributes:
        primary: the newest primary: after the attempt's own patches.
        failures: all failures, in order.
        finished: the names of the steps whose effects all succeeded (or needed nothing).
        wrote: how many writes changed something on the server.
    """

    primary: Object[Any, Any]
    failures: tuple[Failure, ...] = ()
    finished: frozenset[str] = frozenset()
    wrote: int = 0
    lives: Mapping[Effect, Object[Any, Any] | None] = field(default_factory=dict)
    errors: Mapping[Effect, Exception] = field(default_factory=dict)

    @property
    def failure(self) -> Failure | None:
        """The failure that stopped the attempt, if one did."""
        return next((failure for failure in self.failures if failure.fatal), None)

    def done(self, step: str) -> bool:
        """Whether the step ran and all of its effects succeeded."""
        return step in self.finished

    def live(self, effect: Effect) -> Object[Any, Any] | None:
        """The object as the server has it; the cached one if nothing had to be sent; `None` if not reached or gone."""
        return self.lives.get(effect)

    def error(self, effect: Effect) -> Exception | None:
        """The error of the effect, if it failed."""
        return self.errors.get(effect)
