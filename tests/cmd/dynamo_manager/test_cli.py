"""Flags in, options out; every mistake is one line that names the flag and the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynamo_ctrl import __version__
from dynamo_manager.cli import CrdsOptions, ProgramsOptions, RunOptions, parse
from dynamo_manager.errors import UsageError


def test_without_flags_everything_is_left_to_the_file_and_the_defaults() -> None:
    assert parse(["run"]) == RunOptions()
    assert RunOptions().engine == "kubernetes"


def test_every_flag_reaches_its_option() -> None:
    given = parse([
        "run", "--engine", "other", "--kubeconfig", "k", "--context", "c", "--namespace", "a", "--namespace", "b",
        "--programs", "x,y", "--workers", "3", "--apply", "1.yaml", "2.yaml", "--apply", "3.yaml", "--until-ready",
        "--timeout", "1m30s", "--metrics-bind-address", ":8080", "--health-bind-address", "127.0.0.1:8081",
        "--config", "f", "--log-format", "json", "--log-level", "debug", "--leader-elect", "--leader-elect-id", "i",
        "--leader-elect-namespace", "n",
    ])  # fmt: skip
    assert given == RunOptions(
        engine="other", kubeconfig=Path("k"), context="c", namespaces=("a", "b"), programs=("x", "y"), workers=3,
        apply=((Path("1.yaml"), Path("2.yaml")), (Path("3.yaml"),)), until_ready=True, timeout=90.0,
        metrics_bind_address=":8080", health_bind_address="127.0.0.1:8081", config=Path("f"), log_format="json",
        log_level="debug", leader_elect=True, leader_elect_id="i", leader_elect_namespace="n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["crds"], CrdsOptions()),
        (["crds", "--output", "d"], CrdsOptions(output=Path("d"))),
        (["programs"], ProgramsOptions()),
    ],
)
def test_the_other_commands(arguments: list[str], options: object) -> None:
    assert parse(arguments) == options


@pytest.mark.parametrize("address", ["0", ":8080", "localhost:1", "127.0.0.1:0", "[::1]:65535"])
def test_an_address_is_host_and_port_or_nowhere(address: str) -> None:
    given = parse(["run", "--metrics-bind-address", address])
    assert isinstance(given, RunOptions)
    assert given.metrics_bind_address == address


@pytest.mark.parametrize(
    ("arguments", "flag", "rule"),
    [
        ([], "COMMAND", "required"),
        (["frob"], "COMMAND", "invalid choice: 'frob'"),
        (["run", "--bogus"], "--bogus", "unrecognized"),
        (["run", "stray"], "stray", "unrecognized"),
        (["run", "--work", "3"], "--work", "unrecognized"),
        (["run", "--workers"], "--workers", "expected one argument"),
        (["run", "--workers", "0"], "--workers", "at least 1, not '0'"),
        (["run", "--workers", "many"], "--workers", "at least 1, not 'many'"),
        (["run", "--workers", "²"], "--workers", "at least 1"),
        (["run", "--config", "a", "--config", "b"], "--config", "given twice"),
        (["run", "--engine", "a", "--engine", "a"], "--engine", "given twice"),
        (["crds", "--output", "a", "--output", "b"], "--output", "given twice"),
        (["run", "--programs", ","], "--programs", "names with commas"),
        (["run", "--programs", ""], "--programs", "names with commas"),
        (["run", "--namespace", "No"], "--namespace", "the name of a namespace, not 'No'"),
        (["run", "--namespace", ""], "--namespace", "the name of a namespace"),
        (["run", "--namespace", "a" * 64], "--namespace", "the name of a namespace"),
        (["run", "--apply"], "--apply", "expected at least one argument"),
        (["run", "--apply", "f", "--until-ready", "--timeout", "5"], "--timeout", "not a duration: '5'"),
        (["run", "--apply", "f", "--until-ready", "--timeout", "0s"], "--timeout", "longer than nothing"),
        (["run", "--apply", "f", "--until-ready", "--timeout=-5s"], "--timeout", "longer than nothing"),
        (["run", "--timeout", "5s"], "--timeout", "only with --until-ready"),
        (["run", "--until-ready"], "--until-ready", "needs --apply"),
        (["run", "--metrics-bind-address", "8080"], "--metrics-bind-address", "host:port, :port, or 0, not '8080'"),
        (["run", "--health-bind-address", ":65536"], "--health-bind-address", "host:port"),
        (["run", "--health-bind-address", "::1:80"], "--health-bind-address", "host:port"),
        (["run", "--log-format", "xml"], "--log-format", "choose from"),
        (["run", "--log-level", "loud"], "--log-level", "choose from"),
        (["run", "--engine", "memory", "--kubeconfig", "k"], "--kubeconfig", "the memory engine reaches no cluster"),
        (["run", "--engine", "memory", "--context", "c"], "--context", "the memory engine reaches no cluster"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_with_the_flag_and_the_rule(arguments: list[str], flag: str, rule: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(arguments)
    text = str(raised.value)
    assert flag in text
    assert rule in text
    assert "\n" not in text


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["crds", "--help"], ["--version"]])
def test_help_and_version_end_well(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 0
    shown: Any = capsys.readouterr()
    assert shown.out.startswith("usage: dynamo-manager" if "--help" in arguments else f"dynamo-manager {__version__}")
