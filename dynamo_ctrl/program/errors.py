"""What can fail in a program, apart from the answers of a server (`dynamo_ctrl.engine.errors`)."""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.objects.object import Object


class OwnershipConflict(Exception):
    """An object with the right name is not controlled by the expected parent (G 2.7). It was not touched.

    Attributes:
        live: the object that is in the way.
    """

    def __init__(self, message: str, *, live: Object[Any, Any]) -> None:
        self.live = live
        super().__init__(message)


class Refusal(Exception):
    """A program said no (`Refuse`) and named no error of its own."""


class ProgramFault(Exception):
    """A program broke its contract: a step's name used twice, a provider that nobody installed, progress without end."""


class DefinitionError(ValueError):
    """Programs that do not fit together: names, providers or watches contradict each other."""


class UnknownProgram(DefinitionError):
    """A program was asked for by a name that no installed distribution offers.

    Attributes:
        name: what was asked for.
        installed: what is there.
    """

    def __init__(self, name: str, installed: tuple[str, ...]) -> None:
        self.name = name
        self.installed = installed
        super().__init__(f"unknown program {name!r}; installed: {', '.join(installed) or 'none'}")


class NotAProgram(DefinitionError):
    """An entry point (or an argument) that is not a program.

    Attributes:
        where: the entry point or the object that is meant.
    """

    def __init__(self, where: str, expected: str, got: str) -> None:
        self.where = where
        super().__init__(f"{where}: expected {expected}, got {got}")
