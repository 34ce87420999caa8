"""Flags in the user's command (P 2.2, 10.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_graph.render.command_line import with_flags
from dynamo_graph.render.errors import RenderError
from tests.programs.dynamo_graph.render.multinode.kit import argv, py, sh

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.multinode.kit import Node

KV = """{"a":"use vllm now"}"""


def injected(container: dict[str, Any], flags: str = "--f", *, shell: bool = False) -> tuple[list[str], list[str]]:
    changed = with_flags(container, flags, component="Decode", framework="vllm", needs_shell=shell)
    return changed["command"], changed["args"]


@pytest.mark.parametrize(
    ("flags", "shell", "args", "expected"),
    [
        pytest.param(
            "--f 1", False, ["-m", "dynamo.vllm"], (["python3"], ["-m", "dynamo.vllm", "--f", "1"]), id="T-POD-06"
        ),
        pytest.param(
            "--f $((X + 1))",
            True,
            ["-m", "dynamo.vllm"],
            (["sh", "-c"], ["exec python3 -m dynamo.vllm --f $((X + 1))"]),
            id="T-POD-07",
        ),
        pytest.param("--f $((X + 1))", True, [], (["sh", "-c"], ["exec python3 --f $((X + 1))"]), id="T-POD-08"),
    ],
)
def test_flags_of_a_python_command(flags: str, shell: bool, args: list[str], expected: Any) -> None:
    assert injected(py(*args), flags, shell=shell) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            "cd /w && python3 -m dynamo.vllm --model m; sleep 1",
            "cd /w && python3 -m dynamo.vllm --f --model m; sleep 1",
            id="T-POD-09",
        ),
        pytest.param("python3 -m dynamo.vllm | tee log", "python3 -m dynamo.vllm --f | tee log", id="T-POD-10"),
        pytest.param(
            "python3 -m dynamo.vllm --model a/vllm-x --tp 2",
            "python3 -m dynamo.vllm --f --model a/vllm-x --tp 2",
            id="T-POD-11",
        ),
        pytest.param(f"python3 -m dynamo.vllm --kv '{KV}'", f"python3 -m dynamo.vllm --f --kv '{KV}'", id="T-POD-12"),
        pytest.param("python3 -m 'dynamo.vllm'", "python3 -m 'dynamo.vllm' --f", id="quoted module"),
        pytest.param("python3 -m dynamo.vllm.worker", "python3 -m dynamo.vllm.worker --f", id="module below"),
        pytest.param("python3 -m dynamo.vllm>log", "python3 -m dynamo.vllm --f>log", id="glued operator"),
        pytest.param(
            "python3 \\\n  -m dynamo.vllm \\\n  --x", "python3 \\\n  -m dynamo.vllm --f \\\n  --x", id="continued lines"
        ),
        pytest.param(
            'echo "python vllm"; python3 -m dynamo.vllm',
            'echo "python vllm"; python3 -m dynamo.vllm --f',
            id="mentioned",
        ),
        pytest.param(
            "export P=python\npython3 -m dynamo.vllm", "export P=python\npython3 -m dynamo.vllm --f", id="second line"
        ),
        pytest.param("python3 serve_vllm.py --x", "python3 serve_vllm.py --f --x", id="no module"),
        pytest.param(
            "python3 -m dynamo.vllm & python3 -m dynamo.vllm",
            "python3 -m dynamo.vllm --f & python3 -m dynamo.vllm --f",
            id="twice",
        ),
    ],
)
def test_flags_of_a_script(script: str, expected: str) -> None:
    assert injected(sh(script)) == (["/bin/sh", "-c"], [expected])


@pytest.mark.parametrize(
    "container",
    [
        pytest.param(sh("vllm serve m"), id="T-POD-13"),
        pytest.param({"command": ["uv", "run"], "args": ["python", "-m", "dynamo.vllm"]}, id="neither"),
        pytest.param({"command": ["sh", "-c", "python3 -m dynamo.vllm"], "args": []}, id="script in the command"),
        pytest.param({}, id="nothing"),
    ],
)
def test_a_command_without_a_place_for_flags_is_refused(container: dict[str, Any]) -> None:
    with pytest.raises(RenderError) as raised:
        injected(container)
    assert raised.value.rule == 'component "Decode": multinode flags need a shell or a python command'


def test_what_a_shell_works_out_is_refused_where_no_shell_reads_it() -> None:
    container = {"command": ["run"], "args": ["python3 -m dynamo.vllm"]}
    assert injected(container, "--f 1") == (["run"], ["python3 -m dynamo.vllm --f 1"])
    with pytest.raises(RenderError, match="need a shell"):
        injected(container, "--f $((1))", shell=True)


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(("$(MODEL)", 'Q "1"'), id="T-POD-14 reference"),
        pytest.param((KV, KV), id="T-POD-14 json"),
        pytest.param(("it's", "it's"), id="T-POD-14 quote"),
        pytest.param(("", ""), id="T-POD-14 empty"),
        pytest.param(("x;y", "x;y"), id="T-POD-14 operator"),
        pytest.param(("$$(MODEL)", "$(MODEL)"), id="T-POD-15"),
    ],
)
def test_a_wrapped_command_gets_the_arguments_that_it_had(node: Node, token: tuple[str, str]) -> None:
    given, expected = token
    command, args = injected(py("-m", "dynamo.vllm", "--model", given, "--end"), "--rank $((X + 1))", shell=True)
    calls = node.run({"command": command, "args": args}, {"MODEL": 'Q "1"', "X": "4"})
    assert argv(calls, "python3") == ["-m", "dynamo.vllm", "--model", expected, "--end", "--rank", "5"]


@pytest.mark.parametrize("second", [pytest.param("python3 -m dynamo.vllm", id="T-POD-16")])
def test_only_the_first_element_that_starts_the_engine_changes(second: str) -> None:
    assert injected(sh("echo a", second, second))[1] == ["echo a", f"{second} --f", second]
