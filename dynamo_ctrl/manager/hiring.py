"""`Hiring`: how a definition becomes a controller that works in a manager.

What it writes through is guarded by its own lease; what it watches is followed before that lease is won.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.answer import Reconcile
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.manager.debug import DebugPages
from dynamo_ctrl.manager.electorate import Electorate
from dynamo_ctrl.manager.events import EventRecorder
from dynamo_ctrl.manager.groups import Order, Runnable
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.manager.stages import Stages
from dynamo_ctrl.program.definition import Definition
from dynamo_ctrl.program.outer import Outer


@dataclass(frozen=True, slots=True)
class Opened:
    """What is there while a manager is open.

    Attributes:
        engine: as it is, without a guard.
        cache: over it.
        recorder: of events.
    """

    engine: Engine
    cache: Cache
    recorder: EventRecorder


class Hiring:
    """Makes the controllers of one manager.

    Args:
        options: of each of them.
        opened: what they work with; asked for when one is made.
        electorate: says which lease a controller needs.
        stages: where they run.
        debug: tells about them.
        clock: the time.
        log: a structlog logger.
    """

    def __init__(
        self,
        options: ManagerOptions,
        *,
        opened: Callable[[], Opened],
        electorate: Electorate,
        stages: Stages,
        debug: DebugPages,
        clock: Clock,
        log: FilteringBoundLogger,
    ) -> None:
        self._options = options
        self._opened = opened
        self._electorate = electorate
        self._stages = stages
        self._debug = debug
        self._clock = clock
        self._log = log

    def hire(self, definition: Definition) -> tuple[Controller, Reconcile]:
        """The controller of that definition, and the reconcile that it drives. Raises `ValueError`, see `Controller`."""
        opened = self._opened()
        controller = Controller(
            name=definition.name,
            watches=definition.watches,
            cache=opened.cache,
            clock=self._clock,
            options=self._options.for_controller(definition.name),
            log=self._log,
        )
        outer = Outer(
            definition,
            engine=self._electorate.guarded(opened.engine, self._electorate.lease_of(definition.name)),
            view=controller.view,
            written=controller.written,
            recorder=opened.recorder,
            clock=self._clock,
            log=self._log,
        )
        controller.owns_status = lambda: outer.owns_status
        self._debug.attach(controller, outer.traces)
        return controller, outer.reconcile

    def launch(self, controller: Controller, reconcile: Reconcile) -> None:
        """Set it to work: with its group, or at once if that runs. Raises `Stopping`."""
        name = f"controller {controller.name}"
        if controller.options.warm_up:
            self._stages.add(Runnable(name=f"{name}: sources", run=controller.warm_up), Order.WARMUP)
        work = Runnable(name=name, run=partial(controller.work, reconcile))
        self._stages.add(work, Order.LEADER, self._electorate.lease_of(controller.name))
