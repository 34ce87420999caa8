"""The log of the process: structlog to standard error, as text or as JSON lines.

The library itself configures nothing. Lines of a reconcile say which one (`reconcile_context`). What other libraries tell the
standard library's `logging` comes out in the same form.
"""

from __future__ import annotations

import io
import logging
import sys
from typing import Final, Literal, TextIO, cast, get_args

import structlog
from structlog.typing import Processor

from dynamo_ctrl.controller.context import reconcile_context

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

FORMATS: Final[tuple[LogFormat, ...]] = get_args(LogFormat)
LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)


def configure(log_format: LogFormat, level: LogLevel) -> None:
    """Set up the log of this process. Called once, by the binary."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        reconcile_context,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    stderr = cast("TextIO", _StandardError())
    ending = _json() if log_format == "json" else _text()
    structlog.configure(
        processors=[*shared, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *ending],
        )
    )
    logging.basicConfig(handlers=[handler], level=number, force=True)
    logging.captureWarnings(capture=True)


def _json() -> list[Processor]:
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _text() -> list[Processor]:
    # plain tracebacks: the pretty ones show the values of variables, and one of them may be a secret
    return [
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
    ]


class _StandardError(io.TextIOBase):
    """Whatever `sys.stderr` is when a line is written: a live table puts itself in between."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()
