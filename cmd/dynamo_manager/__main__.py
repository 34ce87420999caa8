"""The entry of the process: arguments in, exit code out. 0 is success, 1 a time-out, 2 bad input."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from dynamo_ctrl.engine.kubernetes.config import ConfigError
from dynamo_ctrl.engine.registry import BrokenEngine, UnknownEngine
from dynamo_ctrl.manager.errors import InvalidOption, StopOverrun
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import EMPTY
from dynamo_ctrl.program.errors import DefinitionError, NotAProgram, UnknownProgram
from dynamo_manager import install, listing, logs
from dynamo_manager.cli import CrdsOptions, ProgramsOptions, RunOptions, parse
from dynamo_manager.errors import NotReadyError, UsageError
from dynamo_manager.run import run, write_crds
from dynamo_manager.settings import settle

BAD_INPUT = (
    UsageError,
    ConfigError,
    InvalidOption,
    InvalidObject,
    UnknownEngine,
    BrokenEngine,
    UnknownProgram,
    NotAProgram,
    DefinitionError,
)
"""What ends the process with 2 and one line, without a traceback."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    try:
        return _dispatch(sys.argv[1:] if arguments is None else arguments)
    except BAD_INPUT as error:
        return _complain(2, str(error))
    except NotReadyError as error:
        return _complain(1, "not ready in time", *error.reasons)
    except StopOverrun as error:
        return _complain(1, str(error))
    except KeyboardInterrupt:
        return 130


def _dispatch(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    match options:
        case CrdsOptions():
            write_crds(install.programs((), EMPTY), options.output)
        case ProgramsOptions():
            for line in listing.lines(install.programs((), EMPTY)):
                sys.stdout.write(f"{line}\n")
        case RunOptions():
            settings = settle(options)
            logs.configure(settings.log_format, settings.log_level)
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                return runner.run(run(options, settings))
    return 0


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: reading TLS costs it a third less."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return factory


def _complain(code: int, first: str, *more: str) -> int:
    sys.stderr.write(f"dynamo-manager: {first}\n")
    for line in more:
        sys.stderr.write(f"  {line}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
