"""Tokens that are read, fetched, renewed and refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.kubernetes.credentials import (
    FILE_PERIOD,
    RETRY_PERIOD,
    CredentialsUnavailable,
    Fixed,
    KeyPair,
    Renewing,
    Token,
    TokenFile,
)
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.key import Key

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit


class Scripted(Renewing):
    """Hands out `t1`, `t2`, ..., each good for `life`; fails while `broken`; takes one turn of the loop, or waits for `gate`."""

    def __init__(self, clock: ManualClock, life: timedelta | None = None) -> None:
        super().__init__(clock)
        self.clock = clock
        self.life = life
        self.count = 0
        self.broken = False
        self.gate: asyncio.Event | None = None
        self.make: Callable[[int], Token] = lambda n: Token(
            f"Bearer t{n}", clock.now() + self.life if self.life else None
        )

    async def fetch(self) -> Token:
        self.count += 1
        await (self.gate.wait() if self.gate else asyncio.sleep(0))
        if self.broken:
            raise CredentialsUnavailable("broken")
        return self.make(self.count)


def test_fixed_values() -> None:
    async def main() -> list[str]:
        return [await each.authorization() for each in (Fixed(), Fixed.bearer(" a\n"), Fixed.basic("u", "p"))]

    assert asyncio.run(main()) == ["", "Bearer a", "Basic dTpw"]
    assert asyncio.run(Fixed.bearer("a").renew("Bearer a")) is False


def test_a_token_without_an_end_is_fetched_once(kit: Kit) -> None:
    async def main() -> None:
        tokens = Scripted(ManualClock())
        assert [await tokens.authorization() for _ in range(3)] == ["Bearer t1"] * 3
        tokens.clock.advance(1e6)
        assert await tokens.authorization() == "Bearer t1"

    kit.run(main())


@pytest.mark.parametrize(("life", "good_for"), [(timedelta(hours=1), 55 * 60), (timedelta(minutes=8), 6 * 60)])
def test_a_token_is_renewed_before_its_end(life: timedelta, good_for: float, kit: Kit) -> None:
    async def main() -> None:
        tokens = Scripted(ManualClock(), life)
        assert await tokens.authorization() == "Bearer t1"
        tokens.clock.advance(good_for - 1)
        assert await tokens.authorization() == "Bearer t1"
        tokens.clock.advance(2)
        assert await tokens.authorization() == "Bearer t2"

    kit.run(main())


def test_all_that_wait_share_one_fetch_and_a_cancelled_one_does_not_take_it_away(kit: Kit) -> None:
    async def main() -> None:
        tokens = Scripted(ManualClock(), timedelta(hours=1))
        tokens.gate = asyncio.Event()
        first, *others = [asyncio.create_task(tokens.authorization()) for _ in range(10)]
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        tokens.gate.set()
        assert {await other for other in others} == {"Bearer t2"}
        assert tokens.count == 2  # the cancelled one's, which ended with it, and one for the nine

    kit.run(main())


def test_a_renewal_that_fails_early_leaves_the_old_token_until_its_end(kit: Kit) -> None:
    async def main() -> None:
        tokens = Scripted(ManualClock(), timedelta(hours=1))
        await tokens.authorization()
        tokens.broken = True
        tokens.clock.advance(56 * 60)
        with structlog.testing.capture_logs() as logs:
            assert await tokens.authorization() == "Bearer t1"
            assert await tokens.authorization() == "Bearer t1"
        assert (tokens.count, len(logs)) == (2, 1)  # tried once, and not again within the period
        tokens.clock.advance(RETRY_PERIOD)
        assert await tokens.authorization() == "Bearer t1"
        assert tokens.count == 3
        tokens.clock.advance(5 * 60)
        with pytest.raises(CredentialsUnavailable):
            await tokens.authorization()
        tokens.broken = False
        assert await tokens.authorization() == "Bearer t5"

    kit.run(main())


def test_one_rejection_forces_one_renewal_for_everybody(kit: Kit) -> None:
    async def main() -> None:
        tokens = Scripted(ManualClock())
        await tokens.authorization()
        assert await asyncio.gather(*(tokens.renew("Bearer t1") for _ in range(5))) == [True] * 5
        assert (tokens.count, await tokens.authorization()) == (2, "Bearer t2")
        assert await tokens.renew("Bearer t2") is False  # within the period: the server, not the token, is at fault
        assert tokens.count == 2
        tokens.clock.advance(RETRY_PERIOD)
        assert await tokens.renew("Bearer t2") is True

    kit.run(main())


def test_a_renewal_that_brings_the_same_again_is_no_news(kit: Kit) -> None:
    async def main() -> None:
        tokens = Scripted(ManualClock())
        tokens.make = lambda _: Token("Bearer same")
        await tokens.authorization()
        assert await tokens.renew("Bearer same") is False

    kit.run(main())


def test_a_renewal_that_brings_another_certificate_is_news(kit: Kit) -> None:
    async def main() -> None:
        tokens = Scripted(ManualClock())
        tokens.make = lambda n: Token("", pair=KeyPair(b"c%d" % n, b"k"))
        await tokens.authorization()
        assert await tokens.renew("") is True
        assert tokens.pair == KeyPair(b"c2", b"k")

    kit.run(main())


def test_a_token_file_is_read_once_a_period_and_survives_a_short_absence(tmp_path: Path, kit: Kit) -> None:
    file, clock = tmp_path / "token", ManualClock()
    file.write_text("one\n")

    async def main() -> None:
        tokens = TokenFile(file, clock)
        assert await tokens.authorization() == "Bearer one"
        file.write_text("two")
        assert await tokens.authorization() == "Bearer one"
        clock.advance(FILE_PERIOD)
        assert await tokens.authorization() == "Bearer two"
        file.unlink()
        clock.advance(FILE_PERIOD)
        with structlog.testing.capture_logs() as logs:
            assert await tokens.authorization() == "Bearer two"
        assert len(logs) == 1

    kit.run(main())


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
def test_a_token_file_without_a_token_is_unavailable_and_names_itself(
    content: bytes | None, tmp_path: Path, kit: Kit
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)

    async def main() -> None:
        with pytest.raises(CredentialsUnavailable, match=str(file)):
            await TokenFile(file, ManualClock()).authorization()

    kit.run(main())


def test_credentials_that_cannot_be_had_end_a_call_before_anything_is_sent(kit: Kit) -> None:
    async def main() -> None:
        tokens = Scripted(ManualClock())
        tokens.broken = True
        async with kit.serve(kit.answers(kit.reply())) as server:
            async with kit.connected(server.address, credentials=tokens) as engine:
                for call in (engine.get(POD, Key("n", "p")), engine.list(POD, ListOptions())):
                    with pytest.raises(CredentialsUnavailable) as raised:
                        await call
                    assert not raised.value.maybe_done
            assert (server.connections, tokens.count) == (0, 2)

    kit.run(main())
