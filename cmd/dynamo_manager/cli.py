"""The command line: flags in, frozen options out. Nothing is opened or started here."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from dynamo_ctrl import __version__
from dynamo_ctrl.objects.duration import InvalidDuration, parse_duration
from dynamo_manager.errors import UsageError
from dynamo_manager.logs import FORMATS, LEVELS, LogFormat, LogLevel

MEMORY: Final = "memory"
"""The engine that lives in the process. It starts empty, and there is no cluster to reach."""

_URL = re.compile(r"http://[^/?#@\s]+/?")
_KEY = re.compile(r"([a-z0-9.-]+/)?[a-z0-9.-]+")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


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
        debug: whether `/debug/` is shown although other machines reach the health address.
        leader_elect: whether only one of several replicas works.
        leader_elect_id: name of the Lease.
        leader_elect_namespace: of the Lease.
    """

    engine: str = "kubernetes"
    kubeconfig: Path | None = None
    context: str | None = None
    namespaces: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    workers: int | None = None
    apply: tuple[tuple[Path, ...], ...] = ()
    until_ready: bool = False
    timeout: float | None = None
    metrics_bind_address: str | None = None
    health_bind_address: str | None = None
    debug: bool = False
    leader_elect: bool | None = None
    leader_elect_id: str | None = None
    leader_elect_namespace: str | None = None
    config: Path | None = None
    log_format: LogFormat | None = None
    log_level: LogLevel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What `dynamo-manager plan` was asked for.

    Attributes:
        files: manifests, in order.
        live: whether the real cluster is read.
        namespace: of documents that name none; in a real cluster it is read in any case.
        programs: names of installed programs; empty for all of them.
        horizon: seconds that may pass for programs that wait.
        passes: how often all programs may run.
        brief: leave out what is in the objects.
        output: `text` or `json`.
    """

    files: tuple[Path, ...] = ()
    live: bool = False
    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None
    programs: tuple[str, ...] = ()
    config: Path | None = None
    horizon: float = 0.0
    passes: int = 50
    brief: bool = False
    output: str = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """What `dynamo-manager explain` was asked for.

    Attributes:
        kind: of the object, as people call it.
        key: its namespace and name.
        address: of the manager's health server.
        output: `text` or `json`.
    """

    kind: str
    key: str
    address: str = "http://127.0.0.1:8081"
    output: str = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrdsOptions:
    """What `dynamo-manager crds` was asked for: a folder to write into, or `None` for standard output."""

    output: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramsOptions:
    """What `dynamo-manager programs` was asked for: nothing."""


Options = RunOptions | PlanOptions | ExplainOptions | CrdsOptions | ProgramsOptions


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line.

    Raises:
        UsageError: a flag that is unknown, given twice, has a bad value, or makes no sense beside the others.
        SystemExit: after `--help` and `--version`, with code 0.
    """
    given = vars(_parser().parse_args(arguments))
    options: Options = given.pop("make")(**given)
    return options


def _run(*, namespace: Sequence[str], programs: str | None, **given: Any) -> RunOptions:
    options = RunOptions(
        **{name: value for name, value in given.items() if value is not None},
        namespaces=tuple(dict.fromkeys(namespace)),
        programs=() if programs is None else _names(programs),
    )
    if options.timeout is not None and not options.until_ready:
        raise UsageError("--timeout: makes sense only with --until-ready")
    if options.until_ready and not options.apply:
        raise UsageError("--until-ready: needs --apply, or there is nothing to wait for")
    if options.engine == MEMORY and (options.kubeconfig or options.context):
        flag = "--kubeconfig" if options.kubeconfig else "--context"
        raise UsageError(f"{flag}: the memory engine reaches no cluster; leave it out, or use --engine kubernetes")
    return options


def _plan(
    *, files: Sequence[Path] | None, programs: str | None, cluster: bool, output: str | None, **given: Any
) -> PlanOptions:
    options = PlanOptions(
        **{name: value for name, value in given.items() if value is not None},
        files=tuple(files or ()),
        live=cluster or given["kubeconfig"] is not None or given["context"] is not None,
        programs=() if programs is None else _names(programs),
        output=output or "text",
    )
    if not options.files and not (options.live and options.namespace):
        raise UsageError("-f: needs a manifest, or --cluster and --namespace for a plan of what is there")
    return options


def _explain(**given: Any) -> ExplainOptions:
    return ExplainOptions(**{name: value for name, value in given.items() if value is not None})


class _Parser(argparse.ArgumentParser):
    """argparse, with errors as values instead of an exit in the middle, and without guessing abbreviated flags."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ")
        raise UsageError(f"{text} (see {self.prog} --help)")


class _Once(argparse.Action):
    """Takes one value, once: of two, one would silently lose."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "given twice")
        setattr(namespace, self.dest, values)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dynamo-manager", description="Controllers that drive pure reconcilers on a cluster.")
    parser.add_argument("--version", action="version", version=f"dynamo-manager {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    run = commands.add_parser("run", help="run the manager", description="Run the installed programs.")
    run.set_defaults(make=_run)
    _cluster(run)
    _work(run)
    _process(run)
    plan = commands.add_parser(
        "plan", help="show what the programs would write, and write nothing",
        description="Show what the installed programs would write, in an empty cluster or in a real one; write nothing.",
    )  # fmt: skip
    plan.set_defaults(make=_plan)
    _planning(plan)
    explain = commands.add_parser(
        "explain", help="ask a running manager why it last looked at an object, and what came of it",
        description="Ask a running manager why it last looked at an object, what was written and why, and what is next.",
    )  # fmt: skip
    explain.set_defaults(make=_explain)
    explain.add_argument("kind", metavar="KIND", help="the kind of the object, e.g. dgd")
    explain.add_argument("key", metavar="NAMESPACE/NAME", type=_key, help="the object")
    explain.add_argument("--address", action=_Once, type=_url, metavar="URL",
                         help="of its health server; http://127.0.0.1:8081 by default")  # fmt: skip
    explain.add_argument("--output", action=_Once, choices=("text", "json"), help="text by default")
    crds = commands.add_parser("crds", help="print the CustomResourceDefinitions of the installed programs")
    crds.set_defaults(make=CrdsOptions)
    crds.add_argument("--output", action=_Once, type=Path, metavar="DIR", help="write a file for each of them instead")
    programs = commands.add_parser("programs", help="list what is installed and what it watches")
    programs.set_defaults(make=ProgramsOptions)
    return parser


def _cluster(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("the cluster")
    group.add_argument(
        "--engine", action=_Once, metavar="NAME",
        help="kubernetes (the default), memory (in the process, with a simulated data plane), or another installed one",
    )  # fmt: skip
    group.add_argument(
        "--kubeconfig", action=_Once, type=Path, metavar="FILE",
        help="goes before $KUBECONFIG, the Pod's service account and ~/.kube/config",
    )  # fmt: skip
    group.add_argument("--context", action=_Once, metavar="NAME", help="a context of the kubeconfig")
    group.add_argument(
        "--namespace", action="append", type=_namespace, default=[], metavar="NAME",
        help="work in this namespace only; repeat it for several",
    )  # fmt: skip


def _work(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("the work")
    group.add_argument("--programs", action=_Once, metavar="A,B", help="installed programs to run; all by default")
    group.add_argument("--workers", action=_Once, type=_positive, metavar="N", help="reconciles at once per controller")
    group.add_argument(
        "--apply", action=_Stages, nargs="+", type=Path, metavar="FILE",
        help="apply manifests; repeat it for stages: each is applied when everything of the one before is ready",
    )  # fmt: skip
    group.add_argument("--until-ready", action="store_true", help="end when everything that was applied is ready")
    group.add_argument(
        "--timeout", action=_Once, type=_duration, metavar="D",
        help="how long --until-ready may take, e.g. 90s or 5m; then the exit code is 1",
    )  # fmt: skip


def _planning(plan: argparse.ArgumentParser) -> None:
    plan.add_argument("-f", "--filename", dest="files", action="extend", nargs="+", type=Path, metavar="FILE",
                      help="manifests, as if they were applied")  # fmt: skip
    plan.add_argument("--cluster", action="store_true", help="begin with what is in the cluster (it is only read)")
    plan.add_argument("--kubeconfig", action=_Once, type=Path, metavar="FILE", help="which cluster; implies --cluster")
    plan.add_argument("--context", action=_Once, metavar="NAME", help="a context of it; implies --cluster")
    plan.add_argument("--namespace", action=_Once, type=_namespace, metavar="NAME",
                      help="of manifests that name none; with a cluster also one to look into")  # fmt: skip
    plan.add_argument("--programs", action=_Once, metavar="A,B", help="installed programs to run; all by default")
    plan.add_argument("--config", action=_Once, type=Path, metavar="FILE", help="configuration file of the programs")
    plan.add_argument("--horizon", action=_Once, type=_duration, metavar="D",
                      help="how much time may pass for programs that wait, e.g. 90s; none by default")  # fmt: skip
    plan.add_argument(
        "--passes", action=_Once, type=_positive, metavar="N", help="how often all may run; 50 by default"
    )
    plan.add_argument("--brief", action="store_true", help="name the objects only")
    plan.add_argument("--output", action=_Once, choices=("text", "json"), help="text by default")


def _process(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("the process")
    group.add_argument(
        "--metrics-bind-address", action=_Once, type=_address, metavar="ADDR",
        help="where /metrics is served: host:port, :port, or 0 for nowhere (the default)",
    )  # fmt: skip
    group.add_argument(
        "--health-bind-address", action=_Once, type=_address, metavar="ADDR",
        help="where /healthz and /readyz are served (/debug/ too, on a loopback address); may be the same address",
    )  # fmt: skip
    group.add_argument("--debug", action="store_true", help="serve /debug/ although other machines reach the address")
    group.add_argument(
        "--leader-elect", action=argparse.BooleanOptionalAction,
        help="work only while this replica holds a Lease; not by default",
    )  # fmt: skip
    group.add_argument(
        "--leader-elect-id", action=_Once, metavar="NAME", help="of the Lease; dynamo-manager by default"
    )
    group.add_argument(
        "--leader-elect-namespace", action=_Once, type=_namespace, metavar="NAME",
        help="of the Lease; the Pod's own by default",
    )  # fmt: skip
    group.add_argument(
        "--config", action=_Once, type=Path, metavar="FILE", help="configuration file; flags win over it"
    )
    group.add_argument("--log-format", action=_Once, choices=FORMATS, help="text by default")
    group.add_argument("--log-level", action=_Once, choices=LEVELS, help="info by default")


class _Stages(argparse.Action):
    """Collects the values of each occurrence as one stage."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, (*(getattr(namespace, self.dest) or ()), tuple(values)))


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(names):
        raise UsageError(f"--programs: must be names with commas between them, not {text!r}")
    return names


def _checked(holds: Callable[[str], bool], rule: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not holds(text):
            raise argparse.ArgumentTypeError(f"must be {rule}, not {text!r}")
        return text

    return check


_namespace = _checked(lambda text: bool(_NAMESPACE.fullmatch(text)), "the name of a namespace")
_url = _checked(lambda text: bool(_URL.fullmatch(text)), "http://HOST:PORT")
_key = _checked(lambda text: bool(_KEY.fullmatch(text)), "NAMESPACE/NAME, or NAME for a kind of cluster scope")
_address = _checked(lambda text: text == "0" or _is_address(text), "host:port, :port, or 0")


def _is_address(text: str) -> bool:
    host, colon, port = text.rpartition(":")
    bare = ":" not in host or (host.startswith("[") and host.endswith("]"))
    return bool(colon) and bare and port.isascii() and port.isdecimal() and int(port) < 65536


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _duration(text: str) -> float:
    try:
        seconds = parse_duration(text).total_seconds()
    except InvalidDuration as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"must be longer than nothing, not {text!r}")
    return seconds
