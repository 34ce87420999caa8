"""The queries of the public dashboard of kubebuilder, against what a manager really tells (R 3.14)."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.metrics import respond
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_ctrl.testing import LoopClock

SCRAPED = {"job", "namespace", "pod", "instance"}
"""Labels that Prometheus itself adds at the scrape."""

WHERE = 'job="$job", namespace="$namespace"'
QUANTILES = (0.5, 0.9, 0.99)
QUERIES = [
    f"controller_runtime_active_workers{{{WHERE}}}",
    f"sum(rate(controller_runtime_reconcile_total{{{WHERE}}}[5m])) by (instance, pod)",
    f"sum(rate(controller_runtime_reconcile_errors_total{{{WHERE}}}[5m])) by (instance, pod)",
    f"workqueue_depth{{{WHERE}}}",
    f"sum(rate(workqueue_adds_total{{{WHERE}}}[5m])) by (instance, name)",
    f"sum(rate(workqueue_retries_total{{{WHERE}}}[5m])) by (instance, name)",
    f"rate(workqueue_unfinished_work_seconds{{{WHERE}}}[5m])",
    *(
        f"histogram_quantile({q}, sum(rate(workqueue_{what}_duration_seconds_bucket{{{WHERE}}}[5m])) by (instance, name, le))"
        for q in QUANTILES
        for what in ("queue", "work")
    ),
    f'rate(process_cpu_seconds_total{{{WHERE}, pod="$pod"}}[5m]) * 100',
    f'process_resident_memory_bytes{{{WHERE}, pod="$pod"}}',
    # What alert rules of others read besides.
    f"sum(rate(controller_runtime_reconcile_panics_total{{{WHERE}}}[5m])) by (controller)",
    f"sum(rate(controller_runtime_terminal_reconcile_errors_total{{{WHERE}}}[5m])) by (controller)",
    f'sum(rate(controller_runtime_reconcile_total{{{WHERE}, result="error"}}[5m])) by (controller)',
    f"histogram_quantile(0.99, sum(rate(controller_runtime_reconcile_time_seconds_bucket{{{WHERE}}}[5m])) by (controller, le))",
    f"controller_runtime_max_concurrent_reconciles{{{WHERE}}}",
    f"workqueue_longest_running_processor_seconds{{{WHERE}}}",
]

SELECTOR = re.compile(r"(?P<name>[a-z_]+)\{(?P<where>[^}]*)\}")
MATCHER = re.compile(r'(?P<label>\w+)="(?P<value>[^"]*)"')
GROUPED = re.compile(r"by \((?P<labels>[^)]*)\)")


class Sleeper:
    """A program with something to do for everybody's numbers."""

    name = "sleeper"
    watches = watching(CONFIG_MAP)

    def reconcile(self, request: Request[Any]) -> Result[None]:
        if request.object.metadata.name == "broken":
            raise OSError("broken")
        return Result()


@pytest.fixture(scope="module")
def series() -> list[tuple[str, dict[str, str]]]:
    """Every sample of a manager that ran for a while: its name and its labels."""

    async def main() -> str:
        clock = LoopClock()
        core = Core(clock=clock)
        for name in ("a", "broken"):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            core.create(CONFIG_MAP, "default", msgspec.json.encode(body))
        options = ManagerOptions(garbage=False)
        async with Manager(MemoryEngine(core), programs=[Sleeper()], options=options, clock=clock) as manager:
            running = asyncio.create_task(manager.run())
            await manager.synced()
            await asyncio.sleep(1)
            text = respond(manager.registry).body
            manager.stop()
            await running
        return text

    families = text_string_to_metric_families(asyncio.run(main()))
    return [(sample.name, dict(sample.labels)) for family in families for sample in family.samples]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_finds_its_metric_with_the_labels_that_it_names(
    query: str, series: list[tuple[str, dict[str, str]]]
) -> None:
    selector = SELECTOR.search(query)
    assert selector is not None
    grouped = GROUPED.search(query)
    wanted = {
        match["label"]: match["value"] for match in MATCHER.finditer(selector["where"]) if match["label"] not in SCRAPED
    }
    found = [labels for name, labels in series if name == selector["name"] and wanted.items() <= labels.items()]
    assert found
    if grouped is not None:
        for label in set(re.split(r",\s*", grouped["labels"])) - SCRAPED:
            assert all(label in labels for labels in found)


def test_no_label_of_ours_hides_one_of_the_scrape(series: list[tuple[str, dict[str, str]]]) -> None:
    assert {label for _, labels in series for label in labels} & SCRAPED == set()


def test_the_labels_have_the_values_that_legends_show(series: list[tuple[str, dict[str, str]]]) -> None:
    assert {labels["controller"] for _, labels in series if "controller" in labels} == {"sleeper"}
    results = {labels["result"] for name, labels in series if name == "controller_runtime_reconcile_total"}
    assert results == {"success", "error", "requeue", "requeue_after"}
