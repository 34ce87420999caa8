"""`Roster`: the programs of a manager and the controllers that drive them.

Before the start programs are only collected, since those that share a primary kind become one controller. After it a program
starts a controller of its own at once, or is refused if it would have to change one that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from dynamo_ctrl.controller.answer import Reconcile
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.manager.errors import AlreadyStarted
from dynamo_ctrl.program.definition import Definition, check, definitions, describe


class Roster:
    """Who works in a manager.

    Args:
        hire: makes the controller of a definition and the reconcile that it drives.
        launch: sets the controller to work.
    """

    def __init__(
        self,
        hire: Callable[[Definition], tuple[Controller, Reconcile]],
        launch: Callable[[Controller, Reconcile], None],
    ) -> None:
        self._hire = hire
        self._launch = launch
        self._programs: list[object] = []
        self._definitions: dict[str, Definition] = {}
        self._controllers: dict[str, Controller] = {}
        self._open = False

    @property
    def controllers(self) -> tuple[Controller, ...]:
        """The controllers, in the order in which they were defined; none before `open`."""
        return tuple(self._controllers.values())

    @property
    def programs(self) -> tuple[object, ...]:
        """The programs, in the order in which they were added."""
        return tuple(self._programs)

    def add(self, program: object) -> None:
        """Take a program.

        Raises:
            NotAProgram: it does not have the shape of one.
            DefinitionError: it contradicts the others (known before `open` only then).
            AlreadyStarted: it would change a controller that runs.
        """
        check(program, describe(program))
        if self._open:
            self._define([*self._programs, program])
        self._programs.append(program)

    def open(self) -> None:
        """Make the controllers of everything so far. Raises `DefinitionError`."""
        self._define(self._programs)
        self._open = True

    def close(self) -> None:
        """Give back what the controllers hold."""
        for controller in self._controllers.values():
            controller.close()

    def readiness(self) -> Iterator[tuple[str, str | None]]:
        """For every source of every controller, as `controller/kind`: why it is not ready, or `None`."""
        for controller in self._controllers.values():
            reasons = controller.reasons
            for kind in controller.sources:
                yield f"{controller.name}/{kind}", reasons.get(kind)

    async def synced(self) -> None:
        """Returns when every controller that there is now has seen its initial objects."""
        for controller in self.controllers:
            await controller.synced()

    def _define(self, programs: Iterable[object]) -> None:
        found = definitions(programs)
        for definition in found:
            known = self._definitions.get(definition.name)
            if known is not None and known.providers != definition.providers:
                raise AlreadyStarted(
                    f"the controller {definition.name!r} runs; its providers must be added before the start"
                )
        for definition in found:
            if definition.name not in self._definitions:
                controller, reconcile = self._hire(definition)
                self._definitions[definition.name] = definition
                self._controllers[definition.name] = controller
                self._launch(controller, reconcile)
