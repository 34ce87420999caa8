"""YAML files as Kubernetes reads them: JSON values and nothing else, every key once. One line for whatever is wrong."""

from __future__ import annotations

import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml

from dynamo_ctrl.objects.aliases import BoundedLoader
from dynamo_ctrl.objects.frozen import freeze
from dynamo_manager.errors import UsageError

_MAP: Final = "tag:yaml.org,2002:map"
_FLOAT: Final = "tag:yaml.org,2002:float"
_BEYOND_JSON: Final = tuple(f"tag:yaml.org,2002:{name}" for name in ("binary", "timestamp", "omap", "pairs", "set"))


def read(path: Path) -> tuple[Any, ...]:
    """The documents of a file, frozen; an empty one is `None`.

    Raises:
        UsageError: it cannot be read, or is not YAML of this sort.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return tuple(freeze(document) for document in yaml.load_all(text, Loader=_Loader))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {_where(error)}") from error
    except ValueError as error:  # a tag that its text does not fit, a number of too many digits
        raise UsageError(f"{path} is not YAML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deep, or without end") from error


def _where(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return " ".join(str(error).split())
    problem = getattr(error, "problem", None) or "cannot be read"
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}"


class _Loader(BoundedLoader):
    """Safe, and without the types that JSON lacks: dates are text, keys become text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        self.flatten_mapping(node)
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in mapping:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key!r} is there twice", problem_mark=key_node.start_mark
                )
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping

    def _key(self, node: yaml.Node) -> str:
        key = self.construct_object(node, deep=True)
        if isinstance(key, bool):
            return str(key).lower()
        if isinstance(key, str | int | float):
            return str(key)
        raise yaml.constructor.ConstructorError(problem="a key must be a text", problem_mark=node.start_mark)

    def construct_finite(self, node: yaml.ScalarNode) -> float:
        """A number that JSON can spell."""
        number: float = self.construct_yaml_float(node)
        if not math.isfinite(number):
            raise yaml.constructor.ConstructorError(problem="JSON knows no such number", problem_mark=node.start_mark)
        return number


_Loader.add_constructor(_FLOAT, _Loader.construct_finite)
_Loader.yaml_constructors = {tag: build for tag, build in _Loader.yaml_constructors.items() if tag not in _BEYOND_JSON}
_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag not in _BEYOND_JSON]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
