"""`dynamo-manager programs`: what is installed, from which distribution, and what it watches."""

from __future__ import annotations

from collections.abc import Iterator

from dynamo_ctrl.controller.builder import Watches
from dynamo_ctrl.program.registry import Loaded


def lines(programs: tuple[Loaded, ...]) -> Iterator[str]:
    """One paragraph for each program."""
    for loaded in programs:
        provider = getattr(loaded.program, "provider", None)
        role = f" (provider {provider})" if provider else ""
        yield f"{loaded.name}{role}  from {loaded.distribution}, entry {loaded.entry}"
        watches: Watches[object] = loaded.program.watches  # type: ignore[type-var]
        yield f"  primary  {watches.primary.kind}"
        for watch in watches.others:
            how = "reads" if watch.mapper is None else "watches"
            yield f"  {how:8} {watch.kind}{'  (optional)' if watch.optional else ''}"
