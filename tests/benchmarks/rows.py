"""The table: every row with its figures, its peers and its goals.

A goal is about the ratio ours / theirs of the medians of one run. Where it does not say which setting of a peer is meant, the
setting that was best in this very figure stands for the peer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.benchmarks.experiments import CLASSIC, RATES, WORKERS
from tests.benchmarks.plan import Against, Line, at
from tests.benchmarks.ways import CR, CR_FILLS, CR_LIST, HANDWRITTEN, KOPF, KR, KR_FILLS, KR_STREAMING

ROWS: Final = (
    "fill-10k", "fill-100k", "fill-cr", "fill-touch", "fill-managed", "fill-projected", "memory", "peak", "get", "index",
    "label", "queue", "reconcile", "cold", "status", "latency", "stall", "events", "kopf",
)  # fmt: skip

_CPU: Final = "client CPU"
_BEST: Final = "best setting"
_SIZES: Final = (("10k", "10,000"), ("100k", "100,000"))


def _cr(goal: str | None, *ways: str, kind: str = _BEST) -> Against:
    return Against(peer=f"{CR}, {kind}", ways=ways or CR_FILLS, goal=goal)


def _kr(goal: str | None, *ways: str, kind: str = _BEST) -> Against:
    return Against(peer=f"{KR}, {kind}", ways=ways or KR_FILLS, goal=goal)


def _fills() -> Iterator[Line]:
    def cpu(row: str, *against: Against) -> Line:
        return Line(row=row, figure=_CPU, unit="us per object", experiment=row, read=at("cpu_us"), against=against)

    def wall(row: str, *against: Against) -> Line:
        return Line(
            row=row, figure="wall", unit="s", experiment=row, read=at("sync_s"), against=against, server_bound=True
        )

    by_hand = Against(peer=HANDWRITTEN, ways=(HANDWRITTEN,))
    for row, more in (("fill-10k", (by_hand,)), ("fill-100k", ())):
        yield cpu(row, _cr("<= 0.6", CR, kind="default"), _cr("<= 0.7"), _kr("<= 0.45"), *more)
        yield wall(row, _cr("<= 1.1"), _kr("<= 0.9"), *more)
    yield cpu("fill-cr", _cr("<= 0.2", CR, kind="default"), _cr("<= 0.35"), _kr("<= 0.5"))
    yield wall("fill-cr", _cr("<= 0.9"), _kr("<= 1.0"))
    yield cpu("fill-touch", _cr("<= 0.8"), _kr("<= 0.8"))
    for row in ("fill-managed", "fill-projected"):
        yield cpu(row, _cr("<= 0.6"), _kr("<= 0.6"))


def _memory() -> Iterator[Line]:
    by_hand = Against(peer=HANDWRITTEN, ways=(HANDWRITTEN,))
    for size, n in _SIZES:
        yield Line(
            row="memory", figure=f"resident, {n} Pods", unit="bytes per object", experiment=f"fill-{size}",
            read=at("rss_per_obj"), against=(_cr("<= 0.65"), _kr("<= 0.35"), *((by_hand,) if size == "10k" else ())),
        )  # fmt: skip
    yield Line(
        row="peak", figure="peak of the process, 100,000 Pods", unit="MB", experiment="fill-100k", read=at("peak_rss_mb"),
        against=(_cr("<= 0.65"), _kr("<= 0.45")),
    )  # fmt: skip


def _reads() -> Iterator[Line]:
    def line(row: str, size: str, n: str, path: str, *against: Against) -> Line:
        return Line(
            row=row, figure=f"{n} Pods", unit="ns", experiment=f"lookup-{size}", read=at(f"{path}.ns"), against=against
        )

    def of(peer: str, kind: str, path: str, goal: str) -> Against:
        return Against(peer=f"{peer}, {kind}", ways=(peer,), goal=goal, read=at(f"{path}.ns"))

    for size, n in _SIZES:
        yield line(
            "get", size, n, "get_spread", of(CR, "default", "get_spread", "<= 0.1"),
            of(CR, "copies off", "get_spread_nocopy", "<= 0.4"), of(KR, "ready key", "get_spread", "<= 5"),
        )  # fmt: skip
    for size, n in _SIZES:
        yield line(
            "index", size, n, "index_spread", of(CR, "default", "index_spread", "<= 0.05"),
            of(CR, "copies off", "index_spread_nocopy", "<= 0.2"), of(KR, "scan", "label_closure", "<= 0.01"),
        )  # fmt: skip
    flat = Against(peer="ours at 10,000 Pods", ways=("ours",), goal="<= 1.5", experiment="lookup-10k")
    yield line("index", "100k", "one value, 100,000", "index_hot", flat)
    for size, n in _SIZES:
        yield line(
            "label", size, n, "label", of(CR, "default", "label", "<= 0.01"),
            of(CR, "copies off", "label_nocopy", "<= 0.01"), of(KR, "scan", "label_closure", "<= 0.02"),
        )  # fmt: skip


def _queue() -> Iterator[Line]:
    for what, path in (("one at a time", "pingpong"), ("10,000 at a time", "batch10k")):
        yield Line(
            row="queue", figure=what, unit="ns", experiment="queue", read=at(f"{path}.ns"),
            against=(
                Against(peer=f"{CR}, priority queue", ways=(CR,), goal="<= 0.5", read=at(f"priority_{path}.ns")),
                Against(peer=f"{CR}, classic queue", ways=(CR,), goal="<= 2.5", read=at(f"classic_{path}.ns")),
                Against(peer=f"{KR}, scheduler", ways=(KR,), read=at(f"scheduler_{path}.ns")),
            ),
        )  # fmt: skip


def _reconcile() -> Iterator[Line]:
    def peers(cr: str, kr: str) -> tuple[Against, ...]:
        return (
            Against(peer=CR, ways=(CR,), goal=cr), Against(peer=KR, ways=(KR,), goal=kr),
            Against(peer=CLASSIC, ways=(CLASSIC,)),
        )  # fmt: skip

    for workers in WORKERS:
        many = f"{workers} worker{'s' if workers > 1 else ''}"
        yield Line(
            row="reconcile", figure=f"{_CPU}, {many}", unit="us per reconcile", experiment=f"steady-{workers}",
            read=at("cpu_us"), against=peers("<= 0.7", "<= 0.6"),
        )  # fmt: skip
        yield Line(
            row="reconcile", figure=f"rate, {many}", unit="per second", experiment=f"steady-{workers}",
            read=at("per_s"), against=peers(">= 1.0", ">= 1.0"), higher=True,
        )  # fmt: skip


def _served() -> Iterator[Line]:
    for what, path in (("to the first reconcile", "first_ms"), ("to all 10,000", "all_ms")):
        yield Line(
            row="cold", figure=what, unit="ms", experiment="cold", read=at(path),
            against=(_cr("<= 1.0"), _kr("<= 0.9")), server_bound=True,
        )  # fmt: skip
    for workers in WORKERS:
        many = f"{workers} worker{'s' if workers > 1 else ''}"
        yield Line(
            row="status", figure=f"patches, {many}", unit="per second", experiment=f"status-{workers}", read=at("per_s"),
            against=(Against(peer=CR, ways=(CR,), goal=">= 1.0"), Against(peer=KR, ways=(KR,), goal=">= 0.9")),
            higher=True, server_bound=True,
        )  # fmt: skip
        yield Line(
            row="status", figure=f"{_CPU}, {many}", unit="us per patch", experiment=f"status-{workers}",
            read=at("cpu_us"),
            against=(Against(peer=CR, ways=(CR,), goal="<= 0.6"), Against(peer=KR, ways=(KR,), goal="<= 1.3")),
        )  # fmt: skip
    for rate in RATES:
        for point, cr, kr in (("p50", "<= 0.8", "<= 0.2"), ("p99", "<= 1.0", "<= 0.5")):
            yield Line(
                row="latency", figure=f"{point} at {rate}/s", unit="ms", experiment=f"latency-{rate}",
                read=at(f"return_to_reconcile_ms.{point}"),
                against=(Against(peer=CR, ways=(CR,), goal=cr), Against(peer=KR, ways=(KR,), goal=kr)),
            )  # fmt: skip


def _rest() -> Iterator[Line]:
    yield Line(
        row="stall", figure="p99.9 of the gaps", unit="ms", experiment="stall", read=at("ticker.p999_ms"),
        against=(_cr("<= 0.4", CR, kind="default"), _kr("<= 1.5", KR, KR_STREAMING)),
    )  # fmt: skip
    control = Against(
        peer="idle process of the same run, plus 10 ms",
        ways=("ours",),
        goal="<= 1",
        read=lambda answer: at("control.max_ms")(answer) + 10,
    )
    yield Line(
        row="stall", figure="longest gap", unit="ms", experiment="stall", read=at("ticker.max_ms"), against=(control,)
    )
    for figure, unit, path, higher in (
        ("rate", "per second", "per_s", True), (_CPU, "us per event", "cpu_us", False),
    ):  # fmt: skip
        yield Line(
            row="events", figure=figure, unit=unit, experiment="events", read=at(path), higher=higher,
            against=(Against(peer=CR, ways=(CR_LIST,)), Against(peer=KR, ways=(KR,))),
        )  # fmt: skip

    def of_kopf(goal: str | None) -> tuple[Against, ...]:
        return (Against(peer=KOPF, ways=(KOPF,), goal=goal),)

    for mode, what in (("events", "10,000 events to a handler"), ("index", "index of 4,000 at start")):
        yield Line(
            row="kopf", figure=f"{what}, time", unit="s", experiment=f"kopf-{mode}", read=at("wall_s"),
            against=of_kopf("<= 0.02"), server_bound=True,
        )  # fmt: skip
        yield Line(
            row="kopf", figure=f"{what}, {_CPU}", unit="us per object", experiment=f"kopf-{mode}", read=at("cpu_us"),
            against=of_kopf(None),
        )  # fmt: skip
    yield Line(
        row="kopf", figure="resident", unit="bytes per object", experiment="kopf-events", read=at("rss_per_obj"),
        against=of_kopf("<= 0.3"),
    )  # fmt: skip


LINES: Final = (*_fills(), *_memory(), *_reads(), *_queue(), *_reconcile(), *_served(), *_rest())
