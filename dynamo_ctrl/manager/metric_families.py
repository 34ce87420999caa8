"""The families of metrics: which numbers become which samples. Names, labels and buckets are those of R 3.14."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from dynamo_ctrl.cache.shared_informer import SharedInformer
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.manager.events import EventRecorder
from dynamo_ctrl.manager.request_numbers import RequestHistograms, RequestNumbers
from dynamo_ctrl.manager.watchdog import Watchdog
from dynamo_ctrl.queue.numbers import Histogram


def _counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(name, text, labels=labels)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels)


def _histogram(name: str, text: str, *labels: str) -> HistogramMetricFamily:
    return HistogramMetricFamily(name, text, labels=labels)


def _observed(family: HistogramMetricFamily, labels: Sequence[str], histogram: Histogram) -> None:
    buckets = [(_spelled(bound), count) for bound, count in histogram.cumulative()]
    family.add_metric(labels, buckets, histogram.sum)


def _spelled(bound: float) -> str:
    """A bucket's bound as Go spells it, so that a query that names one finds it: 1, 0.005, 1e-08, 1.048576e+06."""
    if bound == math.inf:
        return "+Inf"
    text = repr(float(bound)).removesuffix(".0")
    if len(text) <= 6 or not text.isdecimal():
        return text
    return f"{text[0]}.{text[1:]}".rstrip("0").rstrip(".") + f"e+{len(text) - 1:02d}"


def reconciles(controllers: Sequence[Controller]) -> Iterator[Metric]:
    """What controllers did."""
    total = _counter("controller_runtime_reconcile", "Reconciles by result.", "controller", "result")
    errors = _counter("controller_runtime_reconcile_errors", "Reconciles that failed.", "controller")
    terminal = _counter(
        "controller_runtime_terminal_reconcile_errors", "Failures that are not tried again.", "controller"
    )
    panics = _counter("controller_runtime_reconcile_panics", "Exceptions raised by a reconcile.", "controller")
    timeouts = _counter("controller_runtime_reconcile_timeouts", "Reconciles that met their deadline.", "controller")
    echoes = _counter("dynamo_ctrl_write_echoes", "Own writes that came back again and again.", "controller")
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
        timeouts.add_metric(labels, numbers.timeouts)
        echoes.add_metric(labels, numbers.echoes)
        lost.add_metric(labels, numbers.lost)
        _observed(time, labels, numbers.time)
        most.add_metric(labels, controller.options.workers)
        active.add_metric(labels, controller.queue.processing)
    yield from (total, errors, terminal, panics, timeouts, echoes, lost, time, most, active)


def queues(controllers: Sequence[Controller], now: float) -> Iterator[Metric]:
    """What waits, and what runs."""
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
        for priority, ready in queue.depths():
            depth.add_metric((*labels, priority), ready)
        adds.add_metric(labels, queue.numbers.adds)
        _observed(waited, labels, queue.numbers.waited)
        _observed(worked, labels, queue.numbers.worked)
        unfinished.add_metric(labels, sum(ages))
        longest.add_metric(labels, max(ages, default=0.0))
        retries.add_metric(labels, queue.numbers.retries)
    yield from (depth, adds, waited, worked, unfinished, longest, retries)


def caches(informers: Iterable[SharedInformer[Any]]) -> Iterator[Metric]:
    """What is cached, by kind; a kind that is followed no longer has no series (R 4, 26 and 27)."""
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


def requests(numbers: RequestNumbers) -> Iterator[Metric]:
    """The requests of the engine; the histograms only where they are kept."""
    total = _counter("rest_client_requests", "HTTP requests by status code, method and host.", "code", "method", "host")
    for labels, count in numbers.counts.items():
        total.add_metric(labels, count)
    yield total
    if numbers.histograms is not None:
        yield from _histograms(numbers.histograms)


def _histograms(kept: RequestHistograms) -> Iterator[Metric]:
    both = ("verb", "host")
    duration = "rest_client_request_duration_seconds"
    yield _observations(duration, "Duration of an attempt at a request.", both, kept.duration)
    turn = "rest_client_rate_limiter_duration_seconds"
    yield _observations(turn, "How long requests waited for their turn.", both, kept.turn)
    resolution = "rest_client_dns_resolution_duration_seconds"
    yield _observations(resolution, "Duration of name look-ups.", ("host",), kept.resolution)
    yield _observations("rest_client_request_size_bytes", "Size of the bodies that were sent.", both, kept.sent)
    yield _observations("rest_client_response_size_bytes", "Size of the bodies that came.", both, kept.received)
    retries = _counter("rest_client_request_retries", "Requests that were sent again.", "code", *both)
    for labels, count in kept.retries.items():
        retries.add_metric(labels, count)
    yield retries


def _observations(
    name: str, text: str, labels: Sequence[str], series: Mapping[tuple[str, ...], Histogram]
) -> HistogramMetricFamily:
    family = _histogram(name, text, *labels)
    for values, histogram in series.items():
        _observed(family, values, histogram)
    return family


def events(recorder: EventRecorder) -> Iterator[Metric]:
    """Events by what became of them."""
    family = _counter("dynamo_ctrl_events", "Events by what became of them.", "result")
    for result in ("sent", "repeated", "dropped", "failed"):
        family.add_metric((result,), getattr(recorder, result))
    yield family


def elections(standings: Iterable[tuple[str, bool, int]]) -> Iterator[Metric]:
    """The leases: who leads, and how often a renewal had to read first."""
    master = _gauge("leader_election_master_status", "1 for a lease that is led, 0 for one that is not.", "name")
    slow = _counter("leader_election_slowpath", "Renewals that had to read the lease first.", "name")
    for name, leading, slow_paths in standings:
        master.add_metric((name,), leading)
        slow.add_metric((name,), slow_paths)
    yield from (master, slow)


def certificates() -> Iterator[Metric]:
    """The certificates that our own servers read: none, as they speak plain HTTP. Dashboards that ask find an answer."""
    for name, text in (
        ("certwatcher_read_certificate", "Certificates that were read."),
        ("certwatcher_read_certificate_errors", "Certificates that could not be read."),
    ):
        family = _counter(name, text)
        family.add_metric((), 0)
        yield family


def stalls(watchdog: Watchdog) -> Iterator[Metric]:
    """When the loop stood still."""
    total = _counter("dynamo_ctrl_loop_stalls", "How often the loop stood still for longer than the threshold.")
    longest = _gauge("dynamo_ctrl_loop_longest_stall_seconds", "The longest time that the loop stood still.")
    total.add_metric((), watchdog.stalls)
    longest.add_metric((), watchdog.longest)
    yield from (total, longest)
