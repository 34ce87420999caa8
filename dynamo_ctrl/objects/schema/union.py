"""Tagged unions: a structural schema has no alternatives, so the members are merged and CEL says which fields go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Unrepresentable(TypeError):
    """A model says something that a structural schema cannot hold.

    Attributes:
        path: the field, by its wire name.
        rule: what is wrong and what to use instead.
    """

    def __init__(self, path: str, rule: str) -> None:
        self.path = path
        self.rule = rule
        super().__init__(f"{path}: {rule}")


def merge_union(members: Sequence[Mapping[str, Any]], tag: str, path: str) -> dict[str, Any]:
    """One object with the fields of all members, the tag as an enum, and a rule for each member.

    Raises:
        Unrepresentable: two members declare one field differently, or a member has no constant tag.
    """
    properties: dict[str, Any] = {}
    tags: list[Any] = []
    rules = []
    fields = [set(member.get("properties", {})) - {tag} for member in members]
    everything = set().union(*fields)
    for member, own in zip(members, fields, strict=True):
        values = _tags(member, tag, path)
        tags += values
        for name in sorted(own):
            found = _bare(member["properties"][name])
            if properties.setdefault(name, found) != found:
                raise Unrepresentable(f"{path}.{name}", "members of a tagged union must declare a shared field alike")
        wanted = [f"has(self.{name})" for name in sorted(set(member.get("required", ())) - {tag})]
        foreign = [f"!has(self.{name})" for name in sorted(everything - own)]
        if wanted or foreign:
            names = ", ".join(repr(value) for value in values)
            rules.append(
                {
                    "rule": f"!(self.{tag} in [{names}]) || ({' && '.join(wanted + foreign)})",
                    "message": f"fields must be those of {tag} {names}",
                }
            )
    common = set.intersection(*(set(member.get("required", ())) for member in members))
    merged: dict[str, Any] = {
        "type": "object",
        "properties": {**properties, tag: {"enum": tags, "type": "string"}},
        "required": sorted(common | {tag}),
    }
    if rules:
        merged["x-kubernetes-validations"] = rules
    return merged


def _tags(member: Mapping[str, Any], tag: str, path: str) -> list[str]:
    found = member.get("properties", {}).get(tag, {})
    values = [found["const"]] if "const" in found else list(found.get("enum", ()))
    if not values or not all(isinstance(value, str) for value in values):
        raise Unrepresentable(f"{path}.{tag}", "the tag of a union must be a constant text in every member")
    return values


def _bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in ("title", "default")}
