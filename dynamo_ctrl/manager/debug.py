"""The pages below `/debug/`: what a manager knows about itself, as JSON, for people and for `dynamo-manager explain`.

    /debug/explain?kind=K&key=NS/NAME     see `dynamo_ctrl.manager.explaining`
    /debug/informers                      what is cached, and in which state
    /debug/queues                         what is queued and runs, and what keeps controllers from working

They tell names and fields of objects, so they are for loopback unless somebody decides otherwise.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from dynamo_ctrl.cache.shared_informer import SharedInformer
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.manager.explaining import Explainer, Known, matches
from dynamo_ctrl.manager.health import Response
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.trace import Traces

JSON: Final = "application/json; charset=utf-8"

CLOSED: Final = (
    "the pages below /debug/ are served on a loopback address only; "
    "bind the health address to 127.0.0.1, or set the option debug\n"
)


def is_loopback(host: str | None) -> bool:
    """Whether only this machine reaches a server that listens there; `None` stands for every interface."""
    if host is None:
        return False
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class DebugPages:
    """The pages of one manager.

    Args:
        informers: what is followed, when it is asked for.
        clock: the time.
        served: whether they are served at all.
    """

    def __init__(self, *, informers: Callable[[], Iterable[SharedInformer[Any]]], clock: Clock, served: bool) -> None:
        self._informers = informers
        self._clock = clock
        self._served = served
        self._known: list[Known] = []
        self._pages: Mapping[str, Callable[[Mapping[str, Sequence[str]]], Response]] = {
            "explain": self._explain,
            "informers": lambda query: _json([_informer(informer) for informer in self._informers()]),
            "queues": lambda query: _json([self._queue(known.controller) for known in self._known]),
        }

    def attach(self, controller: Controller, traces: Traces) -> None:
        """Tell about that controller as well."""
        self._known.append(Known(controller, traces))

    def respond(self, path: str, query: Mapping[str, Sequence[str]]) -> Response:
        """The answer for what follows `/debug/`."""
        if not self._served:
            return Response(403, CLOSED)
        page = self._pages.get(path.strip("/"))
        if page is None:
            return Response(404, f"not found; there are: {', '.join(f'/debug/{name}' for name in self._pages)}\n")
        return page(query)

    def _explain(self, query: Mapping[str, Sequence[str]]) -> Response:
        kind, key = (query.get(name, ("",))[0] for name in ("kind", "key"))
        if not kind or not key:
            return Response(400, "expected /debug/explain?kind=KIND&key=NAMESPACE/NAME\n")
        try:
            wanted = Key.parse(key)
        except ValueError as error:
            return Response(400, f"key: {error}\n")
        primaries = dict.fromkeys(known.controller.watches.primary.kind for known in self._known)
        found = next((primary for primary in primaries if matches(primary, kind)), None)
        if found is None:
            there = ", ".join(primary.kind for primary in primaries) or "none"
            return Response(404, f"no program's primary kind is called {kind!r}; there are: {there}\n")
        return _json(Explainer(self._known, self._clock).explain(found, wanted))

    def _queue(self, controller: Controller) -> dict[str, Any]:
        now, queue, numbers = self._clock.monotonic(), controller.queue, controller.numbers
        return {
            "controller": controller.name,
            "kind": controller.watches.primary.kind.kind,
            "not_ready": controller.reasons,
            "ready": len(queue),
            "waiting": queue.waiting,
            "running": [
                {"key": str(entry.key), "for": now - entry.started_at, "causes": [str(cause) for cause in entry.causes]}
                for entry in queue.running()
            ],
            "reconciles": {
                name: getattr(numbers, name) for name in ("success", "error", "requeue", "requeue_after", "terminal")
            },
        }


def _informer(informer: SharedInformer[Any]) -> dict[str, Any]:
    counts = informer.counts()
    return {
        "kind": str(informer.kind),
        "selector": str(informer.selector),
        "state": str(informer.state.phase),
        "reason": informer.state.reason,
        "users": len(informer.users),
        "objects": counts.objects,
        "bytes": counts.bytes,
        "lists": counts.lists,
        "watches": counts.watches,
        "failures": counts.failures,
    }


def _json(content: Any) -> Response:
    return Response(200, f"{msgspec.json.format(msgspec.json.encode(content)).decode()}\n", JSON)
