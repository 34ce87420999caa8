"""The programs and scripts of the simulations: owners with children, settings that many share, a user who is never content."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.predicate import spec_or_deletion_changed
from dynamo_ctrl.engine.errors import NotFound
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, SECRET, ConfigMap, Secret
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Delete, Event, PatchPrimary, Sync, SyncPolicy
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus

SETTINGS = "example.com/settings"
"""The annotation by which a widget names its settings, and the label that a Secret needs to be some."""

CENSUS = "example.com/children"
POLICY = SyncPolicy(prefix="example.com/", metadata="converge")
KINDS = (WIDGET, CONFIG_MAP, SECRET)

Pause = Callable[[], Awaitable[None]]


def settings_of(widget: Widget) -> Iterable[str]:
    name = widget.metadata.annotations.get(SETTINGS)
    return [name] if name else []


def image_of(child: ConfigMap) -> Iterable[str]:
    return [child.data["image"]] if child.data and "image" in child.data else []


WIDGETS_BY_SETTINGS: Index[Widget] = Index("settings", WIDGET, settings_of)
CHILDREN_BY_IMAGE: Index[ConfigMap] = Index("image", CONFIG_MAP, image_of)


def users(secret: Secret, view: View) -> Iterable[Key]:
    return [widget.key for widget in view.by_index(WIDGETS_BY_SETTINGS, secret.metadata.name)]


class Pool:
    """Keeps `size` ConfigMaps for each widget, with its image and its settings in them."""

    name = "pool"
    finalizer = "example.com/pool"
    watches: Watches[Widget] = (
        watching(WIDGET, when=spec_or_deletion_changed)
        .owning(CONFIG_MAP)
        .mapping(SECRET, users, label_selector=SETTINGS)
        .indexing(WIDGETS_BY_SETTINGS, CHILDREN_BY_IMAGE)
    )

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        return self._wanted(request)

    def _wanted(self, request: Request[Widget]) -> Result[WidgetStatus]:
        widget, view = request.object, request.view
        secret = next((view.get(SECRET, Key("ns", name)) for name in settings_of(widget)), None)
        text = "" if secret is None else msgspec.json.encode(secret.content().get("data", {})).decode()
        children = [Sync(child=self._child(widget, number, text), policy=POLICY) for number in range(widget.spec.size)]
        names = {sync.child.metadata.name for sync in children}
        surplus = [Delete(target=o) for o in view.owned(CONFIG_MAP, widget) if o.metadata.name not in names]

        def status(report: Report) -> WidgetStatus:
            live = [report.live(sync) for sync in children]
            return WidgetStatus(
                state="failed" if report.failure is not None else "ready",
                ready=sum(one is not None for one in live),
                observed_generation=widget.metadata.generation,
                components={image: self._with(view, widget, image) for image in ("one", "two")},
            )

        return Result(
            steps=(Step(name="surplus", effects=tuple(surplus)), Step(name="children", effects=tuple(children))),
            status=status,
        )

    @staticmethod
    def _with(view: View, widget: Widget, image: str) -> int:
        """How many of its children have that image, found by the index."""
        found = view.by_index(CHILDREN_BY_IMAGE, image)
        return sum(
            (owner := child.metadata.controller) is not None and owner.uid == widget.metadata.uid for child in found
        )

    @staticmethod
    def _child(widget: Widget, number: int, settings: str) -> ConfigMap:
        labels = {"widget": widget.metadata.name, "even": str(number % 2 == 0).lower()}
        metadata = {"name": f"{widget.metadata.name}-{number}", "namespace": "ns", "labels": labels}
        return CONFIG_MAP.object({"metadata": metadata, "data": {"image": widget.spec.image, "settings": settings}})

    def finalize(self, request: Request[Widget]) -> Result[WidgetStatus]:
        children = request.view.owned(CONFIG_MAP, request.object)
        return Result(steps=(Step(name="children", effects=tuple(Delete(target=child) for child in children)),))

    def transitions(self, old: WidgetStatus | None, new: WidgetStatus) -> tuple[Event, ...]:
        if old is not None and old.state == new.state:
            return ()
        return (Event(type="Normal", reason="State", note=f"is {new.state}"),)


class SlowPool(Pool):
    """The same, and it takes its time."""

    def __init__(self, pause: Pause) -> None:
        self._pause = pause

    async def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:  # type: ignore[override]
        result = self._wanted(request)
        await self._pause()
        return result


def of_child(child: ConfigMap, view: View) -> Iterable[Key]:
    owner = child.metadata.controller
    widget = None if owner is None else view.get(WIDGET, Key(child.metadata.namespace, owner.name))
    return () if widget is None else of_widget(widget, view)


def of_widget(widget: Widget, view: View) -> Iterable[Key]:
    del view
    return [Key(widget.metadata.namespace, name) for name in settings_of(widget)]


class Census:
    """Writes on each settings how many children use it."""

    name = "census"
    watches: Watches[Secret] = (
        watching(SECRET, label_selector=SETTINGS)
        .mapping(WIDGET, of_widget)
        .mapping(CONFIG_MAP, of_child)
        .indexing(WIDGETS_BY_SETTINGS)
    )

    def reconcile(self, request: Request[Secret]) -> Result[None]:
        view = request.view
        widgets = view.by_index(WIDGETS_BY_SETTINGS, request.object.metadata.name)
        number = str(sum(len(view.owned(CONFIG_MAP, widget)) for widget in widgets))
        if request.object.metadata.annotations.get(CENSUS) == number:
            return Result()
        patch = Patch.merge({"metadata": {"annotations": {CENSUS: number}}})
        return Result(steps=(Step(name="census", effects=(PatchPrimary(patch=patch),)),))


def programs() -> list[Any]:
    return [Pool(), Census()]


# --- the user


def put(core: Core, obj: Object[Any, Any]) -> None:
    core.create(obj.kind, obj.metadata.namespace, obj.raw)


def widget(name: str, size: int, *, settings: str = "", image: str = "one") -> Widget:
    annotations = {SETTINGS: settings} if settings else {}
    metadata = {"name": name, "namespace": "ns", "annotations": annotations}
    return WIDGET.object({"metadata": metadata, "spec": {"size": size, "image": image}})


def secret(name: str, value: str, *, labelled: bool = True) -> Secret:
    labels = {SETTINGS: "yes"} if labelled else {}
    return SECRET.object({"metadata": {"name": name, "namespace": "ns", "labels": labels}, "data": {"v": value}})


def edit(core: Core, obj: str, patch: dict[str, Any], kind: Any = WIDGET) -> None:
    core.patch(kind, Key("ns", obj), Patch.merge(patch))


def furnish(core: Core) -> None:
    """What is there before anybody begins."""
    core.create(_namespace().kind, "", _namespace().raw)
    put(core, secret("s1", "QQ=="))
    put(core, widget("a", 2, settings="s1"))
    put(core, widget("b", 1))


def _namespace() -> Object[Any, Any]:
    return NAMESPACE.object({"metadata": {"name": "ns"}})


async def script(core: Core) -> None:
    """What a user does, at his own times whatever the managers have come to; only for a name to be free he waits."""
    await _pause(3, lambda: edit(core, "a", {"spec": {"size": 3}}))
    await _pause(1, lambda: _gone(core, CONFIG_MAP, "a-1"))
    await _pause(2, lambda: edit(core, "s1", {"data": {"v": "Qg=="}}, SECRET))
    await _pause(2, lambda: put(core, widget("c", 2, settings="s2", image="two")))
    await _pause(0, lambda: edit(core, "b", {"spec": {"size": 0}}))
    await _pause(2, lambda: put(core, secret("s2", "Qw==", labelled=False)))
    await _pause(2, lambda: edit(core, "s2", {"metadata": {"labels": {SETTINGS: "yes"}}}, SECRET))
    await _pause(1, lambda: edit(core, "b", {"metadata": {"annotations": {SETTINGS: "s2"}}, "spec": {"size": 2}}))
    await _pause(2, lambda: edit(core, "s1", {"metadata": {"labels": {SETTINGS: None}}}, SECRET))
    await _pause(2, lambda: _gone(core, WIDGET, "a"))
    while not _is_gone(core, WIDGET, "a"):  # noqa: ASYNC110  (a user has nothing better)
        await asyncio.sleep(1)
    await _pause(2, lambda: put(core, widget("a", 1, settings="s1", image="two")))
    await _pause(2, lambda: edit(core, "s1", {"metadata": {"labels": {SETTINGS: "again"}}}, SECRET))
    await _pause(1, lambda: edit(core, "c", {"spec": {"image": "one", "size": 1}}))


async def errand(core: Core) -> None:
    """The least that touches everything: a change, an object that leaves a selector and comes back, a finalizer."""
    await _pause(2, lambda: edit(core, "a", {"spec": {"size": 1, "image": "two"}}))
    await _pause(1, lambda: edit(core, "s1", {"metadata": {"labels": {SETTINGS: None}}}, SECRET))
    await _pause(1, lambda: _gone(core, WIDGET, "b"))
    await _pause(1, lambda: edit(core, "s1", {"metadata": {"labels": {SETTINGS: "again"}}}, SECRET))


async def _pause(seconds: float, then: Callable[[], None]) -> None:
    await asyncio.sleep(seconds)
    then()


def _is_gone(core: Core, kind: Any, name: str) -> bool:
    try:
        core.get(kind, Key("ns", name))
    except NotFound:
        return True
    return False


def _gone(core: Core, kind: Any, name: str) -> None:
    with suppress(NotFound):
        core.delete(kind, Key("ns", name))
