"""Closing the engine ends everything at once, as `Unreachable`, and leaves no connection and no warning."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.engine.errors import Unreachable
from dynamo_ctrl.engine.kubernetes.engine import KubernetesEngine
from dynamo_ctrl.engine.kubernetes.retry import RetryOptions
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.key import Key

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Certificates, Kit, Received

pytestmark = pytest.mark.parametrize("kit", ["asyncio", "uvloop"], indirect=True)


async def get(engine: KubernetesEngine) -> object:
    return await engine.get(POD, Key("n", "p"))


async def list_(engine: KubernetesEngine) -> object:
    return await engine.list(POD, ListOptions())


async def create(engine: KubernetesEngine) -> object:
    return await engine.create(POD, "n", b"{}")


async def watch(engine: KubernetesEngine) -> object:
    async with engine.watch(POD, WatchOptions()) as events:
        return [event async for event in events]


CALLS = pytest.mark.parametrize("call", [get, list_, create, watch])


async def silent(request: Received, writer: asyncio.StreamWriter) -> None:
    if "watch" in request.target:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")


@CALLS
@pytest.mark.parametrize("tls", [True, False], ids=["https", "http"])
def test_calls_under_way_end_as_unreachable(call: Any, tls: bool, kit: Kit, certificates: Certificates) -> None:
    async def main() -> None:
        context = certificates.server_context() if tls else None
        config: dict[str, Any] = {"tls": certificates.trust} if tls else {}
        async with kit.serve(silent, context) as server, kit.connected(server.address, **config) as engine:
            tasks = [asyncio.create_task(call(engine)) for _ in range(3)]
            await server.until(3)
            await asyncio.sleep(0.05)
            await engine.close()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(result) for result in results] == [Unreachable] * 3

    kit.run(main())


@CALLS
def test_a_call_on_a_closed_engine_is_unreachable_and_closing_twice_is_nothing(call: Any, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(silent) as server, kit.connected(server.address) as engine:
            await engine.close()
            await engine.close()
            with pytest.raises(Unreachable, match="closed"):
                await call(engine)
            assert server.connections == 0

    kit.run(main())


def test_a_wait_between_two_attempts_ends_as_well(kit: Kit) -> None:
    async def main() -> None:
        throttled = kit.reply(b"{}", 429, [("Retry-After", "5")])
        async with (
            kit.serve(kit.answers(throttled)) as server,
            kit.connected(server.address, sleep=asyncio.sleep, request_timeout=20, retry=RetryOptions()) as engine,
        ):
            task = asyncio.create_task(get(engine))
            await server.until(1)
            await engine.close()
            with pytest.raises(Unreachable):
                await task

    kit.run(main())


@CALLS
def test_cancelling_a_call_passes_on_at_once_and_the_engine_lives_on(call: Any, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(silent) as server, kit.connected(server.address) as engine:
            task = asyncio.create_task(call(engine))
            await server.until(1)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.handler = kit.answers(kit.reply({"items": [], "metadata": {}}))
            await list_(engine)
            await get(engine)

    kit.run(main())


def test_calls_that_wait_for_a_free_connection_are_ended_too(kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(silent) as server, kit.connected(server.address) as engine:
            tasks = [asyncio.create_task(get(engine)) for _ in range(100)]
            await server.until(64)
            await engine.close()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(result) for result in results} == {Unreachable}
            assert len(server.received) == 64

    kit.run(main())
