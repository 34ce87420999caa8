"""The base of every model of this API: frozen, spelled in camelCase on the wire, blind to fields that it does not know.

A model remembers which fields were given. `tree()` writes those and no others, so that "absent" and "the default" stay
two things; JSON trees inside (pod templates, env sources) come back exactly as they went in.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from dynamo_ctrl.objects.schema.marks import Rule


class Model(BaseModel):
    """Base class of the models of `nvidia.com`."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    rules: ClassVar[tuple[Rule, ...]] = ()
    """CEL rules on the whole object."""

    def tree(self) -> dict[str, Any]:
        """The fields that were given, as plain JSON data that belongs to the caller."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        found = handler.resolve_ref_schema(handler(schema))
        if cls.rules:
            found["x-kubernetes-validations"] = [
                entry for rule in cls.rules for entry in rule.keys()["x-kubernetes-validations"]
            ]
        return found
