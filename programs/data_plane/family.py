"""The ReplicaSets of one Deployment: the new one, the old ones, and the numbers written on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from data_plane.annotations import REVISION
from data_plane.template import same_template
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.apps import REPLICA_SET, Deployment, ReplicaSet

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Family:
    """What a Deployment owns, oldest first. `new` is the one whose template is the Deployment's, if it exists."""

    new: ReplicaSet | None
    old: tuple[ReplicaSet, ...]

    @classmethod
    def of(cls, deployment: Deployment, view: View) -> Family:
        """The ReplicaSets of `deployment`. If several have its template, the oldest is the new one."""
        owned = sorted(view.owned(REPLICA_SET, deployment), key=lambda rs: (created(rs), rs.metadata.name))
        template = deployment.spec.template
        new = next((rs for rs in owned if same_template(rs.spec.template, template)), None)
        return cls(new, tuple(rs for rs in owned if rs is not new))

    @property
    def all(self) -> tuple[ReplicaSet, ...]:
        """Old ones and the new one."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active(self) -> tuple[ReplicaSet, ...]:
        """Those that are to have Pods."""
        return tuple(rs for rs in self.all if size(rs))

    @property
    def only_active(self) -> ReplicaSet | None:
        """The one that is to have Pods, or the newest if none is; `None` if several are (or there is none at all)."""
        active = self.active
        if len(active) > 1:
            return None
        if active:
            return active[0]
        return self.new if self.new is not None else next(reversed(self.old), None)


def size(rs: ReplicaSet) -> int:
    """How many Pods it is to have."""
    return 1 if rs.spec.replicas is None else rs.spec.replicas


def created(rs: ReplicaSet) -> datetime:
    """When it was created."""
    return rs.metadata.creation_timestamp or LONG_AGO


def noted(rs: ReplicaSet, annotation: str) -> int | None:
    """The number in one of its annotations; `None` where there is none."""
    text = rs.metadata.annotations.get(annotation, "")
    return int(text) if text.isdecimal() else None


def latest_revision(sets: Iterable[ReplicaSet]) -> int:
    """The highest revision of `sets`; 0 without any."""
    return max((noted(rs, REVISION) or 0 for rs in sets), default=0)
