"""Options: what a kind inherits, and what is refused when the options are made."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from dynamo_ctrl.cache.options import CacheOptions, KindOptions, WatcherOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, POD, SECRET


def of(kind: Any = CONFIG_MAP, own: KindOptions | None = None, **common: Any) -> KindOptions:
    kinds = {} if own is None else {str(kind): own}
    return CacheOptions(kinds=kinds, **common).of(kind)


@pytest.mark.parametrize(
    ("common", "own", "namespaces", "excluded"),
    [
        ({}, None, (), ()),
        ({"namespaces": ("b", "a", "b")}, None, ("b", "a"), ()),
        ({"except_namespaces": ("b", "a", "b")}, None, (), ("a", "b")),
        ({"namespaces": ("a",)}, KindOptions(label_selector="x"), ("a",), ()),
        ({"namespaces": ("a",)}, KindOptions(namespaces=("c", "d")), ("c", "d"), ()),
        ({"namespaces": ("a",)}, KindOptions(namespaces=()), (), ()),
        ({"namespaces": ("a",)}, KindOptions(except_namespaces=("c",)), (), ("c",)),
        ({"except_namespaces": ("a",)}, KindOptions(namespaces=("a",)), ("a",), ()),
        ({"except_namespaces": ("a",)}, KindOptions(except_namespaces=()), (), ()),
    ],
)
def test_namespaces_of_a_kind_take_the_place_of_the_common_ones(
    common: dict[str, Any], own: KindOptions | None, namespaces: tuple[str, ...], excluded: tuple[str, ...]
) -> None:
    found = of(own=own, **common)
    assert (found.namespaces, found.except_namespaces) == (namespaces, excluded)


def test_kinds_of_cluster_scope_are_followed_whole() -> None:
    found = of(NAMESPACE, namespaces=("a",))
    assert (found.namespaces, found.except_namespaces) == ((), ())
    assert of(NAMESPACE, except_namespaces=("a",)).except_namespaces == ()


def test_every_option_of_a_kind_is_inherited_by_itself() -> None:
    common: dict[str, Any] = {"namespaces": ("a",), "watcher": WatcherOptions(initial="stream")}
    given: dict[str, Any] = {
        "namespaces": ("b",), "except_namespaces": ("b",), "label_selector": "x=y", "field_selector": "metadata.name=n",
        "initial": "list",
    }  # fmt: skip
    assert given.keys() == {field.name for field in fields(KindOptions)}, "an option that nobody tests"
    inherited = of(**common)
    for name, value in given.items():
        found = of(own=KindOptions(**{name: value}), **common)
        assert getattr(found, name) == value
        others = set(given) - {name} - ({"namespaces"} if name == "except_namespaces" else set())
        assert {other: getattr(found, other) for other in others} == {o: getattr(inherited, o) for o in others}


def test_one_kinds_options_are_no_other_kinds() -> None:
    options = CacheOptions(kinds={"pods": KindOptions(label_selector="a=b")})
    assert (options.of(POD).label_selector, options.of(SECRET).label_selector) == ("a=b", "")


def test_resolving_changes_nothing_that_was_given() -> None:
    own = KindOptions(namespaces=("b", "b"))
    options = CacheOptions(kinds={"configmaps": own})
    assert options.of(CONFIG_MAP) == options.of(CONFIG_MAP)
    assert options.kinds["configmaps"] is own
    assert own.namespaces == ("b", "b")


@pytest.mark.parametrize(
    ("make", "given", "text"),
    [
        (CacheOptions, {"namespaces": ("a",), "except_namespaces": ("b",)}, "except_namespaces: cannot be given together"),
        (KindOptions, {"namespaces": ("a",), "except_namespaces": ("b",)}, "except_namespaces: cannot be given together"),
        (CacheOptions, {"namespaces": ("",)}, "namespaces: a namespace has a name"),
        (CacheOptions, {"except_namespaces": ("a", "")}, "except_namespaces: a namespace has a name"),
        (KindOptions, {"namespaces": ("",)}, "namespaces: a namespace has a name"),
        (KindOptions, {"label_selector": "a in"}, "label_selector: "),
        (KindOptions, {"field_selector": "a~b"}, "field_selector: "),
        (CacheOptions, {"lists_at_once": 0}, "lists_at_once: must be at least 1, got 0"),
        (CacheOptions, {"own_writes": 0}, "own_writes: must be at least 1, got 0"),
        (CacheOptions, {"batch": 0}, "batch: must be at least 1, got 0"),
        (CacheOptions, {"memory_budget": -1}, "memory_budget: must not be negative, got -1"),
    ],
)  # fmt: skip
def test_a_bad_option_is_refused_by_name(make: Any, given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the text is checked)
        make(**given)
    assert str(caught.value).startswith(text)


def test_r4_22_the_defaults_spread_reconnects_and_bound_the_lists_at_once() -> None:
    options = CacheOptions()
    assert 1 <= options.lists_at_once <= 16
    low, high = options.watcher.watch_timeout
    assert high >= 1.5 * low
    assert options.watcher.idle < low, "a half-open stream is found before the server would have ended it"
