"""The options of a cache, of one kind in it, and of what follows a kind. They are values; nothing here does anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from dynamo_ctrl.cache.backoff import BackoffOptions
from dynamo_ctrl.cache.state import install_definition
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.selector import FieldSelector, InvalidSelector, LabelSelector

Remedy: TypeAlias = Callable[[Kind[Any]], str]
"""Says what to do so that the cluster serves a kind."""

Initial: TypeAlias = Literal["list", "stream"]
"""How the objects are fetched: by a list in pages, or by a watch that begins with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherOptions:
    """The bounds of one watcher. All times are seconds.

    Attributes:
        page_size: objects in one page of a list.
        first_version: version of the first list. "" is a consistent read, paged, served from the watch cache by servers
            since 1.31; it cannot go back in time when another API server answers after a restart. "0" takes any state
            that the server has at hand, usually in a single answer.
        watch_timeout: each watch ends after a time drawn uniformly from this range, so that reconnects spread.
        idle: a stream without any event, bookmarks included, for so long is half open: it is watched again.
        short_watch: a watch that ends sooner than this without any event has failed.
        server_error_grace: for so long after the first internal error on a stream it is watched again without a list.
        initial: how the objects are fetched: by a list in pages, or by a watch that begins with them (a streaming list). The
            stream saves the server memory, and us the second request; pages cost the least time of ours.
        stream_patience: so long may a streaming list be silent before its end mark; then it is listed. A server or proxy that
            does not know the mark would leave the source unsynced for ever.
        stream_attempts: so many streams in a row may end before their mark; then it is listed.
        absent_cap: greatest back-off while the API is not served.
        retry_after_cap: the longest `Retry-After` that is believed.
        backoff: the waits after failures.
    """

    initial: Initial = "list"
    stream_patience: float = 60.0
    stream_attempts: int = 3
    page_size: int = 500
    first_version: Literal["", "0"] = ""
    watch_timeout: tuple[float, float] = (300.0, 600.0)
    idle: float = 150.0
    short_watch: float = 1.0
    server_error_grace: float = 0.0
    absent_cap: float = 10.0
    retry_after_cap: float = 300.0
    backoff: BackoffOptions = field(default_factory=BackoffOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOptions:
    """What is different for one kind. `None`: as for every kind.

    Attributes:
        namespaces: which namespaces are followed; empty for all.
        except_namespaces: all namespaces but these.
        label_selector: only objects that match, beside what programs ask for.
        field_selector: the same with fields; the server must know them for that kind.
        initial: how its objects are fetched.
    """

    namespaces: tuple[str, ...] | None = None
    except_namespaces: tuple[str, ...] | None = None
    label_selector: str = ""
    field_selector: str = ""
    initial: Initial | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        _one_of("namespaces", self.namespaces, "except_namespaces", self.except_namespaces)
        _parsed("label_selector", LabelSelector.parse, self.label_selector)
        _parsed("field_selector", FieldSelector.parse, self.field_selector)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """The bounds of a cache.

    Attributes:
        namespaces: which namespaces are followed; empty for all. Kinds of cluster scope are followed whole;
            where they may not be, optional ones read as empty then: no Role in a namespace could grant it.
        except_namespaces: all namespaces but these; instead of `namespaces`.
        kinds: what is different for single kinds, by their name as RBAC rules spell it: `pods`, `deployments.apps`.
        lists_at_once: how many lists, in pages or streaming, may be under way at the same time.
        own_writes: the most own writes of one informer that are kept until the watch has told them.
        batch: the most changes that a subscriber gets at once.
        slice_seconds: how long the cache keeps the loop before it gives it back; one step of less than a millisecond comes on
            top.
        memory_budget: bytes that all cached objects together should not exceed; a warning names the largest kinds when they do.
            0 for none.
        watcher: what governs listing and watching.
        remedy: says what to do about a kind that the cluster does not serve, e.g. the command that installs it.
    """

    namespaces: tuple[str, ...] = ()
    except_namespaces: tuple[str, ...] = ()
    kinds: Mapping[str, KindOptions] = field(default_factory=lambda: MappingProxyType({}))
    lists_at_once: int = 8
    own_writes: int = 10_000
    batch: int = 256
    slice_seconds: float = 0.004
    memory_budget: int = 0
    watcher: WatcherOptions = field(default_factory=WatcherOptions)
    remedy: Remedy = install_definition

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        _one_of("namespaces", self.namespaces, "except_namespaces", self.except_namespaces)
        for name in ("lists_at_once", "own_writes", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: must be at least 1, got {getattr(self, name)}")
        if self.memory_budget < 0:
            raise ValueError(f"memory_budget: must not be negative, got {self.memory_budget}")

    def beyond(self, kind: Kind[Any]) -> bool:
        """Whether a kind lies outside of the namespaces to which the cache keeps."""
        return bool(self.namespaces) and not kind.namespaced

    def of(self, kind: Kind[Any]) -> KindOptions:
        """What holds for one kind, every field decided but the selectors."""
        own = self.kinds.get(str(kind), KindOptions())
        namespaces, excluded = own.namespaces, own.except_namespaces
        if namespaces is None and excluded is None:
            namespaces, excluded = self.namespaces, self.except_namespaces
        if not kind.namespaced:
            namespaces = excluded = ()
        return replace(
            own,
            namespaces=tuple(dict.fromkeys(namespaces or ())),
            except_namespaces=tuple(sorted(set(excluded or ()))),
            initial=own.initial or self.watcher.initial,
        )


def _one_of(first: str, one: tuple[str, ...] | None, second: str, other: tuple[str, ...] | None) -> None:
    if one and other:
        raise ValueError(f"{second}: cannot be given together with {first}")
    for name, values in ((first, one), (second, other)):
        if values is not None and "" in values:
            raise ValueError(f"{name}: a namespace has a name; leave the list empty for all")


def _parsed(name: str, parse: Callable[[str], object], text: str) -> None:
    try:
        parse(text)
    except InvalidSelector as error:
        raise ValueError(f"{name}: {error}") from error
