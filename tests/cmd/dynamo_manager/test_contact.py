"""The first contact: a server that is late is waited for, one that refuses us is told at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_ctrl.engine.errors import (
    EngineError,
    Forbidden,
    NotFound,
    ServerError,
    Unauthorized,
    Unreachable,
    Untrusted,
)
from dynamo_ctrl.engine.kubernetes.credentials import CredentialsMisconfigured
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.testing import LoopClock
from dynamo_manager.contact import CONTACT_TIMEOUT, contact
from dynamo_manager.errors import UsageError


class Late(MemoryEngine):
    """Answers discovery with these errors first."""

    def __init__(self, *errors: Exception, seconds: float = 0.0) -> None:
        super().__init__(Core(clock=LoopClock()))
        self.asked = 0
        self._errors: Iterator[Exception] = iter(errors)
        self._seconds = seconds

    def __str__(self) -> str:
        return "a late server"

    async def discover(self, group: str, version: str) -> Any:
        self.asked += 1
        await asyncio.sleep(self._seconds)
        for error in self._errors:
            raise error
        return await super().discover(group, version)


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_server_that_answers_is_asked_once(logs: list[Any]) -> None:
    engine = Late()
    await contact(engine)
    assert engine.asked == 1
    assert logs == []


@pytest.mark.parametrize("error", [Forbidden("no"), NotFound("no")])
async def test_a_refusal_is_an_answer(error: EngineError) -> None:
    engine = Late(error)
    await contact(engine)
    assert engine.asked == 1


async def test_a_late_server_is_waited_for_and_that_is_told_once(logs: list[Any]) -> None:
    engine = Late(Unreachable("refused"), ServerError("starting"), Unreachable("refused"))
    await contact(engine)
    assert engine.asked == 4
    assert now() == pytest.approx(3)
    (line,) = logs
    assert (line["log_level"], line["event"], line["seconds"]) == ("warning", "waiting for the server", CONTACT_TIMEOUT)
    assert (line["server"], line["error"]) == ("a late server", "starting")


async def test_a_server_that_says_nothing_is_told_of_while_it_is_waited_for(logs: list[Any]) -> None:
    await contact(Late(seconds=5))
    assert [line["error"] for line in logs] == ["no answer yet"]


async def test_a_server_that_does_not_come_is_told_after_thirty_seconds() -> None:
    with pytest.raises(UsageError) as raised:
        await contact(Late(*[Unreachable("10.0.0.1:6443: connection refused")] * 1000))
    assert now() == pytest.approx(CONTACT_TIMEOUT)
    text = str(raised.value)
    assert text.startswith("the server cannot be reached, tried for 30 s: 10.0.0.1:6443: connection refused; check")


async def test_a_server_that_never_answers_is_told_too() -> None:
    with pytest.raises(UsageError, match="tried for 5 s: it does not answer"):
        await contact(Late(seconds=3600), limit=5)
    assert now() == pytest.approx(5)


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (CredentialsMisconfigured("exec: cannot run 'x'"), "cannot run 'x'; check the user of the kubeconfig"),
        (Unauthorized("Unauthorized"), "does not accept the credentials .* token has not expired"),
        (
            Untrusted("certificate is not trusted: self-signed"),
            "is not trusted: self-signed; check certificate-authority",
        ),
    ],
)
async def test_what_waiting_cannot_mend_is_told_at_once(error: EngineError, rule: str, logs: list[Any]) -> None:
    with pytest.raises(UsageError, match=rule):
        await contact(Late(error))
    assert now() == 0
    assert logs == []
