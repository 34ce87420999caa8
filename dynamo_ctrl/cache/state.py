"""`SourceState`: whether a kind can be read, and if not, why and what mends it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dynamo_ctrl.engine import rights
from dynamo_ctrl.engine.errors import Unauthorized
from dynamo_ctrl.objects.kind import Kind


class Phase(StrEnum):
    """The states of a source."""

    SYNCING = "syncing"
    """The first list is under way, or has failed and will be tried again."""
    LIVE = "live"
    """The content is complete and followed."""
    STALE = "stale"
    """The content was complete once, and cannot be followed just now."""
    ABSENT = "absent"
    """The cluster does not serve that API."""
    FORBIDDEN = "forbidden"
    """The right to list or watch is missing."""
    STOPPED = "stopped"
    """Nobody follows it any more."""


_WORST_FIRST = (Phase.STOPPED, Phase.FORBIDDEN, Phase.ABSENT, Phase.SYNCING, Phase.STALE, Phase.LIVE)


@dataclass(frozen=True, slots=True)
class SourceState:
    """Whether a kind can be read.

    Attributes:
        phase: of the source.
        reason: in words why it is so and what mends it; empty while live.
        excused: who declared the kind optional works without it: its API is absent, or beyond what we may be granted.
    """

    phase: Phase
    reason: str = ""
    excused: bool = False

    def __str__(self) -> str:
        return f"{self.phase}: {self.reason}" if self.reason else str(self.phase)


LIVE = SourceState(Phase.LIVE)


def worst(states: Iterable[SourceState]) -> SourceState:
    """The state of a whole whose parts are in `states`. Reasons of the same phase are joined."""
    states = tuple(states)
    phase = next(phase for phase in _WORST_FIRST if any(state.phase is phase for state in states))
    reasons = dict.fromkeys(state.reason for state in states if state.phase is phase and state.reason)
    excused = all(state.excused for state in states if state.phase is phase)
    return SourceState(phase, "; ".join(reasons), excused)


def syncing(kind: Kind[Any], error: Exception | None = None) -> SourceState:
    """Not complete yet, perhaps because of `error`."""
    if error is None:
        return SourceState(Phase.SYNCING, f"the first list of {kind} is under way")
    return SourceState(Phase.SYNCING, f"the first list of {kind} failed and will be tried again: {_why(error)}")


def stale(kind: Kind[Any], error: Exception) -> SourceState:
    """Complete once, not followed now because of `error`."""
    return SourceState(Phase.STALE, f"{kind} cannot be followed and will be tried again: {_why(error)}")


def install_definition(kind: Kind[Any]) -> str:
    """What makes a cluster serve `kind`, as far as the library knows. A program's distribution may know better."""
    return f"install its CustomResourceDefinition (kubectl apply -f <the definition of {kind}>)"


def absent(kind: Kind[Any], remedy: str) -> SourceState:
    """The API is not served; `remedy` says what to do about it."""
    where = f"{kind.api_version} {kind.plural}"
    reason = f"the cluster does not serve {where}; {remedy}; it is picked up without a restart"
    return SourceState(Phase.ABSENT, reason, excused=True)


def forbidden(kind: Kind[Any], namespace: str, error: Exception, *, beyond: bool = False) -> SourceState:
    """The right to follow `kind` is missing; the reason carries the rule that grants it as YAML.

    `beyond`: no Role in the namespaces that are followed could grant it.
    """
    role = f"a Role in namespace {namespace}" if namespace else "a ClusterRole"
    reason = f"{_why(error)}; add this rule to {role} of this user: {rule(kind)}"
    return SourceState(Phase.FORBIDDEN, reason, excused=beyond)


def rule(kind: Kind[Any], verbs: Iterable[str] = ("get", "list", "watch")) -> str:
    """The RBAC rule that lets somebody follow `kind`, as YAML on one line, so that it fits into a log."""
    return rights.rule(kind.group, kind.plural, verbs)


def stopped(kind: Kind[Any]) -> SourceState:
    """Closed."""
    return SourceState(Phase.STOPPED, f"the informer of {kind} was stopped")


def _why(error: Exception) -> str:
    if isinstance(error, Unauthorized):
        return f"the server does not accept the credentials ({error})"
    return str(error) or type(error).__name__
