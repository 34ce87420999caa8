"""What a program is, and what it may offer beyond `reconcile`.

A program is a pure function from a `Request` to a `Result`, with a name and a declaration of what it watches. Further abilities
are protocols of their own; the outer reconciler looks for them once, when the program is added.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from dynamo_ctrl.controller.builder import Watches
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Event
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741
S = TypeVar("S")
O_contra = TypeVar("O_contra", bound=Object[Any, Any], contravariant=True)
S_contra = TypeVar("S_contra", contravariant=True)


class Program(Protocol[O, S]):
    """The reconciler of one primary kind, or of one provider of it.

    `name` is unique in a manager. A program with a `provider` (see `Provides`) serves the primaries that the kind's `Selects`
    program sends to it.
    """

    @property
    def name(self) -> str:
        """The controller's name in logs and metrics."""

    @property
    def watches(self) -> Watches[O]:
        """The primary kind, what else wakes it, and what it reads."""

    def reconcile(self, request: Request[O]) -> Result[S] | Awaitable[Result[S]]:
        """What should be so. Pure; `async def` only where a port is read."""


@runtime_checkable
class Provides(Protocol):
    """A program that serves one provider of a primary kind that several programs share."""

    @property
    def provider(self) -> str:
        """The provider's name, e.g. `component`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The choice of a provider, with what must be written before its program's steps (to store the choice)."""

    provider: str
    steps: tuple[Step, ...] = ()


@runtime_checkable
class Selects(Protocol[O, S]):
    """The program that chooses a provider for each primary. It has `watches` and no `reconcile` of its own."""

    @property
    def name(self) -> str:
        """The controller's name."""

    @property
    def watches(self) -> Watches[O]:
        """What the choice (and the finalisation) watches and reads; joined with that of every installed provider."""

    def select(self, request: Request[O], installed: frozenset[str]) -> Selected | Result[S]:
        """Which provider serves the primary; or a `Result` that refuses (its `Refuse` step says why)."""


@runtime_checkable
class Finalizes(Protocol[O_contra]):
    """A program (or the selecting one) that must act before its primary goes."""

    @property
    def finalizer(self) -> str:
        """The finalizer that the outer reconciler keeps on every primary."""

    def finalize(self, request: Request[O_contra]) -> Result[Any]:
        """What must be done first. With `requeue_after` set the finalizer stays: not finished yet. Its status is ignored."""


@runtime_checkable
class Observes(Protocol[S_contra]):
    """A program that tells events about changes of the status."""

    def transitions(self, old: S_contra | None, new: S_contra) -> tuple[Event, ...]:
        """Events for a status write that really happened; told with the pair that was written."""


@runtime_checkable
class Settles(Protocol):
    """A program that depends on nothing but what it reads through its request.

    It waits for no moment without asking to run again then, and knows nothing that the view does not. While all that it read
    is as it was when nothing had to be done, it need not be asked. A selecting program promises the same of `select`.
    """

    @property
    def settles(self) -> Literal[True]:
        """The promise."""


@runtime_checkable
class Defines(Protocol):
    """A program that brings its own kinds."""

    def definitions(self) -> tuple[JsonMap, ...]:
        """The CustomResourceDefinition documents of the kinds that it brings; several programs may bring the same one."""


@runtime_checkable
class Configurable(Protocol):
    """A program whose behaviour depends on the configuration file of the process."""

    def configured(self, document: JsonMap) -> Any:
        """The same program under that configuration document; this one stays as it is.

        Raises:
            InvalidObject: naming the field of the document and the rule that it breaks.
        """


AnyProgram = Program[Any, Any]
Providers = Mapping[str, AnyProgram]
