"""Small tools for defaults on plain trees."""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.engine.memory.served import Tree


def fill(tree: Tree, **defaults: Any) -> None:
    """Set the fields that are missing or null."""
    for name, value in defaults.items():
        if tree.get(name) is None:
            tree[name] = value


def section(tree: Tree, name: str) -> Tree:
    """The object at `name`, made if it is missing; an object that is not one counts as missing."""
    found = tree.get(name)
    if not isinstance(found, dict):
        found = tree[name] = {}
    return found


def items(tree: Tree, name: str) -> list[Tree]:
    """The objects in the list at `name`."""
    found = tree.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def drop_empty(tree: Tree, *names: str) -> None:
    """Take out the fields that hold nothing, which the server's encoding leaves out."""
    for name in names:
        if name in tree and tree[name] in (None, "", [], {}):
            del tree[name]
