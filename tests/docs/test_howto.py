"""Every snippet of the how-tos is executed."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
import yaml

from dynamo_ctrl import Kind, Manager
from dynamo_ctrl.objects import builtin
from dynamo_ctrl.testing import FakeCache, run
from dynamo_manager import install
from dynamo_manager.cli import RunOptions, parse
from dynamo_manager.settings import settle

ROOT = Path(__file__).parents[2]
HOWTO = ROOT / "docs/howto"
WRITE = (HOWTO / "write-a-program.md").read_text()


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (HOWTO / name).read_text(), re.DOTALL)


def executed(name: str) -> dict[str, Any]:
    """The names that the page's Python defines, with the embedded engine in place of a cluster."""
    names: dict[str, Any] = {"__name__": name}
    for block in blocks(name, "python"):
        exec(compile(block.replace('engine="kubernetes"', 'engine="memory"'), name, "exec", dont_inherit=True), names)
    return names


def page_tests() -> list[Any]:
    names = executed("test-a-program.md")
    return [pytest.param(value, id=name) for name, value in names.items() if name.startswith("test_")]


@pytest.mark.parametrize("test", page_tests())
def test_the_tests_of_the_page_about_tests_pass(test: Callable[[], Coroutine[Any, Any, None] | None]) -> None:
    waiting = test()
    if waiting is not None:
        run(waiting)


def test_the_page_about_tests_has_tests() -> None:
    assert len(page_tests()) == 6


class TestTheWrittenProgram:
    """`write-a-program.md`: what the page promises of its program."""

    def world(self, image: str = "web:1") -> tuple[FakeCache, Any, dict[str, Any]]:
        names = executed("write-a-program.md")
        content = {"metadata": {"name": "s", "namespace": "ns"}, "spec": {"image": image, "replicas": 2}}
        return FakeCache([names["SITE"].object(content)]), names["SiteProgram"](), names

    def ready(self, cache: FakeCache, names: dict[str, Any]) -> tuple[str, str]:
        site: Any = cache.get(names["SITE"], "ns/s")
        (condition,) = site.status.conditions
        return condition.status, condition.message

    def test_it_becomes_ready_and_tells_it_once(self) -> None:
        cache, program, names = self.world()
        cache.converge(program, "ns/s")
        assert self.ready(cache, names) == ("False", "the Deployment is not available")
        cache.set_status(names["DEPLOYMENT"], "ns/s", {"availableReplicas": 2})
        cache.converge(program, "ns/s")
        assert self.ready(cache, names) == ("True", "serves")
        writes = len(cache.writes)
        cache.advance(3600)
        cache.converge(program, "ns/s")
        assert len(cache.writes) == writes, "an equal status is not written again"
        assert [event.reason for _, event in cache.events] == ["Ready"]

    def test_a_refusal_is_terminal_and_told_in_the_condition(self) -> None:
        cache, program, names = self.world(image="web")
        answer = cache.reconcile(program, "ns/s")
        assert answer.terminal
        assert self.ready(cache, names) == ("False", "spec.image: needs a tag")

    def test_its_definition_has_the_schema(self) -> None:
        _, program, _ = self.world()
        (document,) = program.definitions()
        assert document["metadata"]["name"] == "sites.example.com"
        schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        assert schema["required"] == ["image"]


def test_every_kind_that_has_a_model_is_named() -> None:
    modules = [import_module(f"{builtin.__name__}.{found.name}") for found in iter_modules(builtin.__path__)]
    for module in modules:
        (named,) = re.findall(rf"`{module.__name__.rpartition('.')[2]}`\s\(([^)]*)\)", WRITE)
        kinds = {value.kind for value in vars(module).values() if isinstance(value, Kind)}
        assert set(re.split(r",\s+", named)) == kinds


@pytest.mark.real_loop
@pytest.mark.parametrize("entry", ["main", "with_objects", "with_more"])
async def test_embedding_runs_until_it_is_stopped(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = executed("embed-a-program.md")
    managers: list[Manager] = []

    class Watched(Manager):
        async def run(self) -> None:
            managers.append(self)
            await super().run()

    names["Manager"] = Watched
    running = asyncio.create_task(names[entry]())
    async with asyncio.timeout(20):
        while not managers or managers[0].reasons:
            await asyncio.sleep(0.02)
            assert not running.done(), running
        managers[0].stop()
        await running
    assert [controller.name for controller in managers[0].controllers] == ["quiet"]


def test_the_log_of_the_page_about_embedding_is_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import structlog

    before = structlog.get_config()
    try:
        executed("embed-a-program.md")["configure_log"]()
        structlog.get_logger().info("hello", key="ns/a")
        structlog.get_logger().debug("not told")
    finally:
        structlog.configure(**before)
    (line,) = capsys.readouterr().out.splitlines()
    assert yaml.safe_load(line)["key"] == "ns/a"


def commands() -> list[str]:
    return [line for block in blocks("run-the-manager.md", "sh") for line in block.splitlines()]


@pytest.mark.parametrize("line", [line for line in commands() if "kubectl" not in line and "--kubeconfig" not in line])
def test_the_commands_that_need_no_cluster_run(line: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("line", commands())
def test_every_command_is_one_that_the_binary_knows(line: str) -> None:
    program, *arguments = line.partition("|")[0].split()
    assert program == "dynamo-manager"
    parse(arguments)


def test_the_configuration_file_of_the_page_is_accepted(tmp_path: Path) -> None:
    (text,) = blocks("run-the-manager.md", "yaml")
    path = tmp_path / "config.yaml"
    path.write_text(text)
    settings = settle(RunOptions(config=path))
    assert settings.manager.health_address == "0.0.0.0:8081"
    assert settings.manager.metrics_address == "0.0.0.0:8080"
    assert install.programs((), settings.document)


@pytest.mark.parametrize("page", sorted([*HOWTO.glob("*.md"), ROOT / "docs/concepts.md"]), ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
