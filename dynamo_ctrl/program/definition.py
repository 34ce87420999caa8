"""`Definition`: the programs that together drive one controller.

A plain program is a definition of its own. Programs that name a `provider` share their primary kind with a selecting one, which
chooses between them for each primary; together they are one definition, under the selecting program's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.controller.builder import Watches
from dynamo_ctrl.controller.predicate import any_of
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.program.errors import DefinitionError, NotAProgram, ProgramFault
from dynamo_ctrl.program.program import AnyProgram, Defines, Finalizes, Selects


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One controller's worth of programs.

    Attributes:
        name: the controller's name.
        watches: what all of them watch, read and index.
        program: the one program of a kind that is not shared.
        selector: chooses between `providers`.
        providers: the programs by the provider that they serve.
    """

    name: str
    watches: Watches[Any]
    program: AnyProgram | None = None
    selector: Selects[Any, Any] | None = None
    providers: Mapping[str, AnyProgram] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def kind(self) -> Kind[Any]:
        """The primary kind."""
        return self.watches.primary.kind

    @property
    def finalizers(self) -> tuple[Finalizes[Any], ...]:
        """Everybody who must act before a primary goes, in order: the selecting program, then the others by provider."""
        members: tuple[Any, ...] = (
            self.program,
            self.selector,
            *(self.providers[name] for name in sorted(self.providers)),
        )
        return tuple(member for member in members if isinstance(member, Finalizes))

    def serving(self, provider: str) -> AnyProgram:
        """The program of that provider. Raises `ProgramFault` when nobody serves it."""
        if provider not in self.providers:
            raise ProgramFault(
                f"{self.name} selected the provider {provider!r}; installed: {', '.join(sorted(self.providers)) or 'none'}"
            )
        return self.providers[provider]


def definitions(programs: Iterable[object]) -> tuple[Definition, ...]:
    """Group programs into controllers, in the order in which their names came.

    Raises:
        NotAProgram: something lacks a name, watches, or both `reconcile` and `select`.
        DefinitionError: two programs with one name, two selecting programs for one kind, a provider twice or without a
            selecting program, a finalizer twice, watches that contradict each other.
    """
    everyone: Sequence[Any] = tuple(programs)
    for member in everyone:
        check(member, describe(member))
    names = [member.name for member in everyone]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"two programs are called {name!r}")
    selectors: dict[Kind[Any], Any] = {}
    providers: dict[Kind[Any], dict[str, Any]] = {}
    for member in everyone:
        kind = member.watches.primary.kind
        if isinstance(member, Selects):
            if kind in selectors:
                raise DefinitionError(f"{selectors[kind].name} and {member.name} both select the provider of {kind}")
            selectors[kind] = member
        elif hasattr(member, "provider"):
            others = providers.setdefault(kind, {})
            if member.provider in others:
                first = others[member.provider].name
                raise DefinitionError(
                    f"{first} and {member.name} both serve the provider {member.provider!r} of {kind}"
                )
            others[member.provider] = member
    for kind, orphans in providers.items():
        if kind not in selectors:
            listed = ", ".join(f"{program.name} ({provider})" for provider, program in orphans.items())
            raise DefinitionError(f"no program selects the provider of {kind}; these wait for it: {listed}")
    found = []
    for member in everyone:
        if isinstance(member, Selects):
            found.append(_shared(member, providers.get(member.watches.primary.kind, {})))
        elif not hasattr(member, "provider"):
            found.append(Definition(name=member.name, watches=member.watches, program=member))
    for definition in found:
        _check_finalizers(definition)
    return tuple(found)


def custom_resources(programs: Iterable[object]) -> tuple[JsonMap, ...]:
    """The CustomResourceDefinitions that the programs bring, each once, ordered by name."""
    found = {
        document["metadata"]["name"]: document
        for program in programs
        if isinstance(program, Defines)
        for document in program.definitions()
    }
    return tuple(found[name] for name in sorted(found))


def describe(member: object) -> str:
    """How errors call a program that may lack a name."""
    named = member if isinstance(member, type) else type(member)
    return f"{named.__module__}.{named.__qualname__}"


def check(member: object, where: str) -> None:
    """Raises `NotAProgram`, with `where` in its text, unless `member` has the shape of a program."""
    name = getattr(member, "name", None)
    if isinstance(member, type):
        raise NotAProgram(where, "a program or a zero-argument factory of one", f"the class {describe(member)} itself")
    if not isinstance(name, str) or not name:
        raise NotAProgram(where, "a program with a non-empty `name`", repr(name))
    if not isinstance(getattr(member, "watches", None), Watches):
        raise NotAProgram(where, "`watches` built with watching(KIND)", repr(getattr(member, "watches", None)))
    acts = [ability for ability in ("reconcile", "select") if callable(getattr(member, ability, None))]
    if len(acts) != 1:
        raise NotAProgram(where, "exactly one of `reconcile` and `select`", " and ".join(acts) or "neither")
    if hasattr(member, "provider") and not (isinstance(member.provider, str) and member.provider):
        raise NotAProgram(where, "a non-empty `provider`", repr(member.provider))


def _shared(selector: Any, providers: Mapping[str, Any]) -> Definition:
    watches: Watches[Any] = selector.watches
    for name in sorted(providers):
        watches = _joined(watches, providers[name].watches, providers[name].name)
    return Definition(
        name=selector.name, watches=watches, selector=selector, providers=MappingProxyType(dict(providers))
    )


def _joined(ours: Watches[Any], theirs: Watches[Any], who: str) -> Watches[Any]:
    mine, other = ours.primary, theirs.primary
    for what in ("label_selector", "project"):
        value = getattr(other, what)
        if value and value != getattr(mine, what):
            raise DefinitionError(
                f"{who} watches its primary {mine.kind} with another {what} than the selecting program"
            )
    when = mine.when if mine.when == other.when else any_of(mine.when, other.when)
    primary = replace(mine, when=when)
    others = (*ours.others, *(watch for watch in theirs.others if watch not in ours.others))
    indexes: list[Index[Any]] = list(ours.indexes)
    for index in theirs.indexes:
        same = next((i for i in indexes if (i.kind, i.name) == (index.kind, index.name)), None)
        if same is None:
            indexes.append(index)
        elif same.values is not index.values:
            raise DefinitionError(f"{who} declares another {index!r} than the programs that it shares its primary with")
    return Watches(primary=primary, others=others, indexes=tuple(indexes))


def _check_finalizers(definition: Definition) -> None:
    names = [member.finalizer for member in definition.finalizers]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"{definition.name}: two of its programs keep the finalizer {name!r}")
