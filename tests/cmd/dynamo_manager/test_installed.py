"""What is installed: listed, configured, and its definitions written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.frozen import freeze
from dynamo_ctrl.program.errors import UnknownProgram
from dynamo_ctrl.program.registry import Loaded
from dynamo_ctrl.testing.widget import WIDGET
from dynamo_manager import crds, install, listing
from dynamo_manager.errors import UsageError

CONFIG = Path(__file__).parents[3] / "config/crd"


class Program:
    """Watches this and that."""

    name = "widgets"
    provider = "small"
    watches = (
        watching(WIDGET).owning(DEPLOYMENT).reading(SECRET, label_selector="a=b", optional=True).reading(CONFIG_MAP)
    )

    def reconcile(self, request: Any) -> Any: ...


LOADED = Loaded(program=Program(), entry="widgets-entry", distribution="some-dist 1.2")


def test_a_program_is_listed_with_its_origin_and_what_it_watches() -> None:
    assert list(listing.lines([LOADED, LOADED]))[:6] == [
        "widgets-entry  (some-dist 1.2, provider small)",
        "  drives   widgets.example.com",
        "  watches  deployments.apps",
        "  reads    secrets  (labels a=b, optional)",
        "  reads    configmaps",
        "",
    ]


def test_the_command_lists_what_this_checkout_installs(command: Callable[..., Any]) -> None:
    done = command("programs")
    assert (done.code, done.err) == (0, "")
    assert "dynamo-graph-component  (dynamo-ctrl 0.1.0, provider component)" in done.out.splitlines()
    assert "  drives   dynamographdeployments.nvidia.com" in done.out.splitlines()


def test_the_definitions_are_those_of_the_repository(command: Callable[..., Any], tmp_path: Path) -> None:
    done = command("crds", "--output", tmp_path / "new" / "crd")
    assert (done.code, done.out, done.err) == (0, "", "")
    written = {file.name: file.read_text() for file in (tmp_path / "new/crd").iterdir()}
    kept = {file.name: file.read_text() for file in CONFIG.glob("*_*.yaml")}
    assert written == kept, "run: make generate"
    done = command("crds")
    assert [document["metadata"]["name"] for document in yaml.safe_load_all(done.out)] == sorted(
        yaml.safe_load(text)["metadata"]["name"] for text in kept.values()
    )


def test_a_folder_that_cannot_be_written_is_told(command: Callable[..., Any], write: Callable[..., Path]) -> None:
    file = write("file", "")
    for output in (file, file / "below"):
        done = command("crds", "--output", output)
        assert done.code == 2
        assert done.err.startswith(f"dynamo-manager: --output: cannot write {output}: ")
        assert done.err.count("\n") == 1


def test_the_remedy_for_a_kind_of_ours_is_the_command_that_installs_it() -> None:
    remedy = crds.Remedy(install.programs())
    graph = next(one.program for one in install.programs() if one.entry == "dynamo-graph").watches.primary.kind
    assert remedy(graph) == "install it: dynamo-manager crds | kubectl apply --server-side -f -"
    assert "kubectl apply" in remedy(WIDGET)


def test_programs_are_loaded_by_name_in_the_order_given() -> None:
    names = ("dynamo-graph-component", "dynamo-graph")
    assert [one.entry for one in install.programs(names)] == list(names)
    with pytest.raises(UnknownProgram, match="unknown program 'nope'; installed: dynamo-component-deployment, dynamo-"):
        install.programs(("nope",))


def test_a_document_that_nobody_reads_is_refused() -> None:
    with pytest.raises(UsageError, match="--config: none of these programs reads it: dynamo-graph-scaling-adapter"):
        install.programs(("dynamo-graph-scaling-adapter",), freeze({"kind": "OperatorConfiguration"}))


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({}, None),
        ({"kind": "Other"}, "apiVersion: must be operator.config.dynamo.nvidia.com/v1alpha1"),
        ({"frob": 1}, "frob: "),
        ({"discovery": {"backend": "zookeeper"}}, "discovery.backend: "),
        ({"server": {"metrics": {"port": 70000}}}, "server.metrics.port: "),
        ({"mpi": {"sshSecretName": ""}}, "mpi.sshSecretName: is required"),
    ],
)
def test_a_document_is_checked_by_the_programs(document: dict[str, Any], rule: str | None) -> None:
    whole = {
        "apiVersion": "operator.config.dynamo.nvidia.com/v1alpha1",
        "kind": "OperatorConfiguration",
        "namespace": {"restricted": "mine"},
        "mpi": {"sshSecretName": "s", "sshSecretNamespace": "n"},
    }
    if document.get("kind") == "Other":
        whole = {}
    if rule is None:
        assert install.programs((), freeze(whole))
        return
    with pytest.raises(UsageError) as raised:
        install.programs((), freeze({**whole, **document}))
    assert str(raised.value).startswith("--config: OperatorConfiguration: ")
    assert rule in str(raised.value)
