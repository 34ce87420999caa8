"""Builds the control plane, kubectl and kwok from Go modules.

The module files in `go/` pin every version, go.sum every content. kwok is a module of its own, so that its older Kubernetes
libraries do not mix with those of the control plane.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from envtest.errors import BuildFailed
from envtest.process import guarded
from envtest.toolchain import Toolchain

GO_FOLDER: Final = Path(__file__).with_name("go")
MODULES: Final = ("controlplane", "kwok")
KUBERNETES: Final = "1.37.2"
"""The version that the servers report; the one that `go/controlplane/go.mod` pins."""

_MAJOR, _MINOR = KUBERNETES.split(".")[:2]
FLAGS: Final = (
    "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags",
    f"-s -w -X k8s.io/component-base/version.gitVersion=v{KUBERNETES}"
    f" -X k8s.io/component-base/version.gitMajor={_MAJOR} -X k8s.io/component-base/version.gitMinor={_MINOR}",
)  # fmt: skip
BUILD_TIMEOUT: Final = 1800.0
"""Seconds for one binary; the slowest takes five minutes cold on two cores."""


@dataclass(frozen=True)
class Target:
    """One binary: the module it is built in, and its main package."""

    name: str
    module: str
    package: str


TARGETS: Final = (
    Target("etcd", "controlplane", "go.etcd.io/etcd/server/v3"),
    Target("kube-apiserver", "controlplane", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Target("kube-controller-manager", "controlplane", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Target("kube-scheduler", "controlplane", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Target("kubectl", "controlplane", "k8s.io/kubernetes/cmd/kubectl"),
    Target("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
)


def build(names: Sequence[str], folder: Path, toolchain: Toolchain, *, progress: Callable[[str], None] = print) -> None:
    """Build `names` into `folder`. A binary appears there only when it is whole, so an interrupted build goes on later.

    Raises:
        BuildFailed: the compiler or the download of a module failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    targets = [target for target in TARGETS if target.name in names]
    for number, target in enumerate(targets, 1):
        progress(f"envtest: building {target.name} with {toolchain.version} ({number} of {len(targets)})")
        started = time.monotonic()
        _build_one(target, folder, toolchain)
        progress(f"envtest: built {target.name} in {time.monotonic() - started:.0f} s")


def _build_one(target: Target, folder: Path, toolchain: Toolchain) -> None:
    partial = folder / f"{target.name}.partial"
    log = folder / f"{target.name}.log"
    go, module = str(toolchain.go), str(GO_FOLDER / target.module)
    command = [go, "build", "-C", module, *FLAGS, "-o", str(partial), target.package]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            guarded(command), env=environment, stdin=subprocess.PIPE, stdout=output, stderr=output
        ) as running,
    ):
        try:
            code = running.wait(BUILD_TIMEOUT)
        except subprocess.TimeoutExpired as error:
            raise BuildFailed(f"building {target.name} took longer than {BUILD_TIMEOUT:.0f} s; see {log}") from error
    if code:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise BuildFailed(f"building {target.name} failed: {last[0] if last else code} (see {log})")
    partial.replace(folder / target.name)
    log.unlink()
