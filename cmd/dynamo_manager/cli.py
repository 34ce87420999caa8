"""The command line: flags in, frozen options out. Nothing is opened or started here."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from dynamo_ctrl import __version__
from dynamo_manager.errors import UsageError
from dynamo_manager.logs import LEVELS, LogFormat

_DURATION = re.compile(r"^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What `dynamo-manager run` was asked for; `None` leaves it to the configuration file or the default.

    Attributes:
        engine: name of an installed engine.
        namespaces: to work in; empty for all.
        programs: names of installed programs; empty for all of them.
        apply: stages of manifest files; a stage is applied when everything of the one before is ready.
        until_ready: end as soon as everything applied is ready.
        timeout: seconds for `until_ready`.
    """

    engine: str
    kubeconfig: Path | None
    context: str | None
    namespaces: tuple[str, ...]
    programs: tuple[str, ...]
    workers: int | None
    apply: tuple[tuple[Path, ...], ...]
    until_ready: bool
    timeout: float | None
    metrics_bind_address: str | None
    health_bind_address: str | None
    config: Path | None
    log_format: LogFormat | None
    log_level: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrdsOptions:
    """What `dynamo-manager crds` was asked for: a folder to write into, or `None` for standard output."""

    output: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramsOptions:
    """What `dynamo-manager programs` was asked for: nothing."""


Options = RunOptions | CrdsOptions | ProgramsOptions


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line.

    Raises:
        UsageError: a flag that is unknown or has a bad value.
        SystemExit: after `--help` and `--version`, with code 0.
    """
    given = _parser().parse_args(arguments)
    command: Literal["run", "crds", "programs"] = given.command
    if command == "crds":
        return CrdsOptions(output=given.output)
    if command == "programs":
        return ProgramsOptions()
    if given.timeout is not None and not given.until_ready:
        raise UsageError("--timeout: only together with --until-ready")
    if given.until_ready and not given.apply:
        raise UsageError("--until-ready: needs --apply, or nothing is waited for")
    return RunOptions(
        engine=given.engine,
        kubeconfig=given.kubeconfig,
        context=given.context,
        namespaces=tuple(given.namespace or ()),
        programs=tuple(name for part in given.programs or () for name in part.split(",") if name),
        workers=given.workers,
        apply=tuple(tuple(stage) for stage in given.apply or ()),
        until_ready=given.until_ready,
        timeout=given.timeout,
        metrics_bind_address=given.metrics_bind_address,
        health_bind_address=given.health_bind_address,
        config=given.config,
        log_format=given.log_format,
        log_level=given.log_level,
    )


class _Parser(argparse.ArgumentParser):
    """argparse, with errors as values instead of an exit in the middle."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dynamo-manager", description="Run controllers that drive pure reconcilers.")
    parser.add_argument("--version", action="version", version=f"dynamo-manager {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    run = commands.add_parser("run", help="run the manager", description="Run the installed programs.")
    run.add_argument(
        "--engine", default="kubernetes", metavar="NAME", help="memory, kubernetes, or another installed one"
    )
    run.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="before $KUBECONFIG, in-cluster and ~/.kube/config"
    )
    run.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    run.add_argument(
        "--namespace", action="append", metavar="NAME", help="work in this namespace only; repeat for several"
    )
    run.add_argument("--programs", action="append", metavar="A,B", help="installed programs to run; all by default")
    run.add_argument("--workers", type=_positive, metavar="N", help="concurrent reconciles of each controller")
    run.add_argument(
        "--apply", action="append", nargs="+", type=Path, metavar="FILE",
        help="apply manifests; repeat for stages, each applied when the one before is ready",
    )  # fmt: skip
    run.add_argument("--until-ready", action="store_true", help="end when everything applied is ready")
    run.add_argument(
        "--timeout", type=_duration, metavar="D", help="bound of --until-ready, e.g. 90s or 5m; then exit 1"
    )
    run.add_argument("--metrics-bind-address", type=_address, metavar="ADDR", help="host:port, 0 to disable")
    run.add_argument("--health-bind-address", type=_address, metavar="ADDR", help="host:port, 0 to disable")
    run.add_argument("--config", type=Path, metavar="FILE", help="configuration file; flags win over it")
    run.add_argument("--log-format", choices=("text", "json"))
    run.add_argument("--log-level", choices=LEVELS)

    crds = commands.add_parser("crds", help="print the CustomResourceDefinitions of the installed programs")
    crds.add_argument("--output", type=Path, metavar="DIR", help="write one file for each instead")
    commands.add_parser("programs", help="list what is installed and what it watches")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _duration(text: str) -> float:
    found = _DURATION.match(text)
    if not text or found is None:
        raise argparse.ArgumentTypeError(f"not a duration: {text!r} (expected e.g. 90s, 5m, 1h30m)")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    del host
    if text != "0" and not (colon and port.isdecimal() and int(port) < 65536):
        raise argparse.ArgumentTypeError(f"not an address: {text!r} (expected host:port, :port, or 0)")
    return text
