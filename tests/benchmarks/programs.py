"""The programs that are measured, and whatever else takes long to make: found in the cache folder or made there.

The cache is `$XDG_CACHE_HOME/dynamo-ctrl/benchmarks`, beside that of `envtest`. Each program is named by a hash of its sources
and its toolchain, so nothing there is ever stale. What cannot be built here is missing, with the reason, and is no error.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from envtest.binaries import cache_root
from envtest.lock import locked
from envtest.process import guarded
from envtest.toolchain import find_toolchain
from tests.benchmarks.process import ROOT

OURS: Final = ("dynamo_ctrl", "programs", "tests/benchmarks/ours")
"""Where the modules are that our programs import."""

PEERS: Final = Path(__file__).with_name("peers")
BUILD_TIMEOUT: Final = 1800.0
"""Seconds for one program; kube-rs takes five minutes cold on two cores."""

Progress = Callable[[str], None]


class Library(Enum):
    """Who is measured; the value is the name in tables."""

    OURS = "dynamo_ctrl"
    CONTROLLER_RUNTIME = "controller-runtime"
    KUBE_RS = "kube-rs"
    KOPF = "kopf"
    HANDWRITTEN = "kubernetes-asyncio, by hand"


class Unbuilt(Exception):
    """A program cannot be built here; the text says why."""


@dataclass(frozen=True)
class Programs:
    """The command that each library's program begins with, and why some are missing."""

    commands: Mapping[Library, tuple[str, ...]]
    missing: Mapping[Library, str] = field(default_factory=dict)


def find_programs(libraries: Iterable[Library], progress: Progress) -> Programs:
    """Find or build the programs of those libraries."""
    commands: dict[Library, tuple[str, ...]] = {}
    missing: dict[Library, str] = {}
    for library in Library:
        if library not in libraries:
            continue
        try:
            commands[library] = _BUILDERS[library](progress)
        except (Unbuilt, OSError, subprocess.SubprocessError) as error:
            missing[library] = str(error)
            progress(f"bench: {library.value} is left out: {error}")
    return Programs(commands, missing)


def _ours(_: Progress) -> tuple[str, ...]:
    """Compiled beforehand, as an installer does it; the environment may keep the measured process itself from that."""
    _run([sys.executable, "-m", "compileall", "-q", *(str(ROOT / folder) for folder in OURS)])
    return (sys.executable, "-m")


def _handwritten(_: Progress) -> tuple[str, ...]:
    return (sys.executable, str(PEERS / "handwritten" / "reflector.py"))


def _controller_runtime(progress: Progress) -> tuple[str, ...]:
    sources = PEERS / "controller_runtime"
    toolchain = find_toolchain(install_into=cache_root(), progress=progress)
    if toolchain is None:
        raise Unbuilt("there is no Go")
    flags = ("-mod=readonly", "-trimpath", "-buildvcs=false")
    environment = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"}

    def build(target: Path) -> None:
        _run([str(toolchain.go), "build", "-C", str(sources), *flags, "-o", str(target), "."], environment)

    return (_built("controller-runtime", sources, toolchain.version, build, progress),)


def _kube_rs(progress: Progress) -> tuple[str, ...]:
    sources = PEERS / "kube_rs"
    cargo = shutil.which("cargo")
    if cargo is None:
        raise Unbuilt("there is no cargo")
    version = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout

    def build(target: Path) -> None:
        work = target.parent / "kube-rs-build"
        shutil.copytree(sources, work / "source", dirs_exist_ok=True)  # cargo writes its lock file beside the manifest
        manifest = str(work / "source" / "Cargo.toml")
        environment = {"CARGO_TARGET_DIR": str(work / "target")}
        _run([cargo, "build", "--release", "--quiet", "--manifest-path", manifest], environment)
        shutil.copy2(work / "target" / "release" / "peerbench", target)

    return (_built("kube-rs", sources, version, build, progress),)


def _kopf(progress: Progress) -> tuple[str, ...]:
    sources = PEERS / "kopf"

    def build(target: Path) -> None:
        _run([sys.executable, "-m", "venv", str(target)])
        pip = [str(target / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        _run([*pip, "--require-hashes", "--only-binary=:all:", "-r", str(sources / "requirements.txt")])

    version = f"{sys.version} {sys.prefix}"
    environment = kept("kopf", [sources / "requirements.txt"], version, build, progress, "installing kopf")
    return (str(environment / "bin" / "python"), str(sources / "operator_bench.py"))


_BUILDERS: Final[Mapping[Library, Callable[[Progress], tuple[str, ...]]]] = {
    Library.OURS: _ours,
    Library.CONTROLLER_RUNTIME: _controller_runtime,
    Library.KUBE_RS: _kube_rs,
    Library.KOPF: _kopf,
    Library.HANDWRITTEN: _handwritten,
}


def _built(name: str, sources: Path, version: str, build: Callable[[Path], None], progress: Progress) -> str:
    return str(kept(name, [sources], version, build, progress, f"building the program of {name}"))


def kept(
    name: str, sources: Sequence[Path], version: str, make: Callable[[Path], None], progress: Progress, doing: str
) -> Path:
    """The file or folder of that name in the cache folder, made by `make(path)` where it is missing, by one run at a time."""
    target = _root() / f"{name}-{_key(sources, version)}"
    with locked(_root() / f"{target.name}.lock", waiting=lambda: progress("bench: another run is at it; waiting")):
        if not target.exists():
            progress(f"bench: {doing}")
            partial = target.with_name(f"{target.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            make(partial)
            partial.replace(target)
    return target


def _root() -> Path:
    return cache_root().with_name("benchmarks")


def _key(sources: Sequence[Path], version: str) -> str:
    """A hash of everything in `sources` (folders or files) and of what else decides the result."""
    digest = hashlib.sha256(repr((version, os.uname().sysname, os.uname().machine)).encode())
    for source in sources:
        for path in sorted(path for path in (source, *source.rglob("*")) if path.is_file()):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Run a build step, which ends when we do. Raises `Unbuilt` with the last line of what it said."""
    with subprocess.Popen(
        guarded(command), env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stdin is not None
        watchdog = threading.Timer(BUILD_TIMEOUT, running.stdin.close)
        watchdog.start()
        try:
            said = running.stdout.read().decode(errors="replace").strip()
            code = running.wait()
        finally:
            watchdog.cancel()
    if code:
        raise Unbuilt(f"{Path(command[0]).name} failed: {said.splitlines()[-1][:300] if said else code}")
