"""What an observer is told of requests: times, sizes, retries, name look-ups; and that none of it is done without one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dynamo_ctrl.engine.errors import Invalid, Unreachable
from dynamo_ctrl.engine.kubernetes.config import Address
from dynamo_ctrl.engine.kubernetes.retry import RetryOptions
from dynamo_ctrl.engine.port import WatchOptions
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.key import Key

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit

pytestmark = pytest.mark.parametrize("kit", ["asyncio", "uvloop"], indirect=True)

KEY = Key("n", "p")
THREE = RetryOptions(attempts=3)


class Told:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, str, int, int]] = []
        self.retries: list[tuple[str, str, int]] = []
        self.turns: list[tuple[str, str]] = []
        self.names: list[str] = []
        self.seconds: list[float] = []

    def answered(self, verb: str, host: str, seconds: float, sent: int, received: int) -> None:
        self.answers.append((verb, host, sent, received))
        self.seconds.append(seconds)

    def retried(self, verb: str, host: str, code: int) -> None:
        self.retries.append((verb, host, code))

    def waited(self, verb: str, host: str, seconds: float) -> None:
        self.turns.append((verb, host))
        self.seconds.append(seconds)

    def resolved(self, host: str, seconds: float) -> None:
        self.names.append(host)
        self.seconds.append(seconds)


def test_each_attempt_is_told_with_its_sizes(kit: Kit) -> None:
    told = Told()

    async def main() -> None:
        failure = {"kind": "Status", "reason": "Invalid", "code": 422}
        async with kit.serve(kit.answers(kit.reply(b'{"a": 1}'), kit.reply(failure, 422))) as server:
            host = server.address.authority
            async with kit.connected(server.address, observer=told) as engine:
                await engine.create(POD, "n", b'{"body": 1}')
                with pytest.raises(Invalid):
                    await engine.get(POD, KEY)
            assert told.answers == [("POST", host, 11, 8), ("GET", host, 0, 0)]
            assert told.turns == [("POST", host), ("GET", host)]
            assert told.names == [], "an address needs no look-up"

    kit.run(main())
    assert all(0 <= seconds < 5 for seconds in told.seconds)


def test_retries_are_told_with_the_status_that_caused_them(kit: Kit) -> None:
    told = Told()

    async def main() -> None:
        busy = kit.reply({"kind": "Status", "reason": "TooManyRequests", "code": 429}, 429)
        async with kit.serve(kit.answers(busy, busy, kit.reply())) as server:
            async with kit.connected(server.address, observer=told, retry=THREE) as engine:
                await engine.delete(POD, KEY)
            assert told.retries == [("DELETE", server.address.authority, 429)] * 2
        async with kit.connected(Address("http", "127.0.0.1", 1), observer=told, retry=THREE) as engine:
            with pytest.raises(Unreachable):
                await engine.get(POD, KEY)
        assert told.retries[2:] == [("GET", "127.0.0.1:1", 0)] * 2

    kit.run(main())


def test_a_name_is_looked_up_once_for_each_connection_and_every_address_is_tried(kit: Kit) -> None:
    told = Told()

    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply())) as server:
            named = replace(server.address, host="localhost")  # also ::1, where nobody listens
            async with kit.connected(named, observer=told) as engine:
                await engine.get(POD, KEY)
                await engine.get(POD, KEY)
            assert told.names == ["localhost"]

    kit.run(main())


def test_watches_are_not_told(kit: Kit) -> None:
    told = Told()

    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply(b"", chunked=True))) as server:
            async with (
                kit.connected(server.address, observer=told) as engine,
                engine.watch(POD, WatchOptions()) as events,
            ):
                assert [event async for event in events] == []
            assert told.answers == []

    kit.run(main())
