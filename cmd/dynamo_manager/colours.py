"""Tones as colours, where a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TextIO

from dynamo_ctrl.plan.text import Line, Tone

_CODES: Final[Mapping[Tone, str]] = {
    Tone.HEADING: "1", Tone.ADDED: "32", Tone.CHANGED: "33", Tone.REMOVED: "31", Tone.WRONG: "1;31",
}  # fmt: skip


def write(lines: Iterable[Line], to: TextIO, environment: Mapping[str, str]) -> None:
    """Write lines, in colour if `to` is a terminal and nobody objects (`NO_COLOR`, a dumb terminal)."""
    plain = not to.isatty() or bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
    for line in lines:
        code = "" if plain else _CODES.get(line.tone, "")
        to.write(f"\x1b[{code}m{line.text}\x1b[0m\n" if code else f"{line.text}\n")
