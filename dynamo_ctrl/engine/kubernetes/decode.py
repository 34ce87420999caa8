"""The two envelopes of the API: a watch event and a list. What they hold is cut out, never decoded.

Contract: the bytes of an object are an independent copy; nothing keeps the page or the network data alive that it came in.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dynamo_ctrl.engine.errors import MalformedAnswer
from dynamo_ctrl.engine.port import EventType, Page, Resource, WatchEvent

TYPES: Final[tuple[EventType, ...]] = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")

_PREFIXES: Final = tuple((f'{{"type":"{name}","object":'.encode(), name) for name in TYPES)
_BY_LETTER: Final = {prefix[9:10]: (prefix, name) for prefix, name in _PREFIXES}


class _Event(msgspec.Struct):
    type: EventType
    object: msgspec.Raw


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _List(msgspec.Struct):
    metadata: _ListMeta = _ListMeta()
    items: list[msgspec.Raw] | None = None
    kind: str = ""


_EVENT: Final = msgspec.json.Decoder(_Event)
_LIST: Final = msgspec.json.Decoder(_List)


def event(line: bytes) -> WatchEvent:
    """The event on a line of a watch.

    An API server spells every event `{"type":"...","object":{...}}`: that is cut open without a look at the object, whose faults
    are then found, and told with its key, by whoever decodes it. Any other spelling is parsed.

    Raises:
        MalformedAnswer: not a watch event.
    """
    prefix, name = _BY_LETTER.get(line[9:10], _PREFIXES[0])
    if line.startswith(prefix) and line[len(prefix) : len(prefix) + 1] == b"{" and line.endswith(b"}}"):
        return WatchEvent(name, line[len(prefix) : -1])
    try:
        parsed = _EVENT.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedAnswer(f"not a watch event: {line[:80].decode(errors='replace')!r} ({error})") from error
    return WatchEvent(parsed.type, bytes(parsed.object))


def page(body: bytes) -> Page:
    """The page that a list was answered with.

    Raises:
        MalformedAnswer: not a list.
    """
    try:
        parsed = _LIST.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedAnswer(f"not a list: {body[:80].decode(errors='replace')!r} ({error})") from error
    if parsed.kind and not parsed.kind.endswith("List"):
        raise MalformedAnswer(f"expected a list, found a {parsed.kind}")
    meta = parsed.metadata
    items = [bytes(item) for item in parsed.items or ()]
    return Page(items, meta.resource_version, meta.continue_, meta.remaining_item_count)


class _Resource(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool = False
    verbs: tuple[str, ...] = ()


class _ResourceList(msgspec.Struct):
    resources: list[_Resource] | None = None


def resources(group: str, version: str, body: bytes) -> tuple[Resource, ...]:
    """The resources of one group version, each with its subresources. Raises `MalformedAnswer`."""
    try:
        found = msgspec.json.decode(body, type=_ResourceList).resources or []
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedAnswer(f"not a resource list: {error}") from error
    subresources: dict[str, list[str]] = {}
    for entry in found:
        plural, slash, subresource = entry.name.partition("/")
        if slash:
            subresources.setdefault(plural, []).append(subresource)
    return tuple(
        Resource(
            group=group,
            version=version,
            plural=entry.name,
            kind=entry.kind,
            namespaced=entry.namespaced,
            verbs=entry.verbs,
            subresources=tuple(subresources.get(entry.name, ())),
        )
        for entry in found
        if "/" not in entry.name
    )
