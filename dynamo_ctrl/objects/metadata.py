"""Object metadata, decoded once when an object enters the process."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from msgspec import UNSET, Raw, Struct, UnsetType, field

_NONE: Mapping[str, str] = MappingProxyType({})


class OwnerReference(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """One entry of `metadata.ownerReferences`."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None

    @property
    def group(self) -> str:
        """The API group; the version does not take part when owners are compared."""
        group, slash, _ = self.api_version.rpartition("/")
        return group if slash else ""


class Metadata(Struct, frozen=True, gc=False, rename="camel"):
    """The typed metadata of an object. Missing values are empty, never `None`, except for the two times."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    generate_name: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    managed_fields: Raw | UnsetType = UNSET
    """The text of the field owners, where it was kept. The cache drops it."""
    _labels: dict[str, str] | None = field(default=None, name="labels")
    _annotations: dict[str, str] | None = field(default=None, name="annotations")

    @property
    def labels(self) -> Mapping[str, str]:
        """Read-only view of the labels."""
        return MappingProxyType(self._labels) if self._labels else _NONE

    @property
    def annotations(self) -> Mapping[str, str]:
        """Read-only view of the annotations."""
        return MappingProxyType(self._annotations) if self._annotations else _NONE

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that controls the object, if any."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None
