"""What can keep the harness from giving a cluster. The text of each error is one line that says what is missing."""

from __future__ import annotations


class EnvtestError(Exception):
    """The harness cannot do what it was asked for."""


class BinariesMissing(EnvtestError):
    """There are no binaries to run and no way to build them here."""


class BuildFailed(EnvtestError):
    """Building a binary failed; the text ends with the compiler's last line and names the log."""


class StartFailed(EnvtestError):
    """A component did not come up; the text ends with the last line of its log."""
