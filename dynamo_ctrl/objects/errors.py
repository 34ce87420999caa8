"""What is wrong with an object, told by field and rule. Errors of a server live in `dynamo_ctrl.engine.errors`."""

from __future__ import annotations


class InvalidObject(ValueError):
    """An object (or a part of it) breaks a rule of its own schema.

    Attributes:
        what: the kind, or kind and key, that is meant.
        path: the field, as `spec.components[0].name`; empty for the whole object.
        rule: the rule that it breaks, in words.
    """

    def __init__(self, what: str, path: str, rule: str) -> None:
        self.what = what
        self.path = path
        self.rule = rule
        super().__init__(f"{what}: {path}: {rule}" if path else f"{what}: {rule}")
