"""Flags of the operator in the user's command (P 2.2).

A command in Python form gets them behind its arguments; if a shell has to work them out, the whole command becomes one script.
A script gets them directly after the module that it starts, so that quotes, pipes and what follows stay what they were.
"""

from __future__ import annotations

import re
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.shell import is_python, is_shell, joined

AT: Final = "podTemplate.spec.containers[main].command"
"""Where a command stands, for errors."""

SHELL: Final = ("/bin/sh", "-c")
"""The shell of scripts that take the place of the user's command."""

_BLANK: Final = r"(?:[^\S\n]|\\\n)"
_COMMAND: Final = re.compile(r"(?<![\w.-])python(?:\\\n|[^|&;\n])*")
"""An interpreter, up to the end of the shell's command."""


def with_flags(
    container: JsonMap, flags: str, *, component: str, framework: str, needs_shell: bool = False
) -> dict[str, Any]:
    """The container with `flags` in its command.

    Args:
        container: the rendered container `main`.
        flags: in their order, separated by blanks.
        component: its name, for errors.
        framework: the engine whose module the command starts.
        needs_shell: whether a value in `flags` is worked out by a shell.

    Raises:
        RenderError: there is no place for them.
    """
    command, arguments = list(container.get("command") or ()), list(container.get("args") or ())
    if is_python(command):
        if needs_shell:
            return as_script(container, f"exec {joined([*command, *arguments])} {flags}")
        return {**container, "args": [*arguments, *flags.split()]}
    if needs_shell and not is_shell(command):
        raise no_place(component)
    return {**container, "args": inserted(arguments, flags, component=component, framework=framework)}


def inserted(arguments: list[str], flags: str, *, component: str, framework: str) -> list[str]:
    """The arguments with `flags` in the first of them that starts the engine. Raises `RenderError` if none does."""
    for index, argument in enumerate(arguments):
        changed = _with_insertion(argument, flags, framework)
        if changed is not None:
            return [*arguments[:index], changed, *arguments[index + 1 :]]
    raise no_place(component)


def as_script(container: JsonMap, script: str, *, by: tuple[str, ...] = ("sh", "-c")) -> dict[str, Any]:
    """The container with that script for a command."""
    return {**container, "command": list(by), "args": [script]}


def no_place(component: str) -> RenderError:
    """Neither a Python command nor a script that starts the engine."""
    return RenderError(AT, f'component "{component}": multinode flags need a shell or a python command')


def _with_insertion(script: str, flags: str, framework: str) -> str | None:
    """The script with `flags` behind every start of the engine; `None` if it starts none.

    Commands that merely mention the engine count only where none starts its module.
    """
    module = re.compile(rf"(?<!\S)-m{_BLANK}+(['\"]?)dynamo\.{framework}(?![\w-])[\w.]*\1")
    mention = re.compile(rf"\S*{framework}\S*")
    stretches = list(_COMMAND.finditer(script))
    for pattern in (module, mention):
        ends = [stretch.start() + found.end() for stretch in stretches if (found := pattern.search(stretch[0]))]
        if ends:
            parts = [script[start:end] for start, end in zip([0, *ends], [*ends, len(script)], strict=True)]
            return f" {flags}".join(parts)
    return None
