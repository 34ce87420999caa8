"""What a broken network or a troubled server does to a call: the right type of error, the right number of attempts, in time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.engine import errors
from dynamo_ctrl.engine.kubernetes.config import Address
from dynamo_ctrl.engine.kubernetes.engine import KubernetesEngine
from dynamo_ctrl.engine.kubernetes.retry import RetryOptions
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit, Received

pytestmark = pytest.mark.parametrize("kit", ["asyncio", "uvloop"], indirect=True)

KEY = Key("n", "p")
THREE = RetryOptions(attempts=3)


async def create(engine: KubernetesEngine) -> bytes:
    return await engine.create(POD, "n", b"{}")


async def update(engine: KubernetesEngine) -> bytes:
    return await engine.update(POD, KEY, b"{}")


async def patch(engine: KubernetesEngine) -> bytes:
    return await engine.patch(POD, KEY, Patch.merge({}))


async def delete(engine: KubernetesEngine) -> bytes:
    return await engine.delete(POD, KEY)


async def get(engine: KubernetesEngine) -> bytes:
    return await engine.get(POD, KEY)


async def list_(engine: KubernetesEngine) -> object:
    return await engine.list(POD, ListOptions())


async def watch(engine: KubernetesEngine) -> object:
    async with engine.watch(POD, WatchOptions()) as events:
        return [event async for event in events]


async def discover(engine: KubernetesEngine) -> object:
    return await engine.discover("", "v1")


WRITES = (create, update, patch, delete)
READS = (get, list_, watch, discover)


def trouble(kit: Kit, code: int, *, retry_after: int | None = None, reason: str = "") -> bytes:
    headers = () if retry_after is None else (("Retry-After", str(retry_after)),)
    return kit.reply(
        {"kind": "Status", "status": "Failure", "reason": reason, "code": code, "message": "no"}, code, headers
    )


@pytest.mark.parametrize("call", READS)
@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_read_is_sent_again_after_429_and_5xx(code: int, call: Any, kit: Kit) -> None:
    async def main() -> None:
        good = (
            kit.reply({"items": [], "resources": [], "metadata": {}})
            if call is not watch
            else kit.reply(b"", chunked=True)
        )
        async with kit.serve(kit.answers(trouble(kit, code), trouble(kit, code), good)) as server:
            async with kit.connected(server.address, retry=THREE) as engine:
                await call(engine)
            assert len(server.received) == 3

    kit.run(main())


@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize(
    ("code", "retry_after", "error", "sent"),
    [
        (429, None, errors.TooManyRequests, 3),
        (429, 1, errors.TooManyRequests, 3),
        (503, 1, errors.Unavailable, 3),
        (503, None, errors.Unavailable, 1),
        (500, 1, errors.ServerError, 1),
        (502, 1, errors.Unavailable, 1),
        (504, 1, errors.ServerTimeout, 1),
    ],
)
def test_a_write_is_sent_again_only_where_the_server_has_turned_it_away(
    code: int, retry_after: int | None, error: type[Exception], sent: int, call: Any, kit: Kit
) -> None:
    async def main() -> None:
        async with kit.serve(kit.answers(trouble(kit, code, retry_after=retry_after))) as server:
            async with kit.connected(server.address, retry=THREE, request_timeout=20.0) as engine:
                with pytest.raises(error):
                    await call(engine)
            assert len(server.received) == sent

    kit.run(main())


@pytest.mark.parametrize("call", [*WRITES, *READS])
def test_a_refused_connection_is_unreachable_and_tried_again(call: Any, kit: Kit) -> None:
    codes: list[int] = []

    async def main() -> None:
        on_request = lambda *attempt: codes.append(attempt[2])  # noqa: E731
        async with kit.connected(Address("http", "127.0.0.1", 1), retry=THREE, on_request=on_request) as engine:
            with pytest.raises(errors.Unreachable) as raised:
                await call(engine)
            assert not raised.value.maybe_done

    kit.run(main())
    assert codes == [0, 0, 0]


@pytest.mark.parametrize("call", [create, get, list_])
def test_a_name_that_does_not_resolve_is_unreachable(call: Any, kit: Kit) -> None:
    async def main() -> None:
        async with kit.connected(Address("http", "no-such-host.invalid", 80), retry=RetryOptions(attempts=1)) as engine:
            with pytest.raises(errors.Unreachable):
                await call(engine)

    kit.run(main())


@pytest.mark.parametrize(("call", "sent"), [*((write, 1) for write in WRITES), *((read, 3) for read in READS)])
def test_a_connection_that_breaks_after_the_request_was_sent_is_unanswered(call: Any, sent: int, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(kit.answers(None)) as server:
            async with kit.connected(server.address, retry=THREE) as engine:
                with pytest.raises(errors.Unanswered) as raised:
                    await call(engine)
                assert raised.value.maybe_done
            assert len(server.received) == sent

    kit.run(main())


@pytest.mark.parametrize("call", WRITES)
def test_a_write_on_a_kept_connection_that_breaks_is_never_sent_twice(call: Any, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(kit.answers(kit.reply(), None)) as server:
            async with kit.connected(server.address, retry=THREE) as engine:
                await get(engine)
                with pytest.raises(errors.Unanswered):
                    await call(engine)
            assert len(server.received) == 2

    kit.run(main())


def test_a_list_on_a_kept_connection_that_the_server_has_closed_gets_a_fresh_one_unseen(kit: Kit) -> None:
    codes: list[int] = []

    async def main() -> None:
        good = kit.reply({"items": [], "metadata": {}})
        async with kit.serve(kit.answers(good, None, good)) as server:
            on_request = lambda *attempt: codes.append(attempt[2])  # noqa: E731
            async with kit.connected(server.address, retry=RetryOptions(attempts=1), on_request=on_request) as engine:
                await list_(engine)
                await list_(engine)
            assert (len(server.received), server.connections) == (3, 2)

    kit.run(main())
    assert codes == [200, 200]


@pytest.mark.parametrize("call", [get, create, list_, watch])
def test_silence_ends_at_the_deadline_as_unanswered(call: Any, kit: Kit) -> None:
    async def never(_: Received, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with (
            kit.serve(never) as server,
            kit.connected(server.address, request_timeout=0.2) as engine,
        ):
            began = loop.time()
            with pytest.raises(errors.Unanswered, match=r"no answer within 0\.2 s"):
                await call(engine)
            assert 0.19 <= loop.time() - began < 30.0  # uvloop's clock has milliseconds

    kit.run(main())


def test_a_list_whose_body_stalls_ends_at_the_deadline(kit: Kit) -> None:
    async def half(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(kit.reply({"items": [], "metadata": {}})[:-5])

    async def main() -> None:
        async with (
            kit.serve(half) as server,
            kit.connected(server.address, request_timeout=0.2) as engine,
        ):
            with pytest.raises(errors.Unanswered):
                await list_(engine)

    kit.run(main())


@pytest.mark.parametrize("call", [get, list_, watch])
@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx"]
)
def test_what_is_no_plain_http_is_a_malformed_answer(answer: bytes, call: Any, kit: Kit) -> None:
    async def main() -> None:
        async with kit.serve(kit.answers(answer)) as server:
            async with kit.connected(server.address) as engine:
                with pytest.raises(errors.MalformedAnswer):
                    await call(engine)
            assert len(server.received) == 1

    kit.run(main())


@pytest.mark.parametrize("call", [list_, watch, discover])
def test_a_body_that_is_no_json_is_a_malformed_answer(call: Any, kit: Kit) -> None:
    async def main() -> None:
        async with (
            kit.serve(kit.answers(kit.reply(b"<html>not what you asked for</html>"))) as server,
            kit.connected(server.address) as engine,
        ):
            with pytest.raises(errors.MalformedAnswer):
                await call(engine)

    kit.run(main())


@pytest.mark.parametrize("call", [get, list_])
def test_an_error_page_of_a_proxy_keeps_its_status_and_text(call: Any, kit: Kit) -> None:
    async def main() -> None:
        async with (
            kit.serve(kit.answers(kit.reply(b"<h1>Bad Gateway</h1>", 502))) as server,
            kit.connected(server.address, retry=RetryOptions(attempts=1)) as engine,
        ):
            with pytest.raises(errors.Unavailable, match="Bad Gateway") as raised:
                await call(engine)
            assert raised.value.code == 502

    kit.run(main())


@pytest.mark.parametrize("call", [get, list_])
def test_a_redirect_is_not_followed(call: Any, kit: Kit) -> None:
    async def main() -> None:
        away = kit.reply(b"", 307, [("Location", "http://127.0.0.1:1/elsewhere")])
        async with kit.serve(kit.answers(away)) as server:
            async with kit.connected(server.address, retry=RetryOptions(attempts=1)) as engine:
                with pytest.raises(errors.EngineError):
                    await call(engine)
            assert len(server.received) == 1

    kit.run(main())


def test_a_version_that_the_server_has_not_reached_is_raised_at_once(kit: Kit) -> None:
    async def main() -> None:
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        status = {
            "kind": "Status",
            "reason": "Timeout",
            "code": 504,
            "message": "x",
            "details": {"causes": [cause], "retryAfterSeconds": 1},
        }
        async with kit.serve(kit.answers(kit.reply(status, 504, [("Retry-After", "1")]))) as server:
            async with kit.connected(server.address) as engine:
                with pytest.raises(errors.TooLargeResourceVersion):
                    await list_(engine)
            assert len(server.received) == 1

    kit.run(main())


@pytest.mark.parametrize("call", [get, create, list_, watch])
def test_each_attempt_is_counted_with_its_code_method_and_host(call: Any, kit: Kit) -> None:
    told: list[tuple[str, str, int, float]] = []

    async def main() -> str:
        good = kit.reply({"items": [], "metadata": {}}) if call is not watch else kit.reply(b"", chunked=True)
        async with (
            kit.serve(kit.answers(trouble(kit, 429), good)) as server,
            kit.connected(server.address, on_request=lambda *attempt: told.append(attempt)) as engine,
        ):
            await call(engine)
            return server.address.authority

    host = kit.run(main())
    method = "POST" if call is create else "GET"
    assert [attempt[:3] for attempt in told] == [(method, host, 429), (method, host, 200)]
    assert all(attempt[3] >= 0 for attempt in told)
