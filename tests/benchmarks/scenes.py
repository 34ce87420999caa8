"""What is on the server while something is measured, and how it gets there.

The scenes are in the order in which they are played. Each adds to the one before, so that a server is seeded once; a scene that
nothing is measured in is passed over. The large scenes have a server of their own, whose data are kept in the cache folder:
their seeding takes longer than everything that is measured in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from envtest import Api, ApiError
from tests.benchmarks.process import take

SEED_TIMEOUT: Final = 900.0
"""Seconds for one round of seeding; 90,000 Pods take six minutes on two cores."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """How many objects of each kind there are, at least.

    Attributes:
        name: for people.
        motes, pods, widgets: so many; `None` when there is no server at all.
        managed: the Pods carry managedFields.
        large: it is played on the server of the large scenes.
    """

    name: str
    motes: int | None = 0
    pods: int | None = 0
    widgets: int | None = 0
    managed: bool = False
    large: bool = False

    @property
    def served(self) -> bool:
        """Whether there is a server."""
        return self.pods is not None


NOTHING: Final = Scene(name="no server", motes=None, pods=None, widgets=None)
MANAGED: Final = Scene(name="10,000 Pods with managedFields", pods=10_000, managed=True)
PODS_10K: Final = Scene(name="10,000 Pods", pods=10_000)
WIDGETS_2K: Final = Scene(name="2,000 widgets", widgets=2_000)
WIDGETS_10K: Final = Scene(name="10,000 widgets", widgets=10_000)
MOTES_10K: Final = Scene(name="10,000 motes", motes=10_000)
PODS_100K: Final = Scene(name="100,000 Pods", pods=100_000, large=True)
MOTES_4K: Final = Scene(name="4,000 motes", motes=4_000, large=True)

SCENES: Final = (NOTHING, MANAGED, PODS_10K, WIDGETS_2K, WIDGETS_10K, MOTES_10K, PODS_100K, MOTES_4K)

PATHS: Final[Mapping[str, str]] = {
    "mote": "/apis/bench.example.com/v1/motes",
    "widget": "/apis/bench.example.com/v1/widgets",
    "pod": "/api/v1/pods",
}


class WrongScene(Exception):
    """The server has more than the scene: what is measured would be something else."""


class Seeder:
    """Brings a server from one scene to the next.

    Args:
        api: the server.
        environment: leads the seeding program to it.
        peerbench: that program.
        progress: told of what takes long.
    """

    def __init__(
        self, api: Api, environment: Mapping[str, str], peerbench: tuple[str, ...], progress: Callable[[str], None]
    ) -> None:
        self._api = api
        self._environment = environment
        self._peerbench = peerbench
        self._progress = progress

    def reach(self, scene: Scene) -> None:
        """Make the scene. Raises `WrongScene`, and `MeasurementFailed` when the seeding fails."""
        if self._count("mote") is None:
            self._seed("setup")
        for kind, wanted in (("mote", scene.motes), ("widget", scene.widgets), ("pod", scene.pods)):
            self._bring(kind, wanted or 0, managed=scene.managed)

    def _bring(self, kind: str, wanted: int, *, managed: bool) -> None:
        there = self._count(kind) or 0
        if there > wanted > 0:
            raise WrongScene(f"the server has {there:,} {kind}s already, and {wanted:,} are to be measured")
        if there and wanted and kind == "pod" and not managed and self._managed():
            self._seed(kind, "-to", str(there), "-strip")
        if there and kind == "pod" and managed and not self._managed():
            raise WrongScene("the managedFields of the server's Pods are stripped already")
        if there < wanted:
            self._seed(kind, "-from", str(there), "-to", str(wanted), *(["-managed"] if managed else []))

    def _count(self, kind: str) -> int | None:
        """How many there are; `None` where the kind is not served."""
        try:
            page = self._api.get(f"{PATHS[kind]}?limit=1")
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return len(page["items"]) + (page["metadata"].get("remainingItemCount") or 0)

    def _managed(self) -> bool:
        first: dict[str, Any] = self._api.get(f"{PATHS['pod']}?limit=1")["items"][0]
        return "managedFields" in first["metadata"]

    def _seed(self, kind: str, *flags: str) -> None:
        what = "kinds" if kind == "setup" else f"{kind}s {' '.join(flags)}"
        self._progress(f"bench: seeding {what}")
        take([*self._peerbench, "seed", "-kind", kind, *flags], self._environment, SEED_TIMEOUT)
