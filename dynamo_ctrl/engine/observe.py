"""`RequestObserver`: what an engine tells about its requests to who wants to know more than their number."""

from __future__ import annotations

from typing import Protocol


class RequestObserver(Protocol):
    """Told by an engine, on its loop. No method may block or raise. `verb` is the HTTP method, `host` may have a port.

    Watches are not told: how long one lasts says nothing.
    """

    def answered(self, verb: str, host: str, seconds: float, sent: int, received: int) -> None:
        """One attempt at a request is over, answered or not: its time, and the bytes of both bodies."""

    def retried(self, verb: str, host: str, code: int) -> None:
        """An attempt ended with that status (0 for no answer), and the request is going to be sent again."""

    def waited(self, verb: str, host: str, seconds: float) -> None:
        """A request had to wait that long for its turn."""

    def resolved(self, host: str, seconds: float) -> None:
        """A name was looked up."""
