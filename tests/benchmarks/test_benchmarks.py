"""The table of `make bench`: goals are judged on medians, and the page tells what the newest results say."""

from __future__ import annotations

from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import page, report
from tests.benchmarks.__main__ import PAGE, RESULTS
from tests.benchmarks.experiments import EXPERIMENTS
from tests.benchmarks.plan import Against, Line, at
from tests.benchmarks.process import ROOT
from tests.benchmarks.programs import OURS, Library, Programs, find_programs
from tests.benchmarks.results import compare, meets
from tests.benchmarks.rows import LINES, ROWS
from tests.benchmarks.run import Run, libraries, needed
from tests.benchmarks.scenes import SCENES

SLOW, FAST = (Against(peer=f"peer, {kind}", ways=ways, goal="<= 0.5") for kind, ways in (
    ("default", ("peer",)), ("best setting", ("peer", "peer, tuned")),
))  # fmt: skip
LINE = Line(row="fill", figure="CPU", unit="us", experiment="fill", read=at("cpu.us"), against=(SLOW, FAST))


def answers(**values: tuple[float, ...]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    names = {"ours": "ours", "peer": "peer", "tuned": "peer, tuned"}
    return {("fill", names[way]): [{"cpu": {"us": value}} for value in many] for way, many in values.items()}


def test_a_ratio_is_of_medians_and_the_best_setting_of_a_peer_stands_for_it() -> None:
    default, best = compare([LINE], answers(ours=(4.0, 90.0, 5.0), peer=(20.0, 10.0, 30.0), tuned=(8.0, 9.0, 1.0)))
    assert (default.ratio, default.met, default.setting) == (0.25, True, "peer")
    assert (best.ratio, best.met, best.setting) == (0.625, False, "peer, tuned")


@pytest.mark.parametrize(("ours", "met"), [(-0.3, True), (-0.1, False), (0.1, False)])
def test_where_an_event_overtook_its_answer_there_is_no_ratio_and_ours_must_not_be_later(
    ours: float, met: bool
) -> None:
    (row, _) = (each.row() for each in compare([LINE], answers(ours=(ours,), peer=(-0.2,))))
    assert (row["ratio"], row["met"]) == (None, met)


def test_what_could_not_be_measured_is_not_judged() -> None:
    (row, _) = (each.row() for each in compare([LINE], answers(ours=(4.0,))))
    assert (row["ours"], row["theirs"], row["ratio"], row["goal"], row["met"]) == (4.0, None, None, "<= 0.5", None)


@pytest.mark.parametrize(
    ("ratio", "goal", "met"),
    [(0.6, "<= 0.6", True), (0.61, "<= 0.6", False), (1.0, ">= 1.0", True), (0.99, ">= 1.0", False)],
)
def test_a_goal_holds_up_to_its_bound(ratio: float, goal: str, met: bool) -> None:
    assert meets(ratio, goal) is met


def test_a_goal_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="'about 2' is no goal"):
        meets(1.0, "about 2")


def test_every_row_has_lines_whose_goals_can_be_read_and_whose_experiments_exist() -> None:
    names = {experiment.name for experiment in EXPERIMENTS}
    assert {line.row for line in LINES} == set(ROWS)
    assert needed(LINES) == EXPERIMENTS
    assert {line.experiment for line in LINES} <= names
    for line in LINES:
        ways = {way.name for experiment in EXPERIMENTS if experiment.name == line.experiment for way in experiment.ways}
        assert line.way in ways
        for against in line.against:
            assert set(against.ways) <= ways
            assert against.goal is None or meets(1.0, against.goal) in (True, False)


def test_experiments_stand_in_the_order_of_their_scenes() -> None:
    order = [SCENES.index(experiment.scene) for experiment in EXPERIMENTS]
    assert order == sorted(order)
    large = [scene.large for scene in SCENES]
    assert large == sorted(large)


def test_no_measurement_begins_after_the_end_of_a_run() -> None:
    (queue,) = (experiment for experiment in EXPERIMENTS if experiment.name == "queue")
    programs = Programs(dict.fromkeys(Library, ("no-such-program",)))
    run = Run(programs, lambda _: None, deadline=0.0)
    run.carry_out((queue,))
    assert not run.outcome.answers
    assert all(failure.endswith("left out, the time of the run was over") for failure in run.outcome.failures)
    assert libraries((queue,)) == {Library.OURS, Library.CONTROLLER_RUNTIME, Library.KUBE_RS}


def made() -> dict[str, Any]:
    rows = [each.row() for each in compare([LINE], answers(ours=(5.0,), peer=(20.0,), tuned=(8.0,)))]
    return {
        "date": "2026-11-30", "machine": "2 cores", "load": 0.25, "minutes": 24.6, "rounds": 3,
        "peers": {"kopf": "1.45.2"}, "rows": rows, "failures": ["stall: no | answer"],
    }  # fmt: skip


def test_our_modules_are_compiled_before_they_are_measured() -> None:
    find_programs({Library.OURS}, print)
    modules = [path for folder in OURS for path in (ROOT / folder).rglob("*.py")]
    assert modules
    assert [path for path in modules if not Path(cache_from_source(str(path))).exists()] == []


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    assert report.newest(tmp_path) is None
    assert report.write(made(), tmp_path).name == "2026-11-30.json"
    report.write({**made(), "date": "2026-09-01"}, tmp_path)
    assert report.newest(tmp_path) == made()


def test_the_page_keeps_its_prose_and_tells_every_row_with_its_mark() -> None:
    text = page.written(f"# Title\n{page.BEGIN}\nold\n{page.END}\nprose\n", made())
    assert text.startswith(f"# Title\n{page.BEGIN}\n\n")
    assert text.endswith(f"\n\n{page.END}\nprose\n")
    assert "old" not in text
    assert "| fill | CPU, us | peer, default | 5 (5..5) | 20 (20..20) | 0.25 | <= 0.5 | met |" in text
    assert "| fill | CPU, us | peer, best setting (tuned) | 5 (5..5) | 8 (8..8) | 0.625 | <= 0.5 | **missed** |" in text
    assert "| outcome | 1 of 2 goals met, in 25 minutes |" in text
    assert "- stall: no \\| answer" in text
    assert page.written(text, made()) == text


def test_a_page_without_a_place_for_results_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for results"):
        page.written("# Title\n", made())


def test_docs_tell_the_newest_results() -> None:
    text, newest = PAGE.read_text(), report.newest(RESULTS)
    if newest is None:
        assert f"{page.BEGIN}\n\n{page.END}" in text
    else:
        assert page.written(text, newest) == text, "run `python -m tests.benchmarks --page`"
