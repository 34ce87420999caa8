"""Annotations that say what Python's types cannot: `components: Annotated[tuple[Component, ...], ListMap("name")]`.

Each mark only adds keys to the JSON schema that pydantic generates for the type that it annotates; it validates nothing
in Python. `dynamo_ctrl.objects.schema.structural` checks that the keys make sense where they stand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.functional_validators import AfterValidator
from pydantic_core import CoreSchema, core_schema

from dynamo_ctrl.objects.frozen import freeze, thaw
from dynamo_ctrl.objects.quantity import parse_quantity

SERVER_DEFAULT: Final = "x-server-default"
"""Key by which `ServerDefault` speaks to the converter; it never reaches a CRD."""

NULLABLE: Final = "x-nullable"
"""Key by which `Nullable` speaks to the converter; it never reaches a CRD."""

STRUCTURAL: Final = "x-structural"
"""Key by which `Structural` speaks to the converter; it never reaches a CRD."""

QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""How a resource quantity is spelled, for the server's engine of regular expressions."""


class Mark(ABC):
    """Base of all marks: keys that are added to the schema of the annotated type."""

    @abstractmethod
    def keys(self) -> Mapping[str, Any]:
        """What is added."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        found = dict(handler(schema))
        for key, value in self.keys().items():
            found[key] = [*found.get(key, ()), *value] if isinstance(value, list) else value
        return found


@dataclass(frozen=True)
class ListMap(Mark):
    """A list of objects that is a map by `key` (and more keys): entries are merged by key, keys are unique."""

    key: str
    more: tuple[str, ...] = ()

    def keys(self) -> Mapping[str, Any]:
        """The list type and its keys."""
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key, *self.more]}


@dataclass(frozen=True)
class ListSet(Mark):
    """A list of distinct scalars, merged as a set."""

    def keys(self) -> Mapping[str, Any]:
        """The list type."""
        return {"x-kubernetes-list-type": "set"}


@dataclass(frozen=True)
class Atomic(Mark):
    """An object or a map that server-side apply replaces as a whole: references, selectors."""

    def keys(self) -> Mapping[str, Any]:
        """The map type."""
        return {"x-kubernetes-map-type": "atomic"}


@dataclass(frozen=True)
class Rule(Mark):
    """A CEL rule, `Rule("self.min <= self.max", "min must not be above max")`.

    Every list, map and string that a rule reaches needs a maximum, or the server's cost estimate refuses the CRD.

    Attributes:
        rule: the expression; `self` is the annotated value.
        message: what the user reads.
        field_path: the field that is blamed, relative to the value, as `.restart.id`.
        reason: `FieldValueInvalid` (the server's default), `FieldValueForbidden`, `FieldValueRequired`, `FieldValueDuplicate`.
        optional_old_self: evaluate a transition rule on create as well; `oldSelf` is then an optional.
    """

    rule: str
    message: str
    field_path: str = ""
    reason: str = ""
    optional_old_self: bool = False

    def keys(self) -> Mapping[str, Any]:
        """One entry of the validations."""
        entry: dict[str, Any] = {"rule": self.rule, "message": self.message}
        if self.field_path:
            entry["fieldPath"] = self.field_path
        if self.reason:
            entry["reason"] = self.reason
        if self.optional_old_self:
            entry["optionalOldSelf"] = True
        return {"x-kubernetes-validations": [entry]}


@dataclass(frozen=True)
class ServerDefault(Mark):
    """The Python default becomes a default of the schema as well: the server fills it in, on stored objects too.

    Without this mark a default lives in Python only. A new server default is a change of the API. In a status it invents an
    observation, wherever there is a status at all: for a value that means "nothing observed yet".
    """

    def keys(self) -> Mapping[str, Any]:
        """A flag for the converter."""
        return {SERVER_DEFAULT: True}


@dataclass(frozen=True)
class Nullable(Mark):
    """Null has a meaning of its own here. Otherwise `X | None` means: may be absent."""

    def keys(self) -> Mapping[str, Any]:
        """A flag for the converter."""
        return {NULLABLE: True}


@dataclass(frozen=True)
class Format(Mark):
    """The OpenAPI format of a scalar."""

    format: str

    def keys(self) -> Mapping[str, Any]:
        """The format."""
        return {"format": self.format}


@dataclass(frozen=True)
class Structural(Mark):
    """The schema of the value is what `schema` gives, a finished structural schema; the Python type tells none of it.

    For a JSON tree that Kubernetes describes: `pod_template: Annotated[JsonTree, Structural(pod_template)]`.
    """

    schema: Callable[[], Mapping[str, Any]]

    def keys(self) -> Mapping[str, Any]:
        """What gives the schema, for the converter; pydantic would walk through all of the schema itself."""
        return {STRUCTURAL: self.schema}


@dataclass(frozen=True)
class JsonTreeMark:
    """Makes a mapping an immutable JSON tree that is kept exactly: key order, numbers, nulls, empty values."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            freeze,
            core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()),
            serialization=core_schema.plain_serializer_function_ser_schema(thaw),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": True}


@dataclass(frozen=True)
class IntOrStringMark:
    """Makes a value an integer or a text on the wire, as Kubernetes' IntOrString and Quantity are."""

    pattern: str = ""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        pattern = {"pattern": self.pattern} if self.pattern else {}
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], **pattern}


def _spelled(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _quantity(text: str) -> str:
    parse_quantity(text)
    return text


Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1), Format("int32")]
"""A 32-bit integer."""

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1), Format("int64")]
"""A 64-bit integer."""

JsonTree = Annotated[Mapping[str, Any], JsonTreeMark()]
"""An immutable JSON object, kept exactly; unknown to the schema, so nothing in it is pruned, defaulted or checked."""

Texts = Annotated[Mapping[str, str], AfterValidator(freeze)]
"""An immutable map of texts, as labels and annotations are."""

Quantity = Annotated[str, BeforeValidator(_spelled), AfterValidator(_quantity), IntOrStringMark(QUANTITY_PATTERN)]
"""A resource quantity as it was spelled; the number 2 reads as the text `2`."""

IntOrString = Annotated[int | str, IntOrStringMark()]
"""An integer or a text such as `25%`."""
