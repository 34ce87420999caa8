"""`Claim`: what a Lease says about who leads, and the bodies that change it. Pure; the rules are `manager.election`'s.

Contract (R 3.8): a body is the lease as it was read last, with our fields laid over it. Labels, annotations and spec fields of
others stay, and its resourceVersion makes the write a compare-and-swap. Times are RFC 3339 in UTC with microseconds; they inform
readers, and nobody here computes with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from dynamo_ctrl.engine.errors import MalformedAnswer
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.key import Key

RELEASED_SECONDS = 1
"""The duration that a released lease tells."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A Lease as the server told it.

    Attributes:
        content: all of it. Never changed.
        holder: identity of who holds it; empty for nobody.
        seconds: how long it holds without a renewal, 0 where it does not say.
        transitions: how often it changed hands.
    """

    content: Mapping[str, Any]
    holder: str
    seconds: int
    transitions: int

    @classmethod
    def read(cls, raw: bytes) -> Claim:
        """The claim in that text. Raises `MalformedAnswer`."""
        try:
            content = msgspec.json.decode(raw, type=dict[str, Any])
            spec = content.get("spec") or {}
            return cls(
                content,
                spec.get("holderIdentity") or "",
                int(spec.get("leaseDurationSeconds") or 0),
                int(spec.get("leaseTransitions") or 0),
            )
        except (msgspec.MsgspecError, AttributeError, TypeError, ValueError) as error:
            raise MalformedAnswer(f"what came is no Lease: {error}") from error

    def renewed_since(self, other: Claim) -> bool:
        """Whether the record is another one than `other`; a change of labels alone is no renewal."""
        return self.content.get("spec") != other.content.get("spec")

    def taken(self, identity: str, seconds: float, labels: Mapping[str, str], wall: datetime) -> bytes:
        """The body with which `identity` takes the lease, or renews it if it holds it already."""
        spec: dict[str, Any] = {
            "holderIdentity": identity, "leaseDurationSeconds": math.ceil(seconds), "renewTime": rfc3339(wall),
        }  # fmt: skip
        if self.holder != identity:
            spec |= {"acquireTime": rfc3339(wall), "leaseTransitions": self.transitions + 1}
        return self._with({**(self.content.get("spec") or {}), **spec}, labels)

    def released(self, wall: datetime) -> bytes:
        """The body with which the holder gives the lease back: nobody may hold it for a second longer."""
        spec = {**(self.content.get("spec") or {}), "leaseDurationSeconds": RELEASED_SECONDS}
        spec.pop("holderIdentity", None)
        return self._with({**spec, "acquireTime": rfc3339(wall), "renewTime": rfc3339(wall)}, {})

    def _with(self, spec: Mapping[str, Any], labels: Mapping[str, str]) -> bytes:
        metadata = self.content.get("metadata") or {}
        if labels:
            metadata = {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}
        return msgspec.json.encode({**self.content, "metadata": metadata, "spec": spec})


def first(key: Key, identity: str, seconds: float, labels: Mapping[str, str], wall: datetime) -> bytes:
    """The body of a lease that does not exist yet, held by `identity`."""
    metadata: dict[str, Any] = {"name": key.name, "namespace": key.namespace}
    if labels:
        metadata["labels"] = dict(labels)
    spec = {
        "holderIdentity": identity,
        "leaseDurationSeconds": math.ceil(seconds),
        "acquireTime": rfc3339(wall),
        "renewTime": rfc3339(wall),
        "leaseTransitions": 0,
    }
    return msgspec.json.encode(
        {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}
    )


def rfc3339(wall: datetime) -> str:
    """The time as Kubernetes' MicroTime, whatever the process's time zone."""
    return wall.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
