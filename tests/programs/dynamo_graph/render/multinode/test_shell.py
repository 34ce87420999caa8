"""Tokens that move from an argument list into a script mean the same to kubelet and shell (P 2.2)."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_graph.render.shell import in_shell, is_python, is_shell, quoted
from tests.programs.dynamo_graph.render.multinode.kit import substituted

VARIABLES = {"A": "x\"$`\\y 'z", "B": "", "my.var": "d e", "C_1": "$(A)$$"}
PARTS = ["$", "$$", "(", ")", "$(A)", "$(B)", "$(C_1)", "$(my.var)", "a", " ", "'", '"', "\\", "`", "{", "}", "!", "*"]
MORE = ["\n", "$((", "+", "1", "))", ";", "|", "&", ">", "~", "#", "=", "${A}", "é", "-"]
TOKENS = st.lists(st.lists(st.sampled_from(PARTS + MORE), max_size=7).map("".join), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(TOKENS)
def test_a_shell_finds_what_the_kubelet_would_have_passed(tokens: list[str]) -> None:
    words = " ".join(substituted(quoted(token), VARIABLES) for token in tokens)
    script = f"{sys.executable} -c 'import sys, json; print(json.dumps(sys.argv[1:]))' {words}"
    done = subprocess.run(["sh", "-c", script], env=VARIABLES, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [substituted(token, VARIABLES) for token in tokens]


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("--tensor-parallel-size", "--tensor-parallel-size"),
        ("a/b:c@d%e+f=g,h.i_j", "a/b:c@d%e+f=g,h.i_j"),
        ("", "''"),
        ("it's", "'it'\\''s'"),
        ("x;y", "'x;y'"),
        ("*", "'*'"),
        ("$(MODEL)", '"${MODEL}"'),
        ("a $(MODEL)\\", '"a ${MODEL}\\\\"'),
        ("$$(MODEL)", "'$$(MODEL)'"),
        ("$MODEL", "'$MODEL'"),
    ],
)
def test_quotes_are_used_where_they_are_needed(token: str, expected: str) -> None:
    assert quoted(token) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)-$(B_1).$(C)", "${A}-${B_1}.${C}"),
        ("$((A + 1))", "$((A + 1))"),
        ("$$(A)", "$$(A)"),
        ("$(date +%s)", "$(date +%s)"),
    ],
)
def test_a_reference_for_the_shell(text: str, expected: str) -> None:
    assert in_shell(text) == expected


@pytest.mark.parametrize(
    ("command", "python"),
    [
        pytest.param("python", True, id="T-POD-05 python"),
        pytest.param("python3.11", True, id="T-POD-05 python3.11"),
        pytest.param("/opt/v/bin/python3", True, id="T-POD-05 path"),
        pytest.param("python3x", False, id="T-POD-05 python3x"),
        pytest.param("sh", False, id="T-POD-05 sh"),
        pytest.param("uv", False, id="T-POD-05 uv"),
        pytest.param("pythonw", False, id="pythonw"),
        pytest.param("python3\n", False, id="newline"),
    ],
)
def test_the_python_form_of_a_command(command: str, python: bool) -> None:
    assert is_python([command, "-m", "x"]) is python
    assert not is_python([])


@pytest.mark.parametrize(
    ("command", "shell"),
    [
        (["/bin/sh", "-c"], True),
        (["bash", "-lc"], True),
        (["/usr/bin/env", "bash", "-c"], False),
        (["/bin/bash", "-e", "-c"], True),
        (["zsh", "-ec"], True),
        (["sh"], False),
        (["sh", "-c", "echo"], False),
        (["fish", "-c"], False),
        (["uv", "run"], False),
        ([], False),
    ],
)
def test_a_shell_that_runs_a_script(command: list[str], shell: bool) -> None:
    assert is_shell(command) is shell
