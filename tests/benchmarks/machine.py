"""What a run was made on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from envtest.build import KUBERNETES
from tests.benchmarks.programs import Library, Programs

PEER_VERSIONS = {
    Library.CONTROLLER_RUNTIME: ("controller_runtime/go.mod", r"sigs\.k8s\.io/controller-runtime (v\S+)"),
    Library.KUBE_RS: ("kube_rs/Cargo.toml", r'kube = \{ version = "=([^"]+)"'),
    Library.KOPF: ("kopf/requirements.txt", r"kopf==(\S+)"),
}


def machine() -> str:
    """One line: processor, cores, memory, kernel, interpreter."""
    memory = _found(r"MemTotal:\s+(\d+)", Path("/proc/meminfo"))
    parts = [
        f"{os.cpu_count()} cores",
        _found(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo")) or platform.machine(),
        f"{int(memory) / 2**20:.0f} GiB" if memory else "",
        f"{platform.system()} {platform.release()}",
        f"CPython {platform.python_version()}",
        f"kube-apiserver v{KUBERNETES}",
    ]
    return ", ".join(part for part in parts if part)


def peers(programs: Programs) -> dict[str, str]:
    """The version of each peer, or why it is missing."""
    peers_folder = Path(__file__).with_name("peers")
    found = {
        library.value: programs.missing.get(library) or _found(pattern, peers_folder / file) or "?"
        for library, (file, pattern) in PEER_VERSIONS.items()
    }
    found[Library.HANDWRITTEN.value] = version("kubernetes_asyncio")
    return {**found, "compilers": ", ".join(filter(None, map(_says, (("go", "version"), ("rustc", "--version")))))}


def load() -> float:
    """How many processes wanted to run, over the last minute."""
    return os.getloadavg()[0]


def _says(command: Sequence[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _found(pattern: str, file: Path) -> str:
    try:
        found = re.search(pattern, file.read_text())
    except OSError:
        return ""
    return found[1].strip() if found else ""
