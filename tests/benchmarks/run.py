"""A run: the scenes in their order, the experiments of each round robin, inside one budget."""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

from envtest import EnvtestError
from tests.benchmarks.data import Served, find_data
from tests.benchmarks.experiments import EXPERIMENTS
from tests.benchmarks.plan import Experiment, Line, Place, Way
from tests.benchmarks.process import Answer, MeasurementFailed
from tests.benchmarks.programs import Library, Programs
from tests.benchmarks.scenes import SCENES, Scene, WrongScene
from tests.benchmarks.server import at_kubeconfig, cluster

MINUTES: Final = 44.0
"""For a whole run with everything built. What has not begun by then is left out, and is told."""

FAILURES: Final = 2
"""After so many failures in one experiment a way is not tried again there."""

Progress = Callable[[str], None]


@dataclass
class Outcome:
    """What came of a run.

    Attributes:
        answers: by experiment and way, in the order of the rounds.
        failures: what went wrong, for people.
    """

    answers: dict[tuple[str, str], list[Answer]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)


def needed(lines: Iterable[Line]) -> tuple[Experiment, ...]:
    """The experiments that those lines are made of."""
    names = {name for line in lines for name in (line.experiment, *(a.experiment for a in line.against)) if name}
    return tuple(experiment for experiment in EXPERIMENTS if experiment.name in names)


def libraries(experiments: Iterable[Experiment]) -> set[Library]:
    """Whose programs they need. The one of controller-runtime also seeds the server."""
    every = {way.library for experiment in experiments for way in experiment.ways}
    return every | {Library.CONTROLLER_RUNTIME}


class Run:
    """Carries experiments out.

    Args:
        programs: of the libraries that take part.
        progress: told of every step.
        deadline: of the monotonic clock; no measurement begins after it.
    """

    def __init__(self, programs: Programs, progress: Progress, deadline: float) -> None:
        self.outcome = Outcome()
        self._programs = programs
        self._progress = progress
        self._deadline = deadline

    def carry_out(self, experiments: tuple[Experiment, ...], kubeconfig: Path | None = None) -> None:
        """All of them, on servers of our own or on that of `kubeconfig`."""
        by_scene = {scene: [each for each in experiments if each.scene == scene] for scene in SCENES}
        for large, scenes in groupby((scene for scene in SCENES if by_scene[scene]), key=lambda scene: scene.large):
            with ExitStack() as stack:
                serve = functools.partial(self._serve, stack, kubeconfig, large=large)
                self._scenes({scene: by_scene[scene] for scene in scenes}, serve)

    def _scenes(self, by_scene: Mapping[Scene, Sequence[Experiment]], serve: Callable[[], Served]) -> None:
        """Play those scenes on one server."""
        served: Served | None = None
        for scene, experiments in by_scene.items():
            place = Place(self._programs, {})
            try:
                if scene.served:
                    served = served or serve()
                    served.seeder.reach(scene)
                    place = Place(self._programs, served.environment)
            except (EnvtestError, MeasurementFailed, WrongScene, OSError) as error:
                self._failed(f"scene {scene.name!r}: {error}")
                continue
            self._play(scene, experiments, place)

    def _serve(self, stack: ExitStack, kubeconfig: Path | None, *, large: bool) -> Served:
        peerbench = self._programs.commands.get(Library.CONTROLLER_RUNTIME)
        if peerbench is None:
            raise MeasurementFailed("the program that seeds the server could not be built")
        if kubeconfig is not None:
            return Served(at_kubeconfig(kubeconfig), kubeconfig, peerbench, self._progress)
        self._progress("bench: starting etcd and kube-apiserver")
        data = find_data(peerbench, self._progress) if large else None
        running = stack.enter_context(cluster(self._progress, data))
        return Served(running.api, running.kubeconfig, peerbench, self._progress)

    def _play(self, scene: Scene, experiments: Iterable[Experiment], place: Place) -> None:
        self._progress(f"bench: {scene.name}")
        for experiment in experiments:
            patience = {way: FAILURES for way in experiment.ways if way.library in self._programs.commands}
            if experiment.warm_up and patience:
                self._take(experiment, next(iter(patience)), place, "warm-up")
            for number in range(1, experiment.rounds + 1):
                for way, left in patience.items():
                    if not left:
                        continue
                    answer = self._take(experiment, way, place, f"{number} of {experiment.rounds}")
                    if answer is None:
                        patience[way] -= 1
                    else:
                        self.outcome.answers[experiment.name, way.name].append(answer)

    def _take(self, experiment: Experiment, way: Way, place: Place, which: str) -> Answer | None:
        what = f"{experiment.name}: {way.name}, {which}"
        if time.monotonic() > self._deadline:
            self._failed(f"{what}: left out, the time of the run was over")
            return None
        began = time.monotonic()
        try:
            answer = experiment.take(place, way, experiment.timeout)
        except MeasurementFailed as failure:
            self._failed(f"{what}: {failure}")
            return None
        self._progress(f"bench: {what} ({time.monotonic() - began:.1f} s)")
        return answer

    def _failed(self, what: str) -> None:
        self.outcome.failures.append(what)
        self._progress(f"bench: FAILED {what}")
