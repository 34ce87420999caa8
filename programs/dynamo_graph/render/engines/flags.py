"""The flags that a user gives to an engine, wherever they stand: in the command, in arguments, in a script (P 2.3.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dynamo_ctrl.objects.frozen import JsonMap

TENSOR: Final = "--tensor-parallel-size"
PIPELINE: Final = "--pipeline-parallel-size"
DATA: Final = "--data-parallel-size"
ELASTIC: Final = "--enable-elastic-ep"

_SHORT: Final = {
    "-tp": TENSOR,
    "-pp": PIPELINE,
    "-dp": DATA,
    "-dpl": "--data-parallel-size-local",
    "-dpb": "--data-parallel-backend",
}
_VALUED: Final = frozenset({*_SHORT.values(), "--distributed-executor-backend"})
_UNDERSCORED: Final = {flag[:2] + flag[2:].replace("-", "_"): flag for flag in (*_VALUED, ELASTIC)}
_OPERATORS: Final = re.compile(r"[;&|<>()]")
_INTEGER: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags and values as separate tokens, with their long names."""

    tokens: tuple[str, ...]

    @classmethod
    def of(cls, container: JsonMap) -> Flags:
        """What stands in the command and the arguments of a container."""
        elements = (*(container.get("command") or ()), *(container.get("args") or ()))
        return cls(tuple(token for element in elements for word in element.split() for token in _normalised(word)))

    def has(self, flag: str) -> bool:
        """Whether a flag is given, with a value or without."""
        return any(token == flag or token.startswith(f"{flag}=") for token in self.tokens)

    def number(self, flag: str) -> int:
        """The first whole number that follows the flag; 1 without one."""
        for token, value in zip(self.tokens, self.tokens[1:], strict=False):
            if token == flag and _INTEGER.fullmatch(value):
                return int(value)
        return 1


def _normalised(word: str) -> Iterable[str]:
    name, equals, value = word.partition("=")
    name = _SHORT.get(name) or _UNDERSCORED.get(name) or name
    if not equals:
        return (name,) if name != word else (_bare(word),)
    if name in _VALUED and not value.startswith("--"):
        return (name, _bare(value))
    return (f"{name}={value}",)


def _bare(value: str) -> str:
    """A value without the quotes around it, and without an operator of the shell that is glued to it."""
    if not _INTEGER.match(value.strip("\"'")):
        return value
    return _OPERATORS.split(value, maxsplit=1)[0].strip("\"'")
