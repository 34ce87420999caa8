"""Every option class there is: frozen, keyword-only, a default and a word for each field; and one way in for each of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import data_plane
import dynamo_ctrl
from dynamo_ctrl.manager.options import ManagerOptions, resolve

REQUIRED: Mapping[str, Mapping[str, Any]] = {
    "leader_election.enabled": {"leader_election": {"name": "lease"}},
}
"""What else has to be given with a field."""

VALUES: Mapping[str, Any] = {
    "leader_election.renew_deadline": 9.0,
    "leader_election.retry_period": 3.0,
    "leader_election.groups": {"graph": "lease"},
    "controllers": {"graph": {"workers": 2}},
    "cache.kinds": {"pods": {"initial": "stream"}},
}
"""Values for fields of which not every other value keeps the rules."""


ARGUMENTS = {"ListOptions", "WatchOptions"}
"""Arguments of the engine's verbs, which are no configuration."""


def modules(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


CLASSES = sorted(
    {
        value
        for package in (dynamo_ctrl, data_plane)
        for module in modules(package)
        for name, value in vars(module).items()
        if name.endswith("Options")
        and name not in ARGUMENTS
        and isinstance(value, type)
        and value.__module__ == module.__name__
    },
    key=lambda cls: cls.__qualname__,
)


def test_the_classes_are_found() -> None:
    names = {cls.__name__ for cls in CLASSES}
    assert names >= {"ManagerOptions", "LeaderElectionOptions", "CacheOptions", "ControllerOptions", "WatcherOptions"}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_field_of_an_option_class_has_a_default_and_a_word(cls: type[Any]) -> None:
    assert is_dataclass(cls)
    parameters = cls.__dataclass_params__  # type: ignore[attr-defined]
    assert parameters.frozen
    for option in fields(cls):
        assert option.kw_only, f"{option.name} can be given by its place"
        assert option.default is not MISSING or option.default_factory is not MISSING, f"{option.name} has no default"
        assert cls.__doc__ is not None
        assert option.name in cls.__doc__, f"{option.name} is not described"
    assert cls() == cls(), "the defaults keep their own rules"


def paths(cls: type[Any], before: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every field below `cls`: its path, its type, its default."""
    hints, default = get_type_hints(cls), cls()
    for option in fields(cls):
        hint, value = hints[option.name], getattr(default, option.name)
        path = f"{before}{option.name}"
        if is_dataclass(hint) and isinstance(hint, type):
            yield from paths(hint, f"{path}.")
        elif not callable(value):
            yield path, hint, value


def other(path: str, hint: Any, default: Any) -> Any:
    """A value that is not the default."""
    if path in VALUES:
        return VALUES[path]
    if get_origin(hint) is Literal:
        return next(value for value in get_args(hint) if value != default)
    match default:
        case bool():
            return not default
        case int() | float():
            return default + 1
        case str():
            return "other"
        case tuple():
            return [value + 1 for value in default] or ["other"]
        case Mapping():
            return {"other": "value"}
    raise AssertionError(f"{path}: say in VALUES what to give for a {hint}")


@pytest.mark.parametrize(("path", "hint", "default"), list(paths(ManagerOptions)), ids=lambda value: str(value)[:60])
def test_every_option_of_a_manager_can_be_given_and_arrives(path: str, hint: Any, default: Any) -> None:
    *folders, name = path.split(".")
    value = other(path, hint, default)
    layer: dict[str, Any] = {name: value}
    for folder in reversed(folders):
        layer = {folder: layer}
    options: Any = resolve(ManagerOptions, layer, REQUIRED.get(path, {}))
    for part in (*folders, name):
        options = getattr(options, part)
    assert options != default
    if isinstance(value, (bool, int, float, str)):
        assert options == value
