"""`dynamo-manager programs`: what is installed, from which distribution, and what it watches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dynamo_ctrl.controller.builder import Watch, Watches
from dynamo_ctrl.program.registry import Loaded


def lines(programs: Sequence[Loaded]) -> Iterator[str]:
    """A paragraph for each program."""
    for number, loaded in enumerate(programs):
        if number:
            yield ""
        provider = getattr(loaded.program, "provider", "")
        yield f"{loaded.entry}  ({loaded.distribution}{f', provider {provider}' if provider else ''})"
        watches: Watches[Any] = loaded.program.watches
        yield _line("drives", watches.primary)
        # A kind whose changes wake in two ways is watched once.
        yield from dict.fromkeys(
            _line("reads" if watch.mapper is None else "watches", watch) for watch in watches.others
        )


def _line(how: str, watch: Watch[Any]) -> str:
    extras = [f"labels {watch.label_selector}"] if watch.label_selector else []
    extras += ["optional"] if watch.optional else []
    more = f"  ({', '.join(extras)})" if extras else ""
    return f"  {how:8} {watch.kind}{more}"
