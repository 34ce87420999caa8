"""Logging of the process: structlog to standard error, as text or as JSON lines. The library itself configures none."""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog

LogFormat = Literal["text", "json"]
LEVELS = ("debug", "info", "warning", "error")


def configure(log_format: LogFormat, level: str) -> None:
    """Set up structlog for this process. Called once, by the binary."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if log_format == "json":
        shared += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        shared.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
