"""`data_plane`: the programs that play what a cluster runs beside its API server."""

from __future__ import annotations

from dynamo_ctrl.program.registry import DATA_PLANES, load_programs


def data_plane() -> tuple[object, ...]:
    """New programs that roll Deployments, make Pods and let them live, to be added to a manager on the embedded engine.

    They are whatever is installed under the entry point group `dynamo_ctrl.data_planes`; this distribution brings those of
    Deployments, ReplicaSets, Pods, PersistentVolumeClaims and LeaderWorkerSets. Raises as `load_programs`.
    """
    return tuple(loaded.program for loaded in load_programs(group=DATA_PLANES))
