"""Metrics: the names, labels and buckets of R 3.14, read from the numbers at scrape time."""

from __future__ import annotations

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.manager.metrics import ManagerCollector, new_registry, respond
from dynamo_ctrl.manager.request_numbers import MAX_SERIES, RequestHistograms, RequestNumbers
from dynamo_ctrl.manager.watchdog import Watchdog
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.key import Key

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Bench:
    """One controller that does not run: its numbers are moved by hand."""

    def __init__(self, *, histograms: bool = True) -> None:
        self.clock = ManualClock()
        self.requests = RequestNumbers(histograms=histograms)
        self.watchdog = Watchdog(0.1)
        self.cache = Cache(MemoryEngine(Core(clock=self.clock)), clock=self.clock)
        self.controller = Controller(
            name="graph",
            watches=watching(CONFIG_MAP).reading(SECRET),
            cache=self.cache,
            clock=self.clock,
            options=ControllerOptions(workers=4),
        )
        self.registry = new_registry(
            ManagerCollector(
                controllers=lambda: [self.controller],
                informers=lambda: self.cache.informers,
                requests=self.requests,
                recorder=lambda: None,
                clock=self.clock,
                standings=lambda: [("lease", True, 3), ("other", False, 0)],
                watchdog=self.watchdog,
            )
        )

    def one_request(self) -> None:
        self.requests.count("GET", "10.0.0.1:443", 200, 0.1)
        histograms = self.requests.histograms
        assert histograms is not None
        histograms.answered("GET", "10.0.0.1:443", 0.1, 0, 70)
        histograms.waited("GET", "10.0.0.1:443", 0.0)
        histograms.resolved("kubernetes", 0.3)
        histograms.retried("GET", "10.0.0.1:443", 429)

    def text(self) -> str:
        return respond(self.registry).body

    def scrape(self) -> Samples:
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
        }

    def value(self, name: str, /, **labels: str) -> float:
        return self.scrape()[(name, frozenset(labels.items()))]


CONTROLLER = ("controller",)
QUEUE = ("controller", "name")
NAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "controller_runtime_reconcile_total": ("counter", ("controller", "result")),
    "controller_runtime_reconcile_errors_total": ("counter", CONTROLLER),
    "controller_runtime_terminal_reconcile_errors_total": ("counter", CONTROLLER),
    "controller_runtime_reconcile_panics_total": ("counter", CONTROLLER),
    "controller_runtime_reconcile_timeouts_total": ("counter", CONTROLLER),
    "controller_runtime_reconcile_time_seconds": ("histogram", CONTROLLER),
    "controller_runtime_max_concurrent_reconciles": ("gauge", CONTROLLER),
    "controller_runtime_active_workers": ("gauge", CONTROLLER),
    "workqueue_depth": ("gauge", (*QUEUE, "priority")),
    "workqueue_adds_total": ("counter", QUEUE),
    "workqueue_queue_duration_seconds": ("histogram", QUEUE),
    "workqueue_work_duration_seconds": ("histogram", QUEUE),
    "workqueue_unfinished_work_seconds": ("gauge", QUEUE),
    "workqueue_longest_running_processor_seconds": ("gauge", QUEUE),
    "workqueue_retries_total": ("counter", QUEUE),
    "rest_client_requests_total": ("counter", ("code", "host", "method")),
    "rest_client_request_duration_seconds": ("histogram", ("host", "verb")),
    "rest_client_rate_limiter_duration_seconds": ("histogram", ("host", "verb")),
    "rest_client_dns_resolution_duration_seconds": ("histogram", ("host",)),
    "rest_client_request_size_bytes": ("histogram", ("host", "verb")),
    "rest_client_response_size_bytes": ("histogram", ("host", "verb")),
    "rest_client_request_retries_total": ("counter", ("code", "host", "verb")),
    "leader_election_master_status": ("gauge", ("name",)),
    "leader_election_slowpath_total": ("counter", ("name",)),
    "certwatcher_read_certificate_total": ("counter", ()),
    "certwatcher_read_certificate_errors_total": ("counter", ()),
    "dynamo_ctrl_loop_stalls_total": ("counter", ()),
    "dynamo_ctrl_loop_longest_stall_seconds": ("gauge", ()),
    "process_resident_memory_bytes": ("gauge", ()),
    "process_cpu_seconds_total": ("counter", ()),
}


@pytest.mark.parametrize("name", NAMES)
async def test_r4_55_a_name_of_r3_14_is_there_from_the_start_with_its_type_and_labels(name: str) -> None:
    bench = Bench()
    bench.one_request()
    kind, labels = NAMES[name]
    assert f"\n# TYPE {name} {kind}\n" in "\n" + bench.text()
    sample = f"{name}_count" if kind == "histogram" else name
    found = [tuple(sorted(key for key, _ in of)) for (told, of) in bench.scrape() if told == sample]
    assert found
    assert set(found) == {tuple(sorted(labels))}


async def test_no_label_collides_with_those_of_a_scrape() -> None:
    bench = Bench()
    bench.one_request()
    names = {label for (_, labels) in bench.scrape() for label, _ in labels}
    assert names & {"job", "namespace", "pod", "instance"} == set()


async def test_the_four_results_are_zero_before_the_first_reconcile() -> None:
    bench = Bench()
    for result in ("success", "error", "requeue", "requeue_after"):
        assert bench.value("controller_runtime_reconcile_total", controller="graph", result=result) == 0


async def test_the_numbers_of_queue_and_controller_are_told() -> None:
    bench = Bench()
    queue, numbers = bench.controller.queue, bench.controller.numbers
    for name in "abc":
        queue.add(Key("ns", name), 0)
    first, second = queue.get(2), queue.get(5)
    assert first is not None
    assert second is not None
    numbers.success, numbers.error, numbers.terminal, numbers.panics, numbers.timeouts = 5, 4, 3, 2, 1
    numbers.time.observe(0.3)
    bench.clock.advance(12)
    both = {"name": "graph", "controller": "graph"}
    assert bench.value("workqueue_depth", **both, priority="0") == 1
    assert bench.value("workqueue_adds_total", **both) == 3
    assert bench.value("workqueue_unfinished_work_seconds", **both) == 10 + 7
    assert bench.value("workqueue_longest_running_processor_seconds", **both) == 10
    assert bench.value("workqueue_queue_duration_seconds_sum", **both) == 7
    assert bench.value("controller_runtime_active_workers", controller="graph") == 2
    assert bench.value("controller_runtime_max_concurrent_reconciles", controller="graph") == 4
    assert bench.value("controller_runtime_reconcile_total", controller="graph", result="success") == 5
    assert bench.value("controller_runtime_reconcile_errors_total", controller="graph") == 4
    assert bench.value("controller_runtime_terminal_reconcile_errors_total", controller="graph") == 3
    assert bench.value("controller_runtime_reconcile_panics_total", controller="graph") == 2
    assert bench.value("controller_runtime_reconcile_timeouts_total", controller="graph") == 1
    queue.failed(first, 12)
    assert bench.value("workqueue_retries_total", **both) == 1


async def test_buckets_are_those_of_controller_runtime() -> None:
    bench = Bench()
    bench.controller.numbers.time.observe(0.3)

    def bounds(name: str) -> list[float]:
        return sorted(float(dict(labels)["le"]) for (told, labels) in bench.scrape() if told == f"{name}_bucket")

    powers = [1e-08, 1e-07, 1e-06, 1e-05, 0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, math.inf]
    assert bounds("workqueue_queue_duration_seconds") == powers
    assert bounds("workqueue_work_duration_seconds") == powers
    time = bounds("controller_runtime_reconcile_time_seconds")
    assert (len(time), time[:3], time[-2:]) == (41, [0.005, 0.01, 0.025], [60.0, math.inf])
    bench.one_request()
    seconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, math.inf]
    for name in ("request", "rate_limiter", "dns_resolution"):
        assert bounds(f"rest_client_{name}_duration_seconds") == seconds
    sizes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, math.inf]
    for name in ("request", "response"):
        assert bounds(f"rest_client_{name}_size_bytes") == sizes
    assert 'le="1"' in bench.text(), "bounds are spelled as Go spells them"
    assert 'le="1.048576e+06"' in bench.text()
    bucket = "controller_runtime_reconcile_time_seconds_bucket"
    assert bench.value(bucket, controller="graph", le="0.3") == 1
    assert bench.value(bucket, controller="graph", le="0.25") == 0
    assert bench.value(bucket, controller="graph", le="+Inf") == 1


async def test_caches_are_told_by_kind() -> None:
    bench = Bench()
    assert bench.value("dynamo_ctrl_informer_objects", kind="configmaps") == 0
    assert bench.value("dynamo_ctrl_informer_bytes", kind="secrets") == 0
    assert bench.value("dynamo_ctrl_informer_live", kind="secrets") == 0
    bench.controller.close()
    assert not [name for (name, _) in bench.scrape() if name.startswith("dynamo_ctrl_informer")]


async def test_r4_26_a_kind_that_is_followed_no_longer_has_no_series() -> None:
    """A series for each reflector leaks; ours are by kind, and go with it."""
    bench = Bench()
    for _ in range(50):
        extra = bench.cache.informer(SECRET, "app=x")
        assert bench.value("dynamo_ctrl_informer_lists_total", kind="secrets") == 0
        extra.close()
    series = [labels for (name, labels) in bench.scrape() if name == "dynamo_ctrl_informer_lists_total"]
    assert len(series) == 2


async def test_r4_27_what_an_informer_does_is_told_once_for_each_kind() -> None:
    """What client-go's reflectors would tell and nobody may see any more: lists, watches, failures, by kind alone."""
    bench = Bench()
    told: dict[str, list[dict[str, str]]] = {}
    for name, labels in bench.scrape():
        if name.startswith("dynamo_ctrl_informer_"):
            told.setdefault(name, []).append(dict(labels))
    counted = {
        "dynamo_ctrl_informer_lists_total",
        "dynamo_ctrl_informer_watches_total",
        "dynamo_ctrl_informer_failures_total",
    }
    assert counted <= told.keys()
    assert all(labels.keys() == {"kind"} for each in told.values() for labels in each)
    assert all(len(each) == 2 for each in told.values())


async def test_r4_28_a_thousand_priorities_make_no_thousand_series() -> None:
    bench = Bench()
    for number in range(1000):
        bench.controller.queue.add(Key("ns", str(number)), 0, priority=number)
    depths = {labels: value for (name, labels), value in bench.scrape().items() if name == "workqueue_depth"}
    assert len(depths) <= 26
    assert sum(depths.values()) == 1000


async def test_the_rest_clients_histograms_are_there_only_when_they_are_asked_for() -> None:
    bench = Bench(histograms=False)
    bench.requests.count("GET", "h", 200, 0.1)
    told = {name for (name, _) in bench.scrape() if name.startswith("rest_client")}
    assert {name for name in told if not name.endswith("_created")} == {"rest_client_requests_total"}


async def test_the_rest_clients_histograms_say_what_was_observed() -> None:
    bench = Bench()
    bench.one_request()
    labels = {"verb": "GET", "host": "10.0.0.1:443"}
    assert bench.value("rest_client_request_duration_seconds_bucket", **labels, le="0.1") == 1
    assert bench.value("rest_client_request_duration_seconds_bucket", **labels, le="0.025") == 0
    assert bench.value("rest_client_response_size_bytes_sum", **labels) == 70
    assert bench.value("rest_client_request_size_bytes_bucket", **labels, le="64") == 1
    assert bench.value("rest_client_dns_resolution_duration_seconds_count", host="kubernetes") == 1
    assert bench.value("rest_client_request_retries_total", **labels, code="429") == 1


async def test_leases_and_stalls_are_told() -> None:
    bench = Bench()
    bench.watchdog.stalls, bench.watchdog.longest = 4, 1.5
    assert bench.value("leader_election_master_status", name="lease") == 1
    assert bench.value("leader_election_master_status", name="other") == 0
    assert bench.value("leader_election_slowpath_total", name="lease") == 3
    assert bench.value("dynamo_ctrl_loop_stalls_total") == 4
    assert bench.value("dynamo_ctrl_loop_longest_stall_seconds") == 1.5


def test_requests_are_told_by_code_method_and_host() -> None:
    numbers = RequestNumbers()
    for code in (200, 200, 409, 0):
        numbers.count("PATCH", "h:443", code, 0.01)
    assert dict(numbers.counts) == {
        ("200", "PATCH", "h:443"): 2,
        ("409", "PATCH", "h:443"): 1,
        ("<error>", "PATCH", "h:443"): 1,
    }


def test_r4_28_the_number_of_series_is_bounded() -> None:
    numbers = RequestNumbers()
    for number in range(MAX_SERIES + 100):
        numbers.count("GET", f"h{number}", 200, 0.01)
    assert len(numbers.counts) == MAX_SERIES + 1
    assert numbers.counts[("200", "GET", "other")] == 100


def test_r4_28_the_series_of_histograms_are_bounded_too() -> None:
    kept = RequestHistograms()
    for number in range(MAX_SERIES + 100):
        kept.answered("GET", f"h{number}", 0.01, 1, 1)
        kept.retried("GET", f"h{number}", 500)
        kept.resolved(f"h{number}", 0.01)
    for series in (kept.duration, kept.sent, kept.received, kept.resolution):
        assert len(series) == MAX_SERIES + 1
    assert kept.resolution[("other",)].count == 100
    assert kept.retries[("500", "GET", "other")] == 100
