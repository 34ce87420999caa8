"""What is written on the new ReplicaSet of a Deployment: its annotations and its revision.

The revision is kept on ReplicaSets only. The real controller also copies it to the Deployment, in the same request as the
status; a program has no such write, and an ordinary one would move the Deployment's generation.
"""

from __future__ import annotations

from typing import Final

from data_plane.annotations import DESIRED_REPLICAS, MAX_REPLICAS, REVISION, REVISION_HISTORY
from data_plane.bounds import Bounds
from data_plane.family import Family, latest_revision, noted
from dynamo_ctrl.objects.builtin.apps import Deployment

HISTORY_LIMIT: Final = 2000
"""Characters of the revision history; the oldest are forgotten first."""

_OWN: Final = frozenset({
    REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS,
    "kubectl.kubernetes.io/last-applied-configuration", "deprecated.deployment.rollback.to",
})  # fmt: skip


def books(bounds: Bounds) -> dict[str, str]:
    """The annotations that remember for which Deployment a ReplicaSet was sized."""
    return {DESIRED_REPLICAS: str(bounds.replicas), MAX_REPLICAS: str(bounds.most)}


def new_annotations(deployment: Deployment, family: Family) -> dict[str, str]:
    """The annotations that the new ReplicaSet must have: those of the Deployment, and a revision above all old ones.

    A ReplicaSet that comes back (a rollback) gets a new revision, and remembers the ones it had.
    """
    wanted = {name: value for name, value in deployment.metadata.annotations.items() if name not in _OWN}
    revision = latest_revision(family.old) + 1
    before = noted(family.new, REVISION) if family.new is not None else None
    if before is None or before < revision:
        wanted[REVISION] = str(revision)
    if family.new is not None and before is not None and before < revision:
        history = family.new.metadata.annotations.get(REVISION_HISTORY, "")
        wanted[REVISION_HISTORY] = _remembered([*filter(None, history.split(",")), str(before)])
    return wanted


def _remembered(revisions: list[str]) -> str:
    while len(",".join(revisions)) > HISTORY_LIMIT:
        revisions = revisions[1:]
    return ",".join(revisions)
