"""`Ledger`: where a report grows. It walks through the steps in order and takes down what came of each effect.

The executor (with a server) and `predicted` (without one) both go its way, so that they cannot differ in what runs after what.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, TypeVar

from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Effect, EnsureFinalizer, PatchPrimary, Refuse, RemoveFinalizer, Retry, subject
from dynamo_ctrl.program.errors import ProgramFault
from dynamo_ctrl.program.outcome import Lookup
from dynamo_ctrl.program.report import Failure, Report
from dynamo_ctrl.program.result import Step

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Ledger:
    """A report in the making, and the lookup that knows the answers of the attempt so far.

    Attributes:
        primary: the newest primary.
    """

    def __init__(self, primary: Object[Any, Any], view: Lookup) -> None:
        self.primary = primary
        self._view = view
        self._step: Step | None = None
        self._checked: Step | None = None
        self._answers: dict[Ref, Object[Any, Any] | None] = {}
        self._failures: list[Failure] = []
        self._finished: set[str] = set()
        self._lives: dict[Effect, Object[Any, Any] | None] = {}
        self._errors: dict[Effect, Exception] = {}
        self._writes = 0

    def walk(self, steps: tuple[Step, ...]) -> Iterator[Effect]:
        """The effects that are to be carried out, one after the other; each must be taken down before the next.

        All effects of a step are tried, since they are independent; a step with a failure and `on_error="stop"` is the last.

        Raises:
            ProgramFault: two steps have the same name.
        """
        names = [step.name for step in steps]
        for name in names:
            if names.count(name) > 1:
                raise ProgramFault(f"two steps are called {name!r}; a report could not tell them apart")
        for step in steps:
            if step.when is not None and not step.when(self.report()):
                continue
            self._step = step
            before = len(self._failures)
            yield from step.effects
            if len(self._failures) == before:
                self._finished.add(step.name)
            elif step.on_error == "stop":
                return

    def check_sole(self) -> None:
        """An effect of this step is about to be written. It is looked at once for each step that writes.

        Raises:
            ProgramFault: two effects of the step are about one object; which of them holds would change from run to run.
        """
        step = self.step
        if self._checked is step:
            return
        self._checked = step
        seen: dict[Ref, Effect] = {}
        for effect in step.effects:
            ref = _written(effect, self.primary)
            if ref is not None and (first := seen.setdefault(ref, effect)) is not effect:
                names = f"{type(first).__name__} and {type(effect).__name__}"
                raise ProgramFault(f"step {step.name!r}: two effects, {names}, are about one object: {ref}")

    def get(self, kind: Kind[O], key: Key | str) -> O | None:
        """The newest object that is known: an answer of this attempt, or what the view has."""
        ref = kind.ref(key)
        if ref in self._answers:
            answer: Any = self._answers[ref]
            return answer  # type: ignore[no-any-return]
        return self._view.get(kind, key)

    def unchanged(self, effect: Effect, live: Object[Any, Any] | None) -> None:
        """Nothing was sent for `effect`, or what was sent changed nothing."""
        self._lives[effect] = live

    def wrote(self, effect: Effect, answer: Object[Any, Any]) -> None:
        """A write for `effect` was answered with that object."""
        self._writes += 1
        self._lives[effect] = answer
        self.saw(answer.ref, answer)
        if isinstance(effect, PatchPrimary | EnsureFinalizer | RemoveFinalizer):
            self.primary = answer

    def deleted(self, effect: Effect, live: Object[Any, Any]) -> None:
        """`live` is gone."""
        self._writes += 1
        self._lives[effect] = None
        self.saw(live.ref, None)

    def saw(self, ref: Ref, live: Object[Any, Any] | None) -> None:
        """A live read or an answer: what the lookup knows from now on."""
        self._answers[ref] = live

    @property
    def step(self) -> Step:
        """The step whose effects are carried out now."""
        assert self._step is not None, "effects come from walk"  # noqa: S101
        return self._step

    def failed(self, effect: Effect, error: Exception, retry: Retry = Retry.BACKOFF) -> Failure:
        """`effect` came to nothing because of `error`; the failure that this makes."""
        step = self.step
        text = effect.message if isinstance(effect, Refuse) else str(error)
        failure = Failure(
            step=step.name,
            reason=step.reason,
            message=f"{step.prefix}{text}",
            error=error,
            retry=retry,
            fatal=step.on_error == "stop",
        )
        self._errors[effect] = error
        self._failures.append(failure)
        return failure

    def report(self) -> Report:
        """What is known so far."""
        return Report(
            primary=self.primary,
            failures=tuple(self._failures),
            finished=frozenset(self._finished),
            wrote=self._writes,
            lives=MappingProxyType(dict(self._lives)),
            errors=MappingProxyType(dict(self._errors)),
        )


def _written(effect: Effect, primary: Object[Any, Any]) -> Ref | None:
    """The object that the effect may write; `None` where that has no name yet, or each effect has a part of it to itself."""
    if isinstance(effect, EnsureFinalizer | RemoveFinalizer):
        return None
    ref = subject(effect, primary)
    if ref is None or not ref.key.name:
        return None
    if ref.kind.namespaced and not ref.key.namespace:
        return ref.kind.ref(Key(primary.metadata.namespace, ref.key.name))
    return ref
