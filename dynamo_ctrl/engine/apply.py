"""Writing objects as `kubectl apply` is used: created if they are missing, merged into what is there, definitions first.

Contract: a field that an object does not name stays as it is: without server-side apply nobody knows who set it. A field that the
kind does not have is refused: the server would drop it, and something else would run. A definition is waited for until the server
serves it, so that objects of its kind may follow in the same call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from dynamo_ctrl.engine.errors import AlreadyExists
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch

ESTABLISH_ATTEMPTS: Final = 100
"""How often a new definition is looked at until the server serves it; with the pause below, ten seconds."""

ESTABLISH_PAUSE: Final = 0.1
"""Seconds between two looks."""

Sleep = Callable[[float], Awaitable[None]]

AnyObject = Object[Any, Any]


class NotEstablished(Exception):
    """A definition that the server has stored and does not serve.

    Attributes:
        name: the definition.
        reason: why, as far as the server says it.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name}: {reason}")


async def apply(engine: Engine, *objects: AnyObject, sleep: Sleep = asyncio.sleep) -> tuple[AnyObject, ...]:
    """Apply all of them, definitions first; returns them as the server answered, in the order in which they were written.

    Args:
        engine: where to.
        sleep: waits that many seconds.

    Raises:
        InvalidObject: an object of a namespaced kind without `metadata.namespace`; nothing has been written then.
        NotEstablished: the server does not serve a definition in time.
        EngineError: what the server says to an object; those before it are written.
    """
    for obj in objects:
        if obj.kind.namespaced and not obj.metadata.namespace:
            raise InvalidObject(f"{obj.kind.kind} {obj.key}", "metadata.namespace", "must be set")
    done = [await write(engine, obj) for obj in objects if obj.kind == CUSTOM_RESOURCE_DEFINITION]
    for definition in done:
        await established(engine, definition, sleep)
    return (*done, *[await write(engine, obj) for obj in objects if obj.kind != CUSTOM_RESOURCE_DEFINITION])


async def write(engine: Engine, obj: AnyObject) -> AnyObject:
    """Create the object, or merge it into the one that is there. Raises `EngineError`."""
    kind = obj.kind
    try:
        raw = await engine.create(kind, obj.metadata.namespace, obj.raw, strict=True)
    except AlreadyExists:
        raw = await engine.patch(kind, obj.key, Patch.merge(obj.content()), strict=True)
    written: AnyObject = kind.decode(raw)
    return written


async def established(engine: Engine, definition: AnyObject, sleep: Sleep) -> None:
    """Returns when the server serves what that definition defines. Raises `NotEstablished`, `EngineError`."""
    for _ in range(ESTABLISH_ATTEMPTS):
        live = CUSTOM_RESOURCE_DEFINITION.decode(await engine.get(CUSTOM_RESOURCE_DEFINITION, definition.key))
        states = {condition.type: condition for condition in live.status.conditions}
        refused = states.get("NamesAccepted")
        if refused is not None and refused.status == "False":
            raise NotEstablished(definition.metadata.name, refused.message)
        if "Established" in states and states["Established"].status == "True":
            return
        await sleep(ESTABLISH_PAUSE)
    raise NotEstablished(definition.metadata.name, "the server did not establish the definition in time")
