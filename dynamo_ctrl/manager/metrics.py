"""Metrics: names, labels and buckets of controller-runtime and client-go (R 3.14), read from plain numbers at scrape time.

Nothing here is on a hot path: controllers, queues and informers count with plain additions, and `ManagerCollector` turns the
numbers into samples when somebody asks. Each manager has a registry of its own. Labels are bounded: controllers, kinds, and the
codes, methods and hosts of requests.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from dynamo_ctrl.cache.informer import SharedInformer
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.manager.events import EventRecorder
from dynamo_ctrl.manager.health import Response
from dynamo_ctrl.queue.numbers import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_SERIES = 500
"""How many combinations of code, method and host are told apart; further ones are counted under the host `other`."""


class RequestNumbers:
    """Counts the requests of an engine; given to it as `EngineConfig.on_request`."""

    def __init__(self) -> None:
        self.counts: defaultdict[tuple[str, str, str], int] = defaultdict(int)

    def count(self, method: str, host: str, code: int, seconds: float) -> None:
        """One request was answered, or (code 0) was not."""
        del seconds
        series = (str(code) if code else "<error>", method, host)
        if series not in self.counts and len(self.counts) >= MAX_SERIES:
            series = (series[0], method, "other")
        self.counts[series] += 1


class ManagerCollector:
    """Reads the numbers of one manager.

    Args:
        controllers: those that there are now.
        informers: those that there are now.
        requests: of the engine.
        recorder: of events; `None` while there is none.
        clock: for the age of running work.
    """

    def __init__(
        self,
        *,
        controllers: Callable[[], Iterable[Controller]],
        informers: Callable[[], Iterable[SharedInformer[Any]]],
        requests: RequestNumbers,
        recorder: Callable[[], EventRecorder | None],
        clock: Clock,
    ) -> None:
        self._controllers = controllers
        self._informers = informers
        self._requests = requests
        self._recorder = recorder
        self._clock = clock

    def describe(self) -> Sequence[Metric]:
        """Nothing: names are not checked at registration, so that nothing is read before the start."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Every sample of the moment."""
        controllers = tuple(self._controllers())
        yield from _reconciles(controllers)
        yield from _queues(controllers, self._clock.monotonic())
        yield from _caches(self._informers())
        yield self._sent_requests()
        if (recorder := self._recorder()) is not None:
            yield _events(recorder)

    def _sent_requests(self) -> Metric:
        family = _counter(
            "rest_client_requests", "HTTP requests by status code, method and host.", "code", "method", "host"
        )
        for labels, count in self._requests.counts.items():
            family.add_metric(labels, count)
        return family


def new_registry(collector: ManagerCollector) -> CollectorRegistry:
    """A registry with the manager's numbers and those of the process."""
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)
    return registry


def respond(registry: CollectorRegistry) -> Response:
    """What `/metrics` answers."""
    return Response(200, generate_latest(registry).decode(), CONTENT_TYPE)


def _counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(name, text, labels=labels)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels)


def _histogram(name: str, text: str, *labels: str) -> HistogramMetricFamily:
    return HistogramMetricFamily(name, text, labels=labels)


def _observed(family: HistogramMetricFamily, labels: Sequence[str], histogram: Histogram) -> None:
    buckets = [("+Inf" if bound == math.inf else str(bound), count) for bound, count in histogram.cumulative()]
    family.add_metric(labels, buckets, histogram.sum)


def _reconciles(controllers: Sequence[Controller]) -> Iterator[Metric]:
    total = _counter("controller_runtime_reconcile", "Reconciles by result.", "controller", "result")
    errors = _counter("controller_runtime_reconcile_errors", "Reconciles that failed.", "controller")
    terminal = _counter(
        "controller_runtime_terminal_reconcile_errors", "Failures that are not tried again.", "controller"
    )
    panics = _counter("controller_runtime_reconcile_panics", "Exceptions raised by a reconcile.", "controller")
    lost = _counter("dynamo_ctrl_mapping_failures", "Changes whose predicate or mapper raised.", "controller")
    time = _histogram("controller_runtime_reconcile_time_seconds", "Duration of a reconcile.", "controller")
    most = _gauge("controller_runtime_max_concurrent_reconciles", "Workers.", "controller")
    active = _gauge("controller_runtime_active_workers", "Workers that run a reconcile.", "controller")
    for controller in controllers:
        numbers, labels = controller.numbers, (controller.name,)
        for result in ("success", "error", "requeue", "requeue_after"):
            total.add_metric((controller.name, result), getattr(numbers, result))
        errors.add_metric(labels, numbers.error)
        terminal.add_metric(labels, numbers.terminal)
        panics.add_metric(labels, numbers.panics)
        lost.add_metric(labels, numbers.lost)
        _observed(time, labels, numbers.time)
        most.add_metric(labels, controller.options.workers)
        active.add_metric(labels, controller.queue.processing)
    yield from (total, errors, terminal, panics, lost, time, most, active)


def _queues(controllers: Sequence[Controller], now: float) -> Iterator[Metric]:
    both = ("name", "controller")
    depth = _gauge("workqueue_depth", "Keys that are ready.", *both, "priority")
    adds = _counter("workqueue_adds", "Keys that became ready.", *both)
    waited = _histogram("workqueue_queue_duration_seconds", "From being ready to being handed out.", *both)
    worked = _histogram("workqueue_work_duration_seconds", "From being handed out to being done.", *both)
    unfinished = _gauge("workqueue_unfinished_work_seconds", "Age of everything that runs, added up.", *both)
    longest = _gauge("workqueue_longest_running_processor_seconds", "Age of the oldest run.", *both)
    retries = _counter("workqueue_retries", "Delayed adds.", *both)
    for controller in controllers:
        queue, labels = controller.queue, (controller.name, controller.name)
        ages = [now - entry.started_at for entry in queue.running()]
        depth.add_metric((*labels, ""), len(queue))
        adds.add_metric(labels, queue.numbers.adds)
        _observed(waited, labels, queue.numbers.waited)
        _observed(worked, labels, queue.numbers.worked)
        unfinished.add_metric(labels, sum(ages))
        longest.add_metric(labels, max(ages, default=0.0))
        retries.add_metric(labels, queue.numbers.retries)
    yield from (depth, adds, waited, worked, unfinished, longest, retries)


def _caches(informers: Iterable[SharedInformer[Any]]) -> Iterator[Metric]:
    by_kind: defaultdict[str, list[SharedInformer[Any]]] = defaultdict(list)
    for informer in informers:
        by_kind[str(informer.kind)].append(informer)
    live = _gauge("dynamo_ctrl_informer_live", "1 if every informer of the kind follows the server.", "kind")
    objects = _gauge("dynamo_ctrl_informer_objects", "Cached objects.", "kind")
    size = _gauge("dynamo_ctrl_informer_bytes", "Length of their JSON texts.", "kind")
    totals = {
        name: _counter(f"dynamo_ctrl_informer_{name}", text, "kind")
        for name, text in (
            ("lists", "Lists that were begun."),
            ("watches", "Watches that were opened."),
            ("failures", "Lists and watches that failed."),
            ("malformed", "Objects that could not be read and were skipped."),
            ("index_failures", "Index extractors that raised."),
        )
    }
    for kind, group in by_kind.items():
        counts = [informer.counts() for informer in group]
        live.add_metric((kind,), all(informer.state.phase is Phase.LIVE for informer in group))
        objects.add_metric((kind,), sum(count.objects for count in counts))
        size.add_metric((kind,), sum(count.bytes for count in counts))
        for name, family in totals.items():
            family.add_metric((kind,), sum(getattr(count, name) for count in counts))
    yield from (live, objects, size, *totals.values())


def _events(recorder: EventRecorder) -> Metric:
    family = _counter("dynamo_ctrl_events", "Events by what became of them.", "result")
    for result in ("sent", "dropped", "failed"):
        family.add_metric((result,), getattr(recorder, result))
    return family
