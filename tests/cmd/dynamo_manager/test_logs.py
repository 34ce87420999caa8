"""The log of the process: one form for everything, and the reconcile that a line belongs to."""

from __future__ import annotations

import json
import logging
import warnings
from typing import Any

import pytest
import structlog

from dynamo_ctrl.controller.context import RUNNING, Running
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.workqueue import WorkQueue
from dynamo_manager import logs


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_json_is_one_object_for_each_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "info")
    log = structlog.get_logger()
    log.bind(controller="c").info("something happened", key="ns/a", count=3)
    log.debug("not told")
    (line,) = lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "something happened", "level": "info", "controller": "c", "key": "ns/a", "count": 3}


def test_text_is_one_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("text", "warning")
    structlog.get_logger().warning("source is absent", kind="pods")
    structlog.get_logger().info("not told")
    (line,) = capsys.readouterr().err.splitlines()
    assert "[warning" in line
    assert "source is absent" in line
    assert "kind=pods" in line


def test_lines_of_a_reconcile_say_which(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "info")
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(Key("ns", "a"), 0.0)
    running = Running("graphs")
    running.entry = queue.get(0.0)
    token = RUNNING.set(running)
    try:
        structlog.get_logger().info("inside")
        structlog.get_logger().info("elsewhere", key="ns/other")
    finally:
        RUNNING.reset(token)
    structlog.get_logger().info("outside")
    inside, elsewhere, outside = lines(capsys)
    assert (inside["controller"], inside["key"], inside["reconcile_id"]) == ("graphs", "ns/a", "graphs-1")
    assert elsewhere["key"] == "ns/other", "what the line says itself wins"
    assert "reconcile_id" not in outside


def test_other_libraries_and_warnings_come_out_in_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", "info")
    logging.getLogger("asyncio").error("Task %s was destroyed", "t")
    logging.getLogger("aiohttp.server").debug("not told")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    told, warned = lines(capsys)
    assert (told["event"], told["level"], told["logger"]) == ("Task t was destroyed", "error", "asyncio")
    assert "DeprecationWarning: old" in warned["event"]


@pytest.mark.parametrize("log_format", logs.FORMATS)
def test_a_stack_is_told_without_the_values_of_variables(
    log_format: logs.LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(log_format, "info")
    hidden = "s3cret"
    try:
        raise ValueError(len(hidden))
    except ValueError as error:
        structlog.get_logger().error("reconcile failed", exc_info=error)
        logging.getLogger("x").exception("also failed")
    err = capsys.readouterr().err
    assert err.count("ValueError: 6") == 2
    assert "s3cret" not in err.replace('hidden = "s3cret"', "")
