"""`Intake`: from the JSON text that the server sent to the object that the cache keeps.

An object that cannot be read is counted and logged once with its key (as far as that can be read), and never enters.
"""

from __future__ import annotations

from asyncio import CancelledError
from typing import Any, Final, Generic, TypeVar

import msgspec
import structlog
from msgspec import UNSET
from msgspec.structs import force_setattr

from dynamo_ctrl.cache.index import Where
from dynamo_ctrl.cache.projection import Projection, TextProjection, cut_managed_fields, everything
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.metadata import Metadata
from dynamo_ctrl.objects.object import Object

log = structlog.get_logger()

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

SHARED_VALUES: Final = 50_000
"""How many distinct values are shared between objects; then sharing begins anew."""

LOGGED_KEYS: Final = 1_000
"""How many unreadable objects are logged one by one; further ones are only counted."""


class _Named(msgspec.Struct):
    metadata: dict[str, Any]


_NAMED = msgspec.json.Decoder(_Named)


class Intake(Generic[O]):
    """Reads the objects of one kind.

    Attributes:
        malformed: how many objects could not be read.
    """

    def __init__(self, kind: Kind[O], projection: Projection | None = None) -> None:
        self._kind = kind
        self._projection = projection
        self._text = projection.text if isinstance(projection, TextProjection) else None
        self._shared: dict[Any, Any] = {}
        self._logged: set[str] = set()
        self.malformed = 0

    def read(self, raw: bytes) -> O | None:
        """The object to be kept; `None` if it cannot be read."""
        try:
            obj = self._decode(raw)
            if not obj.metadata.name:
                raise InvalidObject(str(self._kind), "metadata.name", "must not be empty")
            if self._kind.namespaced and not obj.metadata.namespace:
                raise InvalidObject(str(self._kind), "metadata.namespace", "must not be empty")
        except InvalidObject as error:
            self._report(raw, error)
            return None
        self._share(obj.metadata)
        return obj

    def own(self, obj: O) -> O | None:
        """An object that we wrote ourselves, as the watch will bring it: with the same projection. `None` as for `read`."""
        whole = self._projection is everything or (self._projection is None and obj.metadata.managed_fields is UNSET)
        return obj if whole else self.read(obj.raw)

    @staticmethod
    def where(raw: bytes) -> Where | None:
        """The key of an object that cannot be read otherwise; `None` if not even that can be read."""
        try:
            metadata = _NAMED.decode(raw).metadata
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        namespace, name = metadata.get("namespace") or "", metadata.get("name")
        return (namespace, name) if isinstance(name, str) and name and isinstance(namespace, str) else None

    def _decode(self, raw: bytes) -> O:
        kind, projection = self._kind, self._projection
        if projection is None:
            obj = kind.decode(raw)
            metadata = obj.metadata
            if metadata.managed_fields is not UNSET:
                text = cut_managed_fields(raw, metadata.managed_fields)
                force_setattr(metadata, "managed_fields", UNSET)
                return kind.model(kind, text, metadata)
            return obj
        if projection is everything:
            return kind.decode(raw)
        try:
            if self._text is not None:
                text = self._text(raw)
            else:
                kind.decode(raw)  # a projection need not expect anything but an object of its kind
                text = msgspec.json.encode(projection(msgspec.json.decode(raw)))
        except InvalidObject:
            raise
        except (Exception, CancelledError) as error:  # a projection is foreign code; it does not await
            raise InvalidObject(str(kind), "", f"the projection failed: {error!r}") from error
        return kind.decode(text)

    def _share(self, metadata: Metadata) -> None:
        """Let equal namespaces, label values and owners of many objects be the same Python objects (a tenth of the memory)."""
        shared = self._shared
        if len(shared) > SHARED_VALUES:
            shared.clear()
        namespace = metadata.namespace
        if namespace:
            same = shared.setdefault(namespace, namespace)
            if same is not namespace:
                force_setattr(metadata, "namespace", same)
        labels = metadata._labels  # noqa: SLF001  (not shared with anybody yet)
        if labels:
            for key, value in labels.items():
                labels[key] = shared.setdefault(value, value)
        owners = metadata.owner_references
        if owners:
            same_owners = shared.setdefault(owners, owners)
            if same_owners is not owners:
                force_setattr(metadata, "owner_references", same_owners)

    def _report(self, raw: bytes, error: InvalidObject) -> None:
        self.malformed += 1
        at = self.where(raw)
        name = "an object without a readable key" if at is None else "/".join(part for part in at if part)
        if name not in self._logged and len(self._logged) < LOGGED_KEYS:
            self._logged.add(name)
            log.warning("unreadable object is skipped", kind=str(self._kind), key=name, error=str(error))
