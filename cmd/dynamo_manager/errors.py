"""What the person at the command line can mend. One line each; no traceback."""

from __future__ import annotations


class UsageError(Exception):
    """Bad input: flags, files, configuration, names. The process ends with exit code 2."""


class NotReadyError(Exception):
    """The time-out passed before everything was ready. The process ends with exit code 1.

    Attributes:
        reasons: what keeps each object from being ready, one line each.
    """

    def __init__(self, reasons: tuple[str, ...]) -> None:
        self.reasons = reasons
        super().__init__("; ".join(reasons))
