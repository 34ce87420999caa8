"""Metrics: names, labels and buckets of controller-runtime and client-go (R 3.14), read from plain numbers at scrape time.

Nothing here is on a hot path: controllers, queues and informers count with plain additions, and `ManagerCollector` turns the
numbers into samples when somebody asks. Each manager has a registry of its own. Labels are bounded: controllers, kinds, leases,
priorities, and the codes, methods and hosts of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import Metric

from dynamo_ctrl.cache.shared_informer import SharedInformer
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.manager import metric_families as families
from dynamo_ctrl.manager.events import EventRecorder
from dynamo_ctrl.manager.health import Response
from dynamo_ctrl.manager.request_numbers import RequestNumbers
from dynamo_ctrl.manager.watchdog import Watchdog

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ManagerCollector:
    """Reads the numbers of one manager.

    Args:
        controllers: those that there are now.
        informers: those that there are now.
        requests: of the engine.
        recorder: of events; `None` while there is none.
        clock: for the age of running work.
        standings: for each lease its name, whether it is led, and its slow renewals.
        watchdog: of the loop; `None` where there is none.
    """

    def __init__(
        self,
        *,
        controllers: Callable[[], Iterable[Controller]],
        informers: Callable[[], Iterable[SharedInformer[Any]]],
        requests: RequestNumbers,
        recorder: Callable[[], EventRecorder | None],
        clock: Clock,
        standings: Callable[[], Iterable[tuple[str, bool, int]]] = tuple,
        watchdog: Watchdog | None = None,
    ) -> None:
        self._controllers = controllers
        self._informers = informers
        self._requests = requests
        self._recorder = recorder
        self._clock = clock
        self._standings = standings
        self._watchdog = watchdog

    def describe(self) -> Sequence[Metric]:
        """Nothing: names are not checked at registration, so that nothing is read before the start."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Every sample of the moment."""
        controllers = tuple(self._controllers())
        yield from families.reconciles(controllers)
        yield from families.queues(controllers, self._clock.monotonic())
        yield from families.caches(self._informers())
        yield from families.requests(self._requests)
        yield from families.elections(self._standings())
        yield from families.certificates()
        if (recorder := self._recorder()) is not None:
            yield from families.events(recorder)
        if self._watchdog is not None:
            yield from families.stalls(self._watchdog)


def new_registry(collector: ManagerCollector) -> CollectorRegistry:
    """A registry with the manager's numbers and those of the process and its interpreter."""
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def respond(registry: CollectorRegistry) -> Response:
    """What `/metrics` answers."""
    return Response(200, generate_latest(registry).decode(), CONTENT_TYPE)
