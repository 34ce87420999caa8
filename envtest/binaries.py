"""Where the binaries come from.

In this order:

1. `KUBEBUILDER_ASSETS`, as every user of an envtest expects. It may hold only a part of what is needed here; the rest then
   comes from the next place.
2. The cache folder, `$XDG_CACHE_HOME/dynamo-ctrl/envtest/<key>`; the key names the module files and the Go version, so a new
   version of either is a new folder and nothing is ever stale.
3. A build into that folder: minutes the first time, under a lock, so that parallel runs build once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from envtest import build
from envtest.errors import BinariesMissing
from envtest.lock import locked
from envtest.toolchain import PINNED, Toolchain, find_toolchain

NAMES: Final = tuple(target.name for target in build.TARGETS)
"""Every binary that a whole cluster needs."""

Progress = Callable[[str], None]
"""Takes one line for people about what takes long."""


@dataclass(frozen=True)
class Binaries:
    """The path of each binary, by name. Raises `BinariesMissing` for one that is not there."""

    paths: Mapping[str, Path]

    def __getitem__(self, name: str) -> Path:
        path = self.paths.get(name)
        if path is None:
            raise BinariesMissing(f"{name} is missing (there are: {', '.join(sorted(self.paths)) or 'none'})")
        return path


def cache_root(environ: Mapping[str, str] = os.environ) -> Path:
    """The harness's own folder below the user's cache folder."""
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dynamo-ctrl" / "envtest"


def cache_key(go_version: str) -> str:
    """Names everything that decides what the binaries are: module files, recipe, Go version and platform."""
    digest = hashlib.sha256()
    for module in build.MODULES:
        for name in ("go.mod", "go.sum"):
            digest.update((build.GO_FOLDER / module / name).read_bytes())
    digest.update(repr((build.TARGETS, build.FLAGS, go_version, os.uname().sysname, os.uname().machine)).encode())
    return digest.hexdigest()[:16]


def present(folder: Path) -> dict[str, Path]:
    """The binaries that `folder` holds."""
    return {name: folder / name for name in NAMES if os.access(folder / name, os.X_OK)}


def find_binaries(
    names: tuple[str, ...] = NAMES, *, environ: Mapping[str, str] = os.environ, progress: Progress = print
) -> Binaries:
    """Find every binary of `names`, building what is missing.

    Raises:
        BinariesMissing: not all are there, and they cannot be built here.
        BuildFailed: the build went wrong.
    """
    assets = environ.get("KUBEBUILDER_ASSETS")
    given = present(Path(assets)) if assets else {}
    lacking = [name for name in names if name not in given]
    if not lacking:
        return Binaries(given)
    if assets:
        progress(f"envtest: KUBEBUILDER_ASSETS={assets} lacks {', '.join(lacking)}; taking those from the cache")
    root = cache_root(environ)
    toolchain = find_toolchain(environ)
    folder = root / cache_key(toolchain.version if toolchain else PINNED)
    if any(name not in present(folder) for name in lacking):
        try:
            _build_missing(lacking, folder, root, toolchain, environ, progress)
        except BinariesMissing as error:
            where = f"KUBEBUILDER_ASSETS={assets} lacks {', '.join(lacking)}, and " if assets else ""
            raise BinariesMissing(f"{where}{error}") from error
    return Binaries({**present(folder), **given})


def _build_missing(
    names: list[str],
    folder: Path,
    root: Path,
    toolchain: Toolchain | None,
    environ: Mapping[str, str],
    progress: Progress,
) -> None:
    with locked(root / f"{folder.name}.lock", waiting=lambda: progress("envtest: another run is building; waiting")):
        missing = [name for name in names if name not in present(folder)]
        if missing:
            toolchain = toolchain or find_toolchain(environ, install_into=root, progress=progress)
            if toolchain is None:
                raise BinariesMissing(
                    f"a real cluster needs {', '.join(missing)} and there is no Go >= 1.26 to build them"
                )
            build.build(missing, folder, toolchain, progress=progress)
