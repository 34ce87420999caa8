"""The coordination group: leases."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class LeaseSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Who holds a lease, since when, and for how long without a renewal."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(Object[LeaseSpec, None]):
    """coordination.k8s.io/v1 Lease."""


LEASE = Kind(
    Lease, group="coordination.k8s.io", version="v1", kind="Lease", plural="leases", status_subresource=False
)  # fmt: skip
