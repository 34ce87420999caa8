"""The HTTP server: addresses, routes, and what happens when it cannot listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from dynamo_ctrl.manager.errors import CannotListen, InvalidOption
from dynamo_ctrl.manager.health import Checks, Response
from dynamo_ctrl.manager.http import HttpServer, parse_address, servers


@pytest.mark.parametrize(
    ("address", "parsed"),
    [
        ("", None),
        ("0", None),
        (":8080", (None, 8080)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("localhost:81", ("localhost", 81)),
        ("[::1]:8081", ("::1", 8081)),
    ],
)
def test_an_address(address: str, parsed: object) -> None:
    assert parse_address("health_address", address) == parsed


@pytest.mark.parametrize("address", ["8080", "host:", "host:x", "host:70000", "::1:80", ":-1"])
def test_a_bad_address_is_named_with_its_option(address: str) -> None:
    with pytest.raises(InvalidOption, match=r"^health_address: must be 'host:port'"):
        parse_address("health_address", address)


@asynccontextmanager
async def serving(server: HttpServer) -> AsyncIterator[str]:
    task = asyncio.create_task(server.run())
    await asyncio.wait_for(server.ready(), 30)
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        task.cancel()
        await asyncio.wait([task])


async def get(url: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, answer.headers["Content-Type"], await answer.text()


@pytest.mark.real_loop
async def test_routes_get_the_rest_of_the_path_and_the_query() -> None:
    checks = Checks("healthz")
    checks.add("one/two", lambda: "broken")
    routes = {"healthz": checks.respond, "metrics": lambda path, query: Response(200, f"{path}|{query}", "text/x")}
    async with serving(HttpServer("health_address", "127.0.0.1:0", routes)) as url:
        assert await get(f"{url}/healthz?exclude=one/two") == (200, "text/plain; charset=utf-8", "ok")
        assert (await get(f"{url}/healthz/one/two"))[0] == 500
        assert await get(f"{url}/metrics?a=1&a=2") == (200, "text/x", "|{'a': ['1', '2']}")
        assert await get(f"{url}/other") == (
            404,
            "text/plain; charset=utf-8",
            "not found; there are: /healthz, /metrics\n",
        )
        assert (await get(url))[0] == 404


@pytest.mark.real_loop
async def test_an_address_in_use_is_an_error_that_names_it() -> None:
    async with serving(HttpServer("health_address", "127.0.0.1:0", {})) as url:
        taken = url.removeprefix("http://")
        with pytest.raises(CannotListen, match=f"metrics_address: cannot listen on {taken}: "):
            await HttpServer("metrics_address", taken, {}).run()


def test_options_with_one_address_share_a_server() -> None:
    def nothing(path: str, query: object) -> Response:
        return Response(200, "")

    made = servers(("a", ":1", {"x": nothing}), ("b", "0", {"y": nothing}), ("c", ":1", {"z": nothing}))
    assert [server.address for server in made] == [":1"]
