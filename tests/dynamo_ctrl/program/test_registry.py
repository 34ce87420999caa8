"""Which programs there are, and which fit together."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.predicate import created, deleted
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD
from dynamo_ctrl.program import registry
from dynamo_ctrl.program.errors import DefinitionError, NotAProgram, UnknownProgram
from dynamo_ctrl.program.registry import definitions, load_programs
from dynamo_ctrl.program.result import Result
from dynamo_ctrl.testing.widget import WIDGET


class Plain:
    def __init__(self, name: str = "plain", watches: Watches[Any] | None = None, provider: str = "") -> None:
        self.name = name
        self.watches = watches or watching(WIDGET)
        if provider:
            self.provider = provider

    def reconcile(self, request: object) -> Result[Any]:
        return Result()


class Choosing:
    def __init__(self, name: str = "choosing", watches: Watches[Any] | None = None) -> None:
        self.name = name
        self.watches = watches or watching(WIDGET)

    def select(self, request: object, installed: frozenset[str]) -> Result[Any]:
        return Result()


class Keeping(Choosing):
    finalizer = "example.com/f"

    def finalize(self, request: object) -> Result[Any]:
        return Result()


class KeepingToo(Plain):
    finalizer = "example.com/f"

    def finalize(self, request: object) -> Result[Any]:
        return Result()


instance = Plain("instance")


def broken_factory(argument: str) -> Plain:
    return Plain(argument)


def failing_factory() -> Plain:
    raise RuntimeError("no\n  disk")


def leaving_factory() -> Plain:
    raise SystemExit(3)


class Hiding(Plain):
    def __init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        raise KeyError(name)


class Undefined(Plain):
    def definitions(self) -> object:
        raise ValueError("spec.keep: an integer\nwithout bounds")


def install(monkeypatch: pytest.MonkeyPatch, **entries: str) -> None:
    found = [
        EntryPoint(name, f"{__name__}:{value}" if value else "no.such:thing", registry.GROUP)
        for name, value in entries.items()
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: found)


def test_instances_and_factories_are_loaded_in_the_order_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, b="instance", a="Plain")
    assert [loaded.entry for loaded in load_programs()] == ["a", "b"]
    assert [loaded.name for loaded in load_programs(["b", "a", "b"])] == ["instance", "plain"]
    assert load_programs(["a"])[0].distribution == "an unnamed distribution"


def test_each_load_makes_a_program_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, a="Plain")
    assert load_programs()[0].program is not load_programs()[0].program


def test_an_unknown_name_lists_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, a="Plain", b="instance")
    with pytest.raises(UnknownProgram, match="unknown program 'c'; installed: a, b") as caught:
        load_programs(["a", "c"])
    assert (caught.value.name, caught.value.installed) == ("c", ("a", "b"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("", "expected an importable object, got ModuleNotFoundError", id="no-module"),
        pytest.param("Nothing", "expected an importable object, got AttributeError", id="no-attribute"),
        pytest.param(
            "broken_factory", "a factory without arguments that makes a program, got TypeError", id="arguments"
        ),
        pytest.param("failing_factory", "that makes a program, got RuntimeError: no disk", id="raises"),
        pytest.param("leaving_factory", "that makes a program, got SystemExit: 3", id="exits"),
        pytest.param("Hiding", "expected a program, got KeyError: 'name'", id="raises-when-asked"),
        pytest.param("WIDGET", "expected a program with a non-empty `name`, got None", id="no-program"),
    ],
)
def test_an_entry_that_is_no_program_is_named(monkeypatch: pytest.MonkeyPatch, value: str, text: str) -> None:
    install(monkeypatch, bad=value)
    with pytest.raises(NotAProgram, match="entry point 'bad'") as caught:
        load_programs()
    assert text in str(caught.value)


def test_a_module_that_raises_when_it_is_imported_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "raises_at_import.py").write_text("raise SystemExit('not here')")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("bad", "raises_at_import:thing", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    with pytest.raises(NotAProgram, match=r"entry point 'bad' = .* got SystemExit: not here"):
        load_programs()


def test_definitions_that_cannot_be_said_name_the_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, bad="Undefined", good="Plain")
    bad, good = load_programs()
    with pytest.raises(NotAProgram) as caught:
        bad.definitions()
    text = str(caught.value)
    assert text.startswith("entry point 'bad' of an unnamed distribution: expected `definitions()`")
    assert text.endswith("got ValueError: spec.keep: an integer without bounds")
    assert good.definitions() == ()


def test_the_installed_programs_load() -> None:
    assert {loaded.entry for loaded in load_programs()} == set(registry.installed())


def test_a_plain_program_is_a_definition_of_its_own() -> None:
    program = Plain()
    (definition,) = definitions([program])
    assert (definition.name, definition.kind, definition.program) == ("plain", WIDGET, program)
    assert definition.watches is program.watches
    assert definition.finalizers == ()


def test_providers_are_joined_under_the_selecting_program() -> None:
    by_node = Index("node", POD, lambda pod: (pod.spec.node_name,))
    one = Plain("one", watching(WIDGET, when=created).owning(CONFIG_MAP).reading(POD).indexing(by_node), provider="1")
    two = Plain("two", watching(WIDGET, when=deleted).owning(DEPLOYMENT).reading(POD).indexing(by_node), provider="2")
    select = Choosing(watches=watching(WIDGET, when=created).owning(CONFIG_MAP))
    (definition,) = definitions([two, select, one])
    assert definition.name == "choosing"
    assert set(definition.providers) == {"1", "2"}
    assert [watch.kind for watch in definition.watches.all].count(POD) == 1
    assert {watch.kind for watch in definition.watches.all} == {WIDGET, CONFIG_MAP, POD, DEPLOYMENT}
    assert definition.watches.indexes == (by_node,)
    assert definition.watches.primary.when is not created


def test_a_selecting_program_may_stand_alone() -> None:
    (definition,) = definitions([Choosing()])
    assert dict(definition.providers) == {}


def other_index(kind: Any) -> Index[Any]:
    return Index("i", kind, lambda _: ())


@pytest.mark.parametrize(
    ("programs", "text"),
    [
        pytest.param([Plain(), Plain()], "two programs are called 'plain'", id="one-name-twice"),
        pytest.param([Choosing("a"), Choosing("b")], "a and b both select the provider of widgets", id="two-selectors"),
        pytest.param(
            [Choosing(), Plain("a", provider="x"), Plain("b", provider="x")],
            "a and b both serve the provider 'x' of widgets",
            id="a-provider-twice",
        ),
        pytest.param(
            [Plain("a", provider="x")],
            "no program selects the provider of widgets.example.com; these wait for it: a (x)",
            id="a-provider-without-a-selector",
        ),
        pytest.param(
            [Keeping(), KeepingToo("a", provider="x")], "two of its programs keep the finalizer", id="a-finalizer-twice"
        ),
        pytest.param(
            [Choosing(), Plain("a", watching(WIDGET, label_selector="x=y"), provider="x")],
            "a watches its primary widgets.example.com with another label_selector",
            id="another-selector-of-the-primary",
        ),
        pytest.param(
            [
                Choosing(watches=watching(WIDGET).indexing(other_index(WIDGET))),
                Plain("a", watching(WIDGET).indexing(other_index(WIDGET)), provider="x"),
            ],
            "a declares another Index(i of widgets.example.com)",
            id="another-index-of-that-name",
        ),
    ],
)
def test_programs_that_contradict_each_other_are_refused(programs: Iterable[object], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        definitions(programs)
    assert text in str(caught.value)


class Nameless(Plain):
    def __init__(self) -> None:
        super().__init__("")


class Blind(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.watches = None  # type: ignore[assignment]


class Idle:
    name = "idle"
    watches = watching(WIDGET)


class Both(Choosing):
    def reconcile(self, request: object) -> Result[Any]:
        return Result()


class Unprovided(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.provider = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("member", "text"),
    [
        pytest.param(Nameless(), "expected a program with a non-empty `name`, got ''", id="no-name"),
        pytest.param(Blind(), "expected `watches` built with watching(KIND), got None", id="no-watches"),
        pytest.param(Idle(), "expected exactly one of `reconcile` and `select`, got neither", id="neither"),
        pytest.param(Both(), "got reconcile and select", id="both"),
        pytest.param(Plain, "got the class tests.dynamo_ctrl.program.test_registry.Plain itself", id="a-class"),
        pytest.param(Unprovided(), "expected a non-empty `provider`, got None", id="an-empty-provider"),
    ],
)
def test_what_is_no_program_is_told_what_it_lacks(member: object, text: str) -> None:
    with pytest.raises(NotAProgram) as caught:
        definitions([member])
    assert text in str(caught.value)
