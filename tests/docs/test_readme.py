"""Every snippet of the README is executed."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dynamo_ctrl import Key, Manager
from dynamo_ctrl.engine.errors import NotFound
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GROUP = "readme.example.com"
"""In place of the group of the page, which other tests on the same cluster have definitions in."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def executed(engine: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in blocks("python"):
        code = block.replace('engine="kubernetes"', f'engine="{engine}"').replace("example.com", GROUP)
        exec(compile(code, "README.md", "exec", dont_inherit=True), names)
    return names


async def brings_a_widget_to_life(names: dict[str, Any]) -> None:
    """Runs `main` until the Deployment of its Widget is there, then cancels it, as a signal would."""
    started: list[Manager] = []

    class Watched(Manager):
        async def run(self) -> None:
            started.append(self)
            await super().run()

    async def live() -> Any:
        if not started:
            return None
        try:
            return names["DEPLOYMENT"].decode(await started[0].engine.get(names["DEPLOYMENT"], Key("default", "w")))
        except NotFound:
            return None

    names["Manager"] = Watched
    running = asyncio.create_task(names["main"]())
    try:
        async with asyncio.timeout(60):
            while (deployment := await live()) is None:
                await asyncio.sleep(0.05)
                assert not running.done(), running
        assert deployment.spec.replicas == 3
        assert deployment.metadata.controller.kind == "Widget"
        if started[0].engine.name == "kubernetes":
            await started[0].engine.delete(names["WIDGET"], Key("default", "w"))
            await started[0].engine.delete(CUSTOM_RESOURCE_DEFINITION, Key("", f"widgets.{GROUP}"))
    finally:
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


def test_the_unit_test_of_the_readme_passes() -> None:
    executed("memory")["test_scales_with_the_widget"]()


def test_the_program_of_the_readme_becomes_ready() -> None:
    names = executed("memory")
    from dynamo_ctrl.testing import FakeCache

    cache = FakeCache([names["WIDGET"].object({"metadata": {"name": "w", "namespace": "ns"}, "spec": {"size": 2}})])

    def ready() -> bool:
        widget: Any = cache.get(names["WIDGET"], "ns/w")
        return bool(widget.status.ready)

    cache.converge(names["WidgetProgram"](), "ns/w")
    assert not ready()
    cache.set_status(names["DEPLOYMENT"], "ns/w", {"availableReplicas": 2})
    cache.converge(names["WidgetProgram"](), "ns/w")
    assert ready()


@pytest.mark.real_loop
async def test_the_embedded_use_of_the_readme_runs() -> None:
    await brings_a_widget_to_life(executed("memory"))


@pytest.mark.cluster
@pytest.mark.real_loop
async def test_the_embedded_use_of_the_readme_runs_on_a_real_cluster(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    await brings_a_widget_to_life(executed("kubernetes"))


def test_the_manager_command_of_the_readme_runs() -> None:
    (command,) = (block for block in blocks("sh") if block.startswith("dynamo-manager run"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 further passes" in done.stdout
    assert "wrote nothing" in done.stdout


def kind_of(line: str) -> str:
    """A line of output without its times, numbers and random names, and without the kinds of requests (a conflict reads anew)."""
    line = re.sub(r"requests \(.*\)", "requests", line)
    return re.sub(r"[0-9]+(\.[0-9]+)?", "N", re.sub(r"-[0-9a-f]{8}[-.a-z0-9]*", "-H", line)).strip()


SHOWN = dict(block.removeprefix("$ ").split("\n", 1) for block in blocks("console"))


@pytest.mark.parametrize("command", [command for command in SHOWN if command != "make test"])
def test_what_the_readme_shows_is_printed(command: str) -> None:
    shown = SHOWN[command]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        shlex.split(command), cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == (1 if "not ready within" in shown else 0), done.stdout + done.stderr
    printed = {kind_of(line) for line in (done.stdout + done.stderr).splitlines()}
    promised = [kind_of(line) for line in shown.splitlines() if line.strip() != "..."]
    assert promised
    assert [line for line in promised if line not in printed] == []
