"""Health checks: what is answered for which path and query (R 1.10)."""

from __future__ import annotations

import pytest

from dynamo_ctrl.manager.health import Checks

GOOD, BAD = ("good", lambda: None), ("bad", lambda: "out of paper")


def checks(*members: tuple[str, object]) -> Checks:
    made = Checks("readyz")
    for name, check in members:
        made.add(name, check)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("members", "path", "query", "status", "body"),
    [
        pytest.param((), "", {}, 200, "ok", id="no-check-is-a-ping"),
        pytest.param((), "ping", {"verbose": [""]}, 200, "[+]ping ok\nreadyz check passed\n", id="ping-by-name"),
        pytest.param((GOOD,), "", {}, 200, "ok", id="all-well"),
        pytest.param((GOOD,), "/", {"verbose": [""]}, 200, "[+]good ok\nreadyz check passed\n", id="verbose"),
        pytest.param(
            (GOOD, BAD),
            "",
            {},
            500,
            "[+]good ok\n[-]bad failed: out of paper\nreadyz check failed\n",
            id="a-failure-is-always-verbose-and-says-why",
        ),
        pytest.param((GOOD, BAD), "good", {}, 200, "ok", id="one-check-by-path"),
        pytest.param(
            (GOOD, BAD), "/bad", {}, 500, "[-]bad failed: out of paper\nreadyz check failed\n", id="one-that-fails"
        ),
        pytest.param((GOOD, BAD), "", {"exclude": ["bad"]}, 200, "ok", id="exclude"),
        pytest.param(
            (GOOD,),
            "",
            {"exclude": ["other"], "verbose": [""]},
            200,
            "[+]good ok\nwarn: no check to exclude is called other\nreadyz check passed\n",
            id="an-unknown-exclude-warns",
        ),
        pytest.param((GOOD,), "x", {}, 404, "readyz: no check 'x'; there are: good\n", id="unknown-check"),
    ],
)
def test_an_answer(
    members: tuple[tuple[str, object], ...], path: str, query: dict[str, list[str]], status: int, body: str
) -> None:
    response = checks(*members).respond(path, query)
    assert (response.status, response.body) == (status, body)


def test_a_source_of_checks_is_asked_each_time() -> None:
    made = checks(GOOD)
    results: dict[str, str | None] = {}
    made.add_source(lambda: results.items())
    assert made.respond("", {}).status == 200
    results["graph/pods"] = "forbidden: no list"
    assert made.respond("", {}).status == 500
    assert made.respond("graph/pods", {}).body.startswith("[-]graph/pods failed: forbidden: no list")
    results["graph/pods"] = None
    assert made.respond("", {}).status == 200


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="there is a check 'good' already"):
        checks(GOOD, GOOD)


def test_a_check_that_raises_has_failed_and_hides_no_other() -> None:
    def broken() -> str | None:
        raise KeyError("disk")

    checks = Checks("readyz")
    checks.add("broken", broken)
    checks.add("fine", lambda: None)
    assert checks.results() == {"broken": "the check raised KeyError: 'disk'", "fine": None}
