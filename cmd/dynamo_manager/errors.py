"""What the person at the command line can mend. One line each; no traceback."""

from __future__ import annotations

from collections.abc import Iterable


class UsageError(Exception):
    """Bad input: flags, files, configuration, names, a server that cannot be used. The process ends with exit code 2."""


class NotReadyError(Exception):
    """Not everything was ready when it had to be. The process ends with exit code 1.

    Attributes:
        reasons: what keeps each object from being ready, one line each.
    """

    def __init__(self, what: str, reasons: Iterable[str] = ()) -> None:
        self.reasons = tuple(reasons)
        super().__init__(what)
