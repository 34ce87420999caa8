"""Programs to be planned: a widget with a Deployment, a Secret or whatever a test asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, Deployment
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Effect, Sync, SyncPolicy
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus

POLICY = SyncPolicy(prefix="example.com/")

Effects = Callable[[Request[Widget]], Iterable[Effect]]


def deployment(owner: Widget) -> Deployment:
    labels = {"widget": owner.metadata.name}
    containers = [{"name": "main", "image": owner.spec.image}]
    return DEPLOYMENT.object(
        {
            "metadata": {"name": owner.metadata.name, "namespace": owner.metadata.namespace},
            "spec": {
                "replicas": owner.spec.size,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }
    )


def child(kind: Kind[Any], name: str, **content: Any) -> Object[Any, Any]:
    made: Object[Any, Any] = kind.object({"metadata": {"name": name, "namespace": "ns"}, **content})
    return made


class WidgetProgram:
    """What a test makes of it: effects in one step, a status, a delay."""

    name = "widget"

    def __init__(
        self,
        effects: Effects,
        *,
        status: WidgetStatus | None = None,
        after: Callable[[Request[Widget]], timedelta | None] = lambda request: None,
        watches: Watches[Widget] | None = None,
        step: dict[str, Any] | None = None,
    ) -> None:
        self.watches = watches or watching(WIDGET).owning(DEPLOYMENT).owning(SECRET).owning(CONFIG_MAP)
        self._effects = effects
        self._status = status
        self._after = after
        self._step = step or {}

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        step = Step(name="children", effects=tuple(self._effects(request)), **self._step)
        return Result(steps=(step,), status=self._status, requeue_after=self._after(request))


def deploying() -> WidgetProgram:
    """A widget program with a Deployment and a status."""
    return WidgetProgram(
        lambda request: [Sync(child=deployment(request.object), policy=POLICY)], status=WidgetStatus(state="deployed")
    )
