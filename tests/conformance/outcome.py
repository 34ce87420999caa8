"""What came of a request, and what should have come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dynamo_ctrl.objects.kind import Kind

Tree = dict[str, Any]
Event = tuple[str, Tree]
Events = list[Event]
Names = list[str]
Pages = list[Names]


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What came of a request: an error, or an object as it is observed and as it came."""

    code: int = 200
    reason: str = ""
    message: str = ""
    details: Tree = field(default_factory=dict)
    content: Tree = field(default_factory=dict)
    origin: Tree = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Refusals are equal whatever was asked for."""
        if not isinstance(other, Outcome):
            return NotImplemented
        if self.refused or other.refused:
            return self.refusal == other.refusal
        return vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def refusal(self) -> tuple[int, str, str, Tree]:
        """Code, reason, message and details."""
        return self.code, self.reason, self.message, self.details

    @property
    def refused(self) -> bool:
        """Whether it is an error."""
        return self.code >= 400

    @property
    def object(self) -> Tree:
        """The object as it is observed."""
        assert not self.refused, self
        return self.content

    @property
    def raw(self) -> Tree:
        """The object as it came."""
        assert not self.refused, self
        return self.origin

    @property
    def metadata(self) -> Tree:
        """The metadata as it came."""
        metadata: Tree = self.raw["metadata"]
        return metadata

    @property
    def version(self) -> str:
        """The resourceVersion."""
        version: str = self.metadata["resourceVersion"]
        return version

    @property
    def uid(self) -> str:
        """The uid."""
        uid: str = self.metadata["uid"]
        return uid


@dataclass(frozen=True, kw_only=True, eq=False)
class Listed(Outcome):
    """What came of a list: one page."""

    objects: list[Tree] = field(default_factory=list)
    list_version: str = ""
    token: str = ""
    remaining: int | None = None

    @property
    def version(self) -> str:
        """The resourceVersion of the list."""
        assert not self.refused, self
        return self.list_version

    @property
    def names(self) -> Names:
        """The names of its objects."""
        assert not self.refused, self
        return [each["metadata"]["name"] for each in self.objects]


@dataclass(frozen=True, kw_only=True, eq=False)
class Watched(Outcome):
    """What came of a watch."""

    found: Events = field(default_factory=list)

    @property
    def events(self) -> Events:
        """The events, in their order."""
        assert not self.refused, self
        return self.found

    @property
    def types(self) -> Names:
        """The types of the events."""
        return [type_ for type_, _ in self.events]

    @property
    def names(self) -> list[tuple[str, str]]:
        """Type and name of each event."""
        return [(type_, each["metadata"].get("name", "")) for type_, each in self.events]


def refused(code: int, reason: str, message: str, **details: Any) -> Outcome:
    """What a refusal should look like."""
    return Outcome(code=code, reason=reason, message=message, details=details)


def invalid(kind: Kind[Any], name: str, *causes: tuple[str, str, str]) -> Outcome:
    """What a 422 with those causes (field, reason without `FieldValue`, message) should look like."""
    typed = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    told = [{"reason": f"FieldValue{reason}", "message": message, "field": path} for path, reason, message in causes]
    told.sort(key=lambda cause: (cause["field"], cause["message"]))
    message = f'{typed} "{name}" is invalid'
    if len(causes) == 1:
        message += f": {causes[0][0]}: {causes[0][2]}"
    details = {"name": name} if name else {}
    details |= {"group": kind.group} if kind.group else {}
    return refused(422, "Invalid", message, **details, kind=kind.kind, causes=told)


def about(kind: Kind[Any], name: str) -> dict[str, str]:
    """The details of an error about one object."""
    return {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural}


def not_found(kind: Kind[Any], name: str) -> Outcome:
    """What a 404 for an object should look like."""
    return refused(404, "NotFound", f'{kind} "{name}" not found', **about(kind, name))
