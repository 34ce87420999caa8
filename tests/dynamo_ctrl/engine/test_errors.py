"""What the types of errors say beyond their names."""

from __future__ import annotations

import pytest

from dynamo_ctrl.engine import errors
from dynamo_ctrl.engine.errors import EngineError, Forbidden, from_status
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.testing import LoopClock

MAYBE = {
    errors.Unanswered,
    errors.ServerError,
    errors.MalformedAnswer,
    errors.Unavailable,
    errors.ServerTimeout,
    errors.TooLargeResourceVersion,
}


def every_type(of: type[EngineError] = EngineError) -> set[type[EngineError]]:
    found = {cls for cls in of.__subclasses__() if cls.__module__ == errors.__name__}
    return found.union(*(every_type(cls) for cls in found)) if found else set()


@pytest.mark.parametrize("cls", sorted(every_type(), key=str))
def test_a_write_may_have_happened_exactly_if_nobody_turned_it_away(cls: type[EngineError]) -> None:
    assert cls("x").maybe_done is (cls in MAYBE)


async def test_a_namespace_that_goes_takes_nothing_new_and_says_so() -> None:
    core = Core(clock=LoopClock())
    core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
    held = b'{"metadata":{"name":"held","finalizers":["example.com/held"]}}'
    core.create(CONFIG_MAP, "ns", held)
    core.delete(NAMESPACE, Key("", "ns"))
    with pytest.raises(Forbidden) as refused:
        core.create(CONFIG_MAP, "ns", b'{"metadata":{"name":"late"}}')
    assert refused.value.namespace_terminating
    error = from_status(403, refused.value.status())
    assert isinstance(error, Forbidden)
    assert error.namespace_terminating


@pytest.mark.parametrize("details", [{}, {"causes": None}, {"causes": [{"reason": "FieldValueForbidden"}]}])
def test_any_other_refusal_is_not_about_the_namespace(details: dict[str, object]) -> None:
    assert not Forbidden("no", details=details).namespace_terminating
