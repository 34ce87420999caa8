"""`OwnWrites`: hears of every write that a reconcile of this controller makes, on its way to the cache.

It knows which run wrote (the worker leaves a note in its context), asks the `EchoDetector` about it, and remembers the verdict
until the run ends; then the key is held back. A write outside of a run passes through unseen.
"""

from __future__ import annotations

from typing import Any

from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.context import RUNNING, reconcile_id
from dynamo_ctrl.controller.echo import Echo, EchoDetector, EchoOptions, Loop
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.entry import Entry

AnyObject = Object[Any, Any]

_LIKELY = {
    Loop.REVERTED: "another writer, or the server itself, undoes it",
    Loop.REPEATED: "only our own writes cause the next one: a time stamp, or an order that changes from run to run",
}


class OwnWrites:
    """A `Written`. Give it to whoever carries out the reconciles' writes.

    Args:
        name: the controller's.
        below: who has to be told as well: the cache.
        view: what was there before a write.
        numbers: where echoes are counted.
        clock: the time.
        log: bound to the controller.
        options: see `EchoOptions`.
        echoes: takes down what was found in runs that have not ended, by the number of the run.
    """

    def __init__(
        self,
        name: str,
        below: Written,
        view: View,
        *,
        numbers: ControllerNumbers,
        clock: Clock,
        log: FilteringBoundLogger,
        options: EchoOptions,
        echoes: dict[int, Echo],
    ) -> None:
        self._name = name
        self._below = below
        self._view = view
        self._numbers = numbers
        self._clock = clock
        self._log = log
        self._detector = EchoDetector(options)
        self._echoes = echoes

    def wrote(self, obj: AnyObject) -> None:
        """The server answered a write with `obj`."""
        entry = self._writer()
        if entry is None:
            self._below.wrote(obj)
            return
        try:
            before = self._view.get(obj.kind, obj.key)
            self._below.wrote(obj)
            after = self._view.get(obj.kind, obj.key)  # cut down as `before` is
        except SourceUnavailable:  # what is not watched tells no events
            self._below.wrote(obj)
            return
        self._told(entry, obj.ref, before, after if after is not None else obj, obj)

    def deleted(self, kind: Kind[Any], key: Key, uid: str) -> None:
        """The server answered that the object with that uid is gone."""
        entry = self._writer()
        if entry is not None:
            try:
                before = self._view.get(kind, key)
            except SourceUnavailable:
                pass
            else:
                self._told(entry, kind.ref(key), before, None, None)
        self._below.deleted(kind, key, uid)

    def own(self, source: str, key: Key, version: str) -> bool:
        """Whether that version of an object of that kind is known to come from one of these writes."""
        return self._detector.own(source, key, version)

    def _writer(self) -> Entry[Key] | None:
        running = RUNNING.get()
        return None if running is None else running.entry

    def _told(
        self, entry: Entry[Key], ref: Ref, before: AnyObject | None, after: AnyObject | None, answer: AnyObject | None
    ) -> None:
        now = self._clock.monotonic()
        echo = self._detector.wrote(entry.key, ref, before, after, entry.causes, now, answer=answer)
        if echo is not None:
            self._numbers.echoes += 1
            known = self._echoes.get(entry.run)
            if known is None or known.hold < echo.hold:
                self._echoes[entry.run] = echo
            self._warn(entry, echo)

    def _warn(self, entry: Entry[Key], echo: Echo) -> None:
        by = {"manager": echo.manager} if echo.manager else {}
        self._log.warning(
            "a write comes back again and again; its key is held back",
            key=str(entry.key),
            reconcile_id=reconcile_id(self._name, entry),
            object=str(echo.object),
            paths=list(echo.paths),
            times=echo.times,
            loop=str(echo.loop),
            why=_LIKELY[echo.loop],
            hold=echo.hold,
            **by,
        )
