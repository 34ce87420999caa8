"""The words of a watcher: what it asks for, what the store has to do with an answer, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.port import ListOptions, WatchOptions


class VeryShortWatch(EngineError):
    """A watch ended at once and without an event: something between us and the server does not let watches live."""

    default_code, default_reason = 0, "VeryShortWatch"


class NoEndMark(EngineError):
    """A streaming list did not come to the mark that ends its initial objects."""

    default_code, default_reason = 0, "NoEndMark"


# --- what the watcher asks for


@dataclass(frozen=True, slots=True)
class ListPage:
    """Get one page."""

    options: ListOptions


@dataclass(frozen=True, slots=True)
class OpenWatch:
    """Open a watch and tell its events."""

    options: WatchOptions


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so many seconds pass; being woken earlier is fine."""

    seconds: float


Ask: TypeAlias = ListPage | OpenWatch | Wait


# --- what the store has to do with an answer


@dataclass(frozen=True, slots=True)
class Collect:
    """Lay the items of the page aside, invisible to readers. `fresh`: forget what was laid aside before."""

    fresh: bool


@dataclass(frozen=True, slots=True)
class Replace:
    """The list is complete with this page: replace the content with what was laid aside.

    Attributes:
        version: the version that the content stands for.
        fresh: forget what was laid aside before this page.
        consistent: the list was a quorum read; it holds every write that was answered before its first page was asked for.
    """

    version: str
    fresh: bool = True
    consistent: bool = False


# --- states


@dataclass(frozen=True, slots=True)
class Listing:
    """Pages are being fetched. `version` is what the list asks for; `token` is set from the second page on."""

    version: str
    token: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Opening:
    """A watch is wanted and not open yet; `initial`: one that begins with the objects that there are."""

    version: str
    initial: bool = False


@dataclass(frozen=True, slots=True)
class Filling:
    """A streaming list is open and has not come to its mark. `version` is what it asked for."""

    since: float
    version: str


@dataclass(frozen=True, slots=True)
class Watching:
    """A watch is open."""

    since: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something failed; `then` follows after the wait."""

    seconds: float
    then: Listing | Opening


State: TypeAlias = Listing | Opening | Filling | Watching | Waiting
