"""Every field of a kind of this API, from its schema; and objects in which one of them has any value one likes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from dynamo_ctrl.objects.kind import Kind
from dynamo_graph.api.crds import documents

Tree = dict[str, Any]
Steps = tuple[str | int, ...]

KEY: Final = "key"
"""The key under which a value of a map is looked at."""


@dataclass(frozen=True)
class Field:
    """One field of a spec.

    Attributes:
        steps: where it is; entries of a list are looked at by the first one.
        schema: what it may be.
        required: whether its object must have it.
    """

    steps: Steps
    schema: Tree
    required: bool = False

    @property
    def path(self) -> str:
        """As a server names it."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in ("spec", *self.steps))[1:]

    @property
    def type(self) -> str:
        """Its type; `amount` for an integer or a text."""
        return "amount" if self.schema.get("x-kubernetes-int-or-string") else str(self.schema.get("type", ""))

    def __repr__(self) -> str:
        return self.path


@cache
def spec_of(kind: Kind[Any]) -> Tree:
    """The schema of the spec of a kind; always the same object."""
    document = next(each for each in documents() if each["spec"]["names"]["kind"] == kind.kind)
    spec: Tree = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return spec


def fields(schema: Tree, steps: Steps = ()) -> Iterator[Field]:
    """Every field below `steps`."""
    required = schema.get("required", ())
    children = [(name, child, name in required) for name, child in schema.get("properties", {}).items()]
    for step, name in ((0, "items"), (KEY, "additionalProperties")):
        if isinstance(schema.get(name), dict):
            children.append((step, schema[name], False))
    for step, child, needed in children:
        yield Field((*steps, step), child, needed)
        yield from fields(child, (*steps, step))


def example(schema: Tree) -> Any:
    """The least value that the schema takes."""
    if "default" in schema or "enum" in schema:
        return schema.get("default", schema.get("enum", [""])[0])
    match schema.get("type"):
        case "object":
            return {name: example(schema["properties"][name]) for name in schema.get("required", ())}
        case "array":
            return [example(schema["items"])]
        case "integer":
            return schema.get("minimum", 1)
        case "number":
            return 0.5
        case "boolean":
            return True
    return "1" if schema.get("x-kubernetes-int-or-string") else "a"


def planted(value: Any, schema: Tree, steps: Steps, planting: Any) -> Any:
    """`value` with `planting` at `steps`; what is missing on the way there is made by `example`."""
    if not steps:
        return planting
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        entries = value if isinstance(value, list) and value else [example(schema["items"])]
        return [planted(entries[0], schema["items"], rest, planting), *entries[1:]]
    tree = dict(value) if isinstance(value, dict) else {}
    child = schema.get("properties", {}).get(step) or schema["additionalProperties"]
    tree[step] = planted(tree.get(step, example(child)), child, rest, planting)
    return tree


def without(value: Any, steps: Steps) -> Any:
    """`value` without what is at `steps`."""
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        return [without(value[0], rest), *value[1:]]
    return {name: without(each, rest) if name == step else each for name, each in value.items() if rest or name != step}
