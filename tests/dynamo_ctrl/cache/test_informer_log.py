"""What is logged of a source: one warning if somebody needs it and cannot read it, none if it is optional and absent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.engine.errors import Forbidden, NotFound
from dynamo_ctrl.objects.builtin.core import ConfigMap

Make = Callable[..., ConfigMap]


async def test_an_absent_source_is_told_once_with_what_mends_it(scene: Any, scripted: Any, logs: list[Any]) -> None:
    engine = scripted()
    engine.served = ()
    for _ in range(3):
        engine.refuse_list(NotFound("no such resource"))
    async with scene(engine, remedy=lambda kind: "make install-it") as it:
        await it.passing(60)
        assert it.phase is Phase.ABSENT
    (line,) = [line for line in logs if line["log_level"] != "debug"]
    assert (line["event"], line["log_level"], line["kind"]) == ("source is absent", "warning", "configmaps")
    assert "make install-it" in line["reason"]


async def test_an_optional_absent_source_is_no_complaint(
    scene: Any, scripted: Any, config_map: Make, logs: list[Any]
) -> None:
    engine = scripted()
    engine.served = ()
    engine.refuse_list(NotFound("no such resource"))
    async with scene(engine, optional=True) as it:
        assert it.phase is Phase.ABSENT
        engine.served = ("configmaps",)
        engine.page(config_map("a", 1), version=10)
        engine.stream()
        await it.passing(60)
        assert it.phases[-1] is Phase.LIVE
    assert {line["log_level"] for line in logs} == {"debug"}


async def test_a_source_that_heals_is_told(scene: Any, scripted: Any, config_map: Make, logs: list[Any]) -> None:
    engine = scripted()
    engine.refuse_list(Forbidden("cannot list configmaps"))
    async with scene(engine) as it:
        engine.page(config_map("a", 1), version=10)
        engine.stream()
        await it.passing(60)
        assert it.phases[-1] is Phase.LIVE
    told = [(line["log_level"], line["event"]) for line in logs if line["log_level"] != "debug"]
    assert told == [("warning", "source is forbidden"), ("info", "source is live")]
    reason = logs[0]["reason"]
    assert "\n" not in reason
    assert '- {apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"]}' in reason
