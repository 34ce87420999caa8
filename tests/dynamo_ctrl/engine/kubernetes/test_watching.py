"""An open watch: order, ends, limits, and what it leaves behind."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.engine import errors
from dynamo_ctrl.engine.kubernetes import lines, watching
from dynamo_ctrl.engine.kubernetes.retry import RetryOptions
from dynamo_ctrl.engine.port import WatchEvent, WatchOptions
from dynamo_ctrl.objects.builtin.core import POD

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit, Received

pytestmark = pytest.mark.parametrize("kit", ["asyncio", "uvloop"], indirect=True)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def line(type_: str, /, **content: Any) -> bytes:
    return json.dumps({"type": type_, "object": content}, separators=(",", ":")).encode() + b"\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_events_come_in_order_however_the_chunks_fall(kit: Kit) -> None:
    text = line("ADDED", n=1) + line("MODIFIED", n=2) + line("BOOKMARK", n=3) + line("DELETED", n=4)
    bodies = [
        chunk(text),
        b"".join(chunk(text[at : at + 1]) for at in range(len(text))),
        chunk(text[:30]) + chunk(text[30:]),
        chunk(text[:-1]),
    ]
    expected = [
        WatchEvent("ADDED", b'{"n":1}'),
        WatchEvent("MODIFIED", b'{"n":2}'),
        WatchEvent("BOOKMARK", b'{"n":3}'),
        WatchEvent("DELETED", b'{"n":4}'),
    ]

    async def main() -> None:
        async with kit.serve(kit.answers(*(HEAD + body + END for body in bodies))) as server:
            async with kit.connected(server.address) as engine:
                for _ in bodies:
                    async with engine.watch(POD, WatchOptions()) as events:
                        assert [event async for event in events] == expected
            assert server.connections == 1  # each watch ended well, and its connection was used again

    kit.run(main())


def test_every_option_is_in_the_query(kit: Kit) -> None:
    options = WatchOptions(
        namespace="n",
        label_selector="a=b,c",
        field_selector="spec.nodeName=x",
        resource_version="12",
        timeout=7.2,
        send_initial=True,
    )

    async def main() -> None:
        async with kit.serve(kit.answers(HEAD + END)) as server:
            async with kit.connected(server.address) as engine:
                for each in (options, WatchOptions(bookmarks=False)):
                    async with engine.watch(POD, each):
                        pass
            assert [request.target for request in server.received] == [
                "/api/v1/namespaces/n/pods?watch=true&resourceVersion=12&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
                "&allowWatchBookmarks=true&timeoutSeconds=8&labelSelector=a%3Db%2Cc&fieldSelector=spec.nodeName%3Dx",
                "/api/v1/pods?watch=true&timeoutSeconds=290",
            ]

    kit.run(main())


def test_a_half_open_stream_is_given_up_after_the_idle_limit_and_each_event_begins_it_anew(kit: Kit) -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for number in range(3):
            await asyncio.sleep(0.4)
            writer.write(chunk(line("ADDED", n=number)))
        writer.write(chunk(b'{"type":"ADD'))
        await asyncio.sleep(60)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with (
            kit.serve(handle) as server,
            kit.connected(server.address) as engine,
            engine.watch(POD, WatchOptions(idle=1.0)) as events,
        ):
            began = loop.time()
            for _ in range(3):
                await anext(events)
            assert loop.time() - began > 1.0
            with pytest.raises(errors.Unanswered, match="silent"):
                await anext(events)

    kit.run(main())


def test_a_server_that_ignores_its_own_time_out_is_given_up(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "GRACE", 0.1)

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            await asyncio.sleep(0.05)
            writer.write(chunk(line("BOOKMARK")))

    async def main() -> None:
        async with (
            kit.serve(handle) as server,
            kit.connected(server.address) as engine,
            engine.watch(POD, WatchOptions(timeout=0.2)) as events,
        ):
            with pytest.raises(errors.Unanswered):
                async for _ in events:
                    pass

    kit.run(main())


@pytest.mark.parametrize("how", ["abort", "close", "garbage"])
def test_a_stream_that_breaks_gives_what_it_had_and_then_an_error(how: str, kit: Kit) -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(line("ADDED", n=1)))
        await writer.drain()
        await asyncio.sleep(0.05)
        if how == "abort":
            writer.transport.abort()
        elif how == "close":
            writer.close()
        else:
            writer.write(chunk(b"<html>gateway time-out</html>\n"))
            await asyncio.sleep(60)

    async def main() -> None:
        async with (
            kit.serve(handle) as server,
            kit.connected(server.address) as engine,
            engine.watch(POD, WatchOptions()) as events,
        ):
            assert (await anext(events)).type == "ADDED"
            with pytest.raises(errors.MalformedAnswer if how == "garbage" else errors.Unanswered):
                await anext(events)

    kit.run(main())


def test_a_line_that_never_ends_is_refused(kit: Kit) -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            writer.write(chunk(b"x" * (1 << 18)))
            await writer.drain()

    async def main() -> None:
        async with (
            kit.serve(handle) as server,
            kit.connected(server.address) as engine,
            engine.watch(POD, WatchOptions()) as events,
        ):
            with pytest.raises(lines.LineTooLong):
                await anext(events)

    kit.run(main())


def test_an_error_event_is_an_event(kit: Kit) -> None:
    async def main() -> None:
        text = line("ERROR", kind="Status", code=410, reason="Expired")
        async with (
            kit.serve(kit.answers(HEAD + chunk(text) + END)) as server,
            kit.connected(server.address) as engine,
            engine.watch(POD, WatchOptions()) as events,
        ):
            assert [event.type async for event in events] == ["ERROR"]

    kit.run(main())


def test_a_watch_that_is_refused_raises_as_a_list_does(kit: Kit) -> None:
    async def main() -> None:
        expired = kit.reply({"kind": "Status", "reason": "Expired", "code": 410}, 410)
        async with (
            kit.serve(kit.answers(expired)) as server,
            kit.connected(server.address, retry=RetryOptions(attempts=2)) as engine,
        ):
            with pytest.raises(errors.Expired):
                async with engine.watch(POD, WatchOptions()):
                    pytest.fail("opened")

    kit.run(main())


def test_events_that_nobody_takes_stop_the_reading(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MAX_QUEUED", 100_000)
    sent = 0
    total = 40_000_000
    event = chunk(line("ADDED", data="x" * 10_000))

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEAD)
        while sent < total:
            writer.write(event)
            await writer.drain()
            sent += len(event)
        writer.write(END)

    async def main() -> None:
        async with (
            kit.serve(handle) as server,
            kit.connected(server.address) as engine,
            engine.watch(POD, WatchOptions()) as events,
        ):
            await anext(events)
            before = 0
            while sent != before:
                before = sent
                await asyncio.sleep(0.1)
            assert sent < total / 2
            count = 1
            async for _ in events:
                count += 1
            assert count == -(-total // len(event))

    kit.run(main())


def test_leaving_a_watch_drops_its_connection_and_cancelling_it_leaves_nothing(kit: Kit) -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(line("ADDED")))
        await asyncio.sleep(60)

    async def main() -> None:
        async with kit.serve(handle) as server, kit.connected(server.address) as engine:

            async def follow() -> None:
                async with engine.watch(POD, WatchOptions()) as events:
                    async for _ in events:
                        pass

            task = asyncio.create_task(follow())
            await server.until(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with engine.watch(POD, WatchOptions()) as events:
                await anext(events)
            assert server.connections == 2

    kit.run(main())
