"""Programs that are installed: the entry point group `dynamo_ctrl.programs`.

An entry names a program, or a factory without arguments that makes one. Each `load_programs` makes new ones: two managers in
one process share nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, TypeVar

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.program.definition import Definition, check, custom_resources, definitions
from dynamo_ctrl.program.errors import DefinitionError, NotAProgram, UnknownProgram

T = TypeVar("T")

GROUP: Final = "dynamo_ctrl.programs"

DATA_PLANES: Final = "dynamo_ctrl.data_planes"
"""Entry points of programs that play what a real cluster runs by itself; only the memory engine needs them."""

__all__ = ["DATA_PLANES", "GROUP", "Definition", "Loaded", "definitions", "guarded", "installed", "load_programs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A program and where it came from.

    Attributes:
        program: the program itself.
        entry: the entry point's name.
        distribution: name and version of the distribution that brought it, as `dynamo-ctrl 0.1.0`.
    """

    program: Any
    entry: str
    distribution: str

    @property
    def name(self) -> str:
        """The program's own name."""
        name: str = self.program.name
        return name

    def __str__(self) -> str:
        return f"entry point {self.entry!r} of {self.distribution}"

    def definitions(self) -> tuple[JsonMap, ...]:
        """The CustomResourceDefinitions that the program brings. Raises `NotAProgram` when it cannot say them."""
        return guarded(
            str(self),
            "`definitions()` that returns CustomResourceDefinitions",
            lambda: custom_resources((self.program,)),
        )


def installed(group: str = GROUP) -> tuple[str, ...]:
    """The names of the group's entry points, sorted; nothing is imported."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def load_programs(names: Iterable[str] | None = None, *, group: str = GROUP) -> tuple[Loaded, ...]:
    """Import and make the installed programs, or only those entry points that `names` lists (in that order).

    Raises:
        UnknownProgram: a name that nobody installed.
        NotAProgram: an entry point that is no program, or whose import or factory raises.
        DefinitionError: two distributions bring an entry point of one name.
    """
    entries: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        if entry.name in entries and entries[entry.name] != entry:
            both = f"{_distribution(entries[entry.name])} and {_distribution(entry)}"
            raise DefinitionError(f"the program {entry.name!r} is brought by two distributions: {both}")
        entries[entry.name] = entry
    wanted = list(dict.fromkeys(names)) if names is not None else list(entries)
    for name in wanted:
        if name not in entries:
            raise UnknownProgram(name, tuple(entries))
    return tuple(_load(entries[name]) for name in wanted)


def guarded(where: str, expected: str, work: Callable[[], T], *, passing: tuple[type[Exception], ...] = ()) -> T:
    """What somebody else's code returns.

    Raises:
        NotAProgram: in one line, for whatever that code raises, an exit included; but for what is `passing`.
    """
    known: tuple[type[Exception], ...] = (NotAProgram, *passing)
    try:
        return work()
    except known:
        raise
    except (Exception, SystemExit) as error:
        raise NotAProgram(where, expected, " ".join(f"{type(error).__name__}: {error}".split())) from error


def _load(entry: EntryPoint) -> Loaded:
    where = f"entry point {entry.name!r} = {entry.value!r} of {_distribution(entry)}"
    found: Any = guarded(where, "an importable object", entry.load)
    if callable(found):
        found = guarded(where, "a factory without arguments that makes a program", found)
    guarded(where, "a program", lambda: check(found, where))
    return Loaded(program=found, entry=entry.name, distribution=_distribution(entry))


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unnamed distribution"
