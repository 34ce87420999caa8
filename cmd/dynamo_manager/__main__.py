"""The entry of the process: arguments in, exit code out. 0 is success, 1 not ready in time, 2 bad input."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.kubernetes.config import ConfigError
from dynamo_ctrl.engine.registry import BrokenEngine, UnknownEngine
from dynamo_ctrl.manager.errors import CannotListen, InvalidOption, LeadershipLost, ManagerError, StopOverrun
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.program.errors import DefinitionError
from dynamo_manager import crds, install, listing, logs
from dynamo_manager.cli import CrdsOptions, ExplainOptions, PlanOptions, ProgramsOptions, RunOptions, parse
from dynamo_manager.errors import NotReadyError, UsageError
from dynamo_manager.run import run
from dynamo_manager.settings import Settings, settle

BAD_INPUT: Final = (
    UsageError, ConfigError, InvalidOption, InvalidObject, UnknownEngine, BrokenEngine, DefinitionError, EngineError,
)  # fmt: skip
"""What ends the process with 2 and one line, without a traceback."""

GONE: Final = 128 + signal.SIGPIPE
"""The exit code when nobody reads our output any more: what a shell says of a process that this signal ended."""

UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a full disk, a quota, a limit or a device answers to a write."""

_FLAGS: Final = {
    "health_address": "--health-bind-address",
    "metrics_address": "--metrics-bind-address",
    "leader_election.namespace": "--leader-elect-namespace",
}
"""The flag behind an option that an error names."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    _open_streams()
    try:
        code = _dispatch(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except (*BAD_INPUT, ManagerError, NotReadyError) as error:
        return _complain(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has gone, and knows it
        _abandon_output()
        return GONE
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        _abandon_output()
        sys.stderr.write(f"dynamo-manager: standard output cannot be written: {error.strerror}\n")
        return 1
    return code


def _open_streams() -> None:
    """A process that was started with its outputs closed says nothing, and works."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (as long as the process)


def _abandon_output() -> None:
    """Python would try once more to flush it at the end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: Sequence[str]) -> int:
    match parse(arguments):
        case CrdsOptions(output=output):
            crds.write(install.programs(), output)
        case ProgramsOptions():
            for line in listing.lines(install.programs()):
                sys.stdout.write(f"{line}\n")
        case PlanOptions() as options:
            from dynamo_manager.plan import plan  # what a manager does not need does not slow its start down

            logs.configure("text", "warning")
            return asyncio.run(plan(options))
        case ExplainOptions() as options:
            from dynamo_manager.explain import explain

            return explain(options)
        case RunOptions() as options:
            settings = settle(options)
            logs.configure(settings.log_format, settings.log_level)
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                return runner.run(_run(options, settings))
    return 0


async def _run(options: RunOptions, settings: Settings) -> int:
    """`run`, unless something did not stop: it would hold up an orderly end for ever. The log has named it.

    After a lost lease nothing is waited for at all: another replica works already.
    """
    try:
        return await run(options, settings)
    except StopOverrun:
        code = 1
    except LeadershipLost as lost:
        code = _complain(lost)
    except ExceptionGroup as both:  # an error, and a stop that overran on top of it
        if not isinstance(both.exceptions[-1], StopOverrun):
            raise
        code = _complain(both.exceptions[0])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: reading TLS costs it a third less."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return factory


def _complain(error: Exception) -> int:
    """Say on standard error what was wrong, and return the exit code for it."""
    code, first = 1, str(error)
    more: tuple[str, ...] = ()
    match error:
        case NotReadyError(reasons=reasons):
            more = reasons
        case CannotListen(option=option):
            code = 2
            first = f"{_FLAGS[option]}: cannot listen on {error.address}: {error.cause}; choose another address, or 0"
        case InvalidOption(field=field, rule=rule) if field in _FLAGS:
            code, first = 2, f"{_FLAGS[field]}: {rule}"
        case _ if isinstance(error, BAD_INPUT):
            code = 2
    lines = [f"dynamo-manager: {first}", *(f"  {reason}" for reason in more)]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
