"""Texts that two readers go over one after the other: the kubelet, and then a shell (P 2.1, 2.2).

The kubelet replaces `$(NAME)` in commands and arguments where NAME is a variable of the container, turns `$$` into `$`, and
leaves everything else alone, quotes or not. A token that is moved from an argument list into a script must mean the same to both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

_PYTHON: Final = re.compile(r"(?:.*/)?python\d*(?:\.\d+)*", re.DOTALL)
_SHELL: Final = re.compile(r"(?:.*/)?(?:sh|bash|ash|dash|zsh)", re.DOTALL)
_RUNS_TEXT: Final = re.compile(r"-[A-Za-z]*c")
_BARE: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_SCAN: Final = re.compile(r"(?P<escape>\$\$)|\$\((?P<name>[^)]*)\)|(?P<text>\$|[^$]+)", re.DOTALL)
_DOLLARS: Final = re.compile(r"\$|[^$]+")
_VARIABLE: Final = re.compile(r"[-._A-Za-z][-._A-Za-z0-9]*")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE: Final = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_ESCAPED: Final = re.compile(r'[\\"`]')


def is_python(command: Sequence[str]) -> bool:
    """Whether a container's command is a Python interpreter with its arguments."""
    return bool(command) and _PYTHON.fullmatch(command[0]) is not None


def is_shell(command: Sequence[str]) -> bool:
    """Whether a container's command is a shell that runs its first argument as a script."""
    return (
        len(command) > 1 and _SHELL.fullmatch(command[0]) is not None and _RUNS_TEXT.fullmatch(command[-1]) is not None
    )


def joined(tokens: Iterable[str]) -> str:
    """A script line in which a shell finds exactly those tokens, after the kubelet went over it."""
    return " ".join(quoted(token) for token in tokens)


def quoted(token: str) -> str:
    """The token as one word of a script. The shell resolves the references that the kubelet would have resolved.

    So a value may hold any character. A name that no shell can have as a variable is left to the kubelet.
    """
    if _BARE.fullmatch(token):
        return token
    pieces = list(_pieces(token))
    if not any(piece.kind == "name" for piece in pieces):
        return single_quoted(token)
    written = '"'
    for number, piece in enumerate(pieces):
        match piece.kind:
            case "name" if _IDENTIFIER.fullmatch(piece.text):
                written += f"${{{piece.text}}}"
            case "name":
                written += f"\"'$({piece.text})'\""
            case "dollar":
                following = pieces[number + 1] if number + 1 < len(pieces) else None
                written += "\\$$" if _looks_like_a_reference(following) else "\\$"
            case _:
                written += _ESCAPED.sub(r"\\\g<0>", piece.text)
    return written + '"'


def single_quoted(text: str) -> str:
    """The text as one word that no shell looks into."""
    return "'" + text.replace("'", "'\\''") + "'"


def in_shell(text: str) -> str:
    """The text with `${NAME}` for `$(NAME)`, for where the kubelet does not see a reference but a shell does."""
    return _REFERENCE.sub(lambda found: f"${{{found[1]}}}" if found[1] else found[0], text)


class _Piece(NamedTuple):
    kind: Literal["name", "dollar", "text"]
    text: str


def _pieces(token: str) -> Iterator[_Piece]:
    """The token as the kubelet reads it: references, dollar signs, and text between them."""
    for found in _SCAN.finditer(token):
        if found["escape"]:
            yield _Piece("dollar", "$")
        elif found["name"] is not None and _VARIABLE.fullmatch(found["name"]):
            yield _Piece("name", found["name"])
        else:
            yield from (_Piece("dollar" if part == "$" else "text", part) for part in _DOLLARS.findall(found[0]))


def _looks_like_a_reference(piece: _Piece | None) -> bool:
    """Whether the kubelet would not leave a dollar sign before that piece alone."""
    return piece is not None and (piece.kind != "text" or piece.text.startswith("("))
