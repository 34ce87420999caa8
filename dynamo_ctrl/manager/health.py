"""Health checks: what `/healthz` and `/readyz` answer. Pure; the server is `dynamo_ctrl.manager.http`.

`/readyz` runs every check, `/readyz/<name>` one of them. `?verbose` lists them all, `?exclude=<name>` leaves one out; a failing
answer always lists. Without any check there is one called `ping`. Reasons are shown: they say what mends the failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Check: TypeAlias = Callable[[], str | None]
"""`None` when all is well, else the reason why not; raising is a reason too. Called for each request; must not block."""

Source: TypeAlias = Callable[[], Iterable[tuple[str, str | None]]]
"""Several checks at once, computed when they are asked for: names with their results."""


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP answer with a text body."""

    status: int
    body: str
    content_type: str = "text/plain; charset=utf-8"


class Checks:
    """The checks of one endpoint, e.g. `readyz`."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._checks: dict[str, Check] = {}
        self._sources: list[Source] = []

    def add(self, name: str, check: Check) -> None:
        """Add a check. Raises `ValueError` for a name that is taken."""
        if name in self._checks:
            raise ValueError(f"{self.endpoint}: there is a check {name!r} already")
        self._checks[name] = check

    def add_source(self, source: Source) -> None:
        """Add checks whose names are known only when they are asked for."""
        self._sources.append(source)

    def results(self) -> dict[str, str | None]:
        """Every check with its result, in order."""
        results = {name: _result(check) for name, check in self._checks.items()}
        for source in self._sources:
            results.update(source())
        return results or {"ping": None}

    def respond(self, path: str, query: Mapping[str, Sequence[str]]) -> Response:
        """The answer for what follows the endpoint in the path: nothing, or the name of a check."""
        results = self.results()
        name = path.strip("/")
        if name:
            if name not in results:
                return Response(404, f"{self.endpoint}: no check {name!r}; there are: {', '.join(results)}\n")
            results = {name: results[name]}
        unknown = [excluded for excluded in query.get("exclude", ()) if results.pop(excluded, _MISSING) is _MISSING]
        failing = any(reason is not None for reason in results.values())
        if not failing and "verbose" not in query:
            return Response(200, "ok")
        lines = [_line(check, reason) for check, reason in results.items()]
        lines += [f"warn: no check to exclude is called {excluded}" for excluded in unknown]
        lines.append(f"{self.endpoint} check {'failed' if failing else 'passed'}")
        return Response(500 if failing else 200, "\n".join(lines) + "\n")


_MISSING = object()


def _result(check: Check) -> str | None:
    """A check that cannot be made has failed; the others are told all the same."""
    try:
        return check()
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  (it does not await: no cancellation of ours)
        return f"the check raised {type(error).__name__}: {error}"


def _line(name: str, reason: str | None) -> str:
    return f"[+]{name} ok" if reason is None else f"[-]{name} failed: {reason}"
