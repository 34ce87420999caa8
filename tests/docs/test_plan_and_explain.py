"""The page about plan and explain: its commands run, its Python runs, and what it shows is what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dynamo_manager.cli import ExplainOptions, PlanOptions, parse

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/plan-and-explain.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def commands() -> list[list[str]]:
    return [line.split() for block in blocks("sh") for line in block.splitlines()]


@pytest.mark.parametrize("command", [each for each in commands() if each[0] == "dynamo-manager"], ids=" ".join)
def test_every_command_is_one_that_the_binary_knows(command: list[str]) -> None:
    assert isinstance(parse(command[1:]), PlanOptions | ExplainOptions)


def test_the_first_plan_is_what_is_printed() -> None:
    command, shown = commands()[0], blocks("text")[0]
    path = os.pathsep.join(str(ROOT / part) for part in (".", "programs", "cmd"))
    done = subprocess.run(
        [sys.executable, "-m", "dynamo_manager", *command[1:]],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(shown)
    assert done.stdout.splitlines()[-1].startswith("Plan: ")


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(code, "plan-and-explain.md", "exec"), names)
    assert "+ Deployment ns/g-frontend will be created\n" in capsys.readouterr().out


def test_what_it_says_of_bounds_is_so() -> None:
    from dynamo_ctrl.objects.disclosure import HASH_DIGITS
    from dynamo_ctrl.program.trace import KEYS, NOTABLE

    assert f"the first {HASH_DIGITS} digits" in PAGE
    assert (f"the last {KEYS:,} keys" in PAGE, NOTABLE) == (True, 4)
