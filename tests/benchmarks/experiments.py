"""What is measured, and in which scene."""

from __future__ import annotations

from typing import Final

from tests.benchmarks import scenes, takes
from tests.benchmarks.plan import Experiment
from tests.benchmarks.ways import CR_LIST, KR_ONE_LIST, KR_STREAMING, cr, cr_list, fills, handwritten, kopf, kr, ours

KEYS: Final = 10_000
WIDGETS: Final = 2_000
WORKERS: Final = (1, 8)
RATES: Final = (100, 300)
PLAYED: Final = (1_000, 50_000)
"""Pods of the recorded stream, and its events."""

CLASSIC: Final = "controller-runtime, classic queue"


def _lookup(name: str, scene: scenes.Scene, n: int) -> Experiment:
    ways = (ours("lookup", "--n", n), cr("lookup", "-n", n), kr("lookup", "--n", n))
    return Experiment(name=name, scene=scene, ways=ways, timeout=150)


def _steady(workers: int) -> Experiment:
    count = ("-workers", workers)
    return Experiment(
        name=f"steady-{workers}",
        scene=scenes.PODS_10K,
        ways=(
            ours("steady", "--n", KEYS, "--workers", workers),
            cr("steady", *count),
            cr("steady", "-classic", *count, name=CLASSIC),
            kr("steady", "--n", KEYS, "--workers", workers),
        ),
    )


def _status(workers: int) -> Experiment:
    return Experiment(
        name=f"status-{workers}",
        scene=scenes.WIDGETS_2K,
        ways=(
            ours("status", "--n", WIDGETS, "--workers", workers),
            cr("status", "-n", WIDGETS, "-workers", workers),
            kr("status", "--n", WIDGETS, "--workers", workers),
        ),
    )


def _latency(rate: int) -> Experiment:
    return Experiment(
        name=f"latency-{rate}",
        scene=scenes.WIDGETS_2K,
        take=takes.written(rate),
        ways=(ours("latency", "--n", WIDGETS), cr("latency", "-n", WIDGETS), kr("latency", "--n", WIDGETS)),
    )


def _events() -> Experiment:
    pods, events = PLAYED
    return Experiment(
        name="events",
        scene=scenes.NOTHING,
        take=takes.played(pods, events),
        ways=(
            ours("events", "--n", pods, "--events", events),
            cr_list("events", "-n", pods, "-events", events),
            kr("events", "--n", pods, "--events", events),
        ),
    )


def _kopf(mode: str, scene: scenes.Scene, n: int) -> Experiment:
    return Experiment(
        name=f"kopf-{mode}", scene=scene, ways=(ours("motes", mode, n), kopf(mode, n)), timeout=300, warm_up=True
    )


def _stall() -> Experiment:
    every = fills(100_000, ours_too=("--ticker",), cr_too=("-ticker",), kr_too=("--ticker",))
    return Experiment(
        name="stall",
        scene=scenes.PODS_100K,
        take=takes.controlled,
        ways=tuple(way for way in every if way.name not in (CR_LIST, KR_ONE_LIST)),
    )


EXPERIMENTS: Final = (
    Experiment(name="queue", scene=scenes.NOTHING, ways=(ours("queue"), cr("queue"), kr("queue"))),
    _events(),
    Experiment(name="fill-managed", scene=scenes.MANAGED, ways=fills(10_000), warm_up=True),
    Experiment(name="fill-10k", scene=scenes.PODS_10K, ways=(*fills(10_000), handwritten(10_000)), warm_up=True),
    Experiment(
        name="fill-touch",
        scene=scenes.PODS_10K,
        ways=fills(10_000, ours_too=("--touch",), cr_too=("-touch",), kr_too=("--touch",)),
    ),
    Experiment(
        name="fill-projected",
        scene=scenes.PODS_10K,
        ways=fills(10_000, ours_too=("--slim",), cr_too=("-transform", "slim"), kr_too=("--transform", "slim")),
    ),
    _lookup("lookup-10k", scenes.PODS_10K, 10_000),
    *(_steady(workers) for workers in WORKERS),
    Experiment(
        name="cold",
        scene=scenes.PODS_10K,
        take=takes.timed,
        ways=(
            ours("restart", 10_000),
            cr("restart", "-n", 10_000),
            cr_list("restart", "-n", 10_000),
            kr("restart", "--n", 10_000),
            kr("restart", "--n", 10_000, "--list", "streaming", name=KR_STREAMING),
            kr("restart", "--n", 10_000, "--list", "any-nopage", name=KR_ONE_LIST),
        ),
    ),
    *(_status(workers) for workers in WORKERS),
    *(_latency(rate) for rate in RATES),
    Experiment(
        name="fill-cr",
        scene=scenes.WIDGETS_10K,
        ways=fills(10_000, ours_too=("--kind", "widget"), cr_too=("-kind", "widget"), kr_too=("--kind", "widget")),
        warm_up=True,
    ),
    _kopf("events", scenes.MOTES_10K, 10_000),
    Experiment(name="fill-100k", scene=scenes.PODS_100K, ways=fills(100_000), timeout=120, warm_up=True),
    _stall(),
    _lookup("lookup-100k", scenes.PODS_100K, 100_000),
    _kopf("index", scenes.MOTES_4K, 4_000),
)
"""In the order of their scenes; what takes longest is last, should the time run out."""
