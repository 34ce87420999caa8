"""What cannot be rendered, told by field and rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dynamo_ctrl.objects.errors import InvalidObject


class RenderError(ValueError):
    """A component cannot be rendered.

    Attributes:
        path: the field, relative to the component, as `podTemplate.spec.containers[0].image`.
        rule: the rule that it breaks.
    """

    def __init__(self, path: str, rule: str) -> None:
        self.path = path
        self.rule = rule
        super().__init__(f"{path}: {rule}")


@contextmanager
def during(prefix: str) -> Iterator[None]:
    """Begin the rule of every `RenderError` in the block with `prefix`: the step that failed (P 1)."""
    try:
        yield
    except RenderError as error:
        raise RenderError(error.path, f"{prefix}{error.rule}") from error


@contextmanager
def rendering(what: str, path: str) -> Iterator[None]:
    """Report every `RenderError` in the block as an `InvalidObject` of the object `what`, below `path`."""
    try:
        yield
    except RenderError as error:
        raise InvalidObject(what, f"{path}.{error.path}", error.rule) from error
