"""What engines change on a single node (P 2, 10.2, 10.3), and how they are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.framework import detected

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench

GPUS = {"limits": {"nvidia.com/gpu": 1}}


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        pytest.param("dynamo.vllm", ["--tensor-parallel-size", "16"], id="T-POD-17"),
        pytest.param("dynamo.sglang", ["--tp", "16"], id="sglang"),
        pytest.param("dynamo.trtllm", ["--x"], id="T-POD-59"),
    ],
)
def test_an_engine_on_one_node_is_left_alone(bench: Bench, module: str, arguments: list[str]) -> None:
    command = ["python3", "-m", module]
    pod = bench.pod("worker", {"command": command, "args": arguments, "resources": GPUS})
    plain = bench.pod("worker", {"command": ["serve"], "args": arguments, "resources": GPUS})
    main = pod["containers"][0]
    assert (main["command"], main["args"]) == (command, arguments)
    probes = ("livenessProbe", "readinessProbe", "startupProbe")
    assert {key: main[key] for key in probes} == {key: plain["containers"][0][key] for key in probes}
    assert [volume["name"] for volume in pod["volumes"]] == ["shared-memory"]


@pytest.mark.parametrize("cache", [pytest.param({"pvcName": "c"}, id="T-POD-44")])
def test_vllm_is_told_where_its_cache_is(bench: Bench, cache: dict[str, str]) -> None:
    main = bench.main("worker", {"command": ["python3", "-m", "dynamo.vllm"]}, compilationCache=cache)
    assert main["volumeMounts"][0] == {"name": "c", "mountPath": "/root/.cache/vllm"}
    assert main["env"][-1] == {"name": "VLLM_CACHE_ROOT", "value": "/root/.cache/vllm"}


@pytest.mark.parametrize("value", [pytest.param("$(X)/custom", id="T-POD-45")])
def test_the_cache_path_beats_a_variable_of_the_user(bench: Bench, value: str) -> None:
    own = {"command": ["python3", "-m", "dynamo.vllm"], "env": [{"name": "VLLM_CACHE_ROOT", "value": value}]}
    env = bench.env("worker", own, compilationCache={"pvcName": "c", "mountPath": "/cache"})
    assert env["VLLM_CACHE_ROOT"] == "/cache"


@pytest.mark.parametrize(
    ("module", "framework"),
    [pytest.param("dynamo.sglang", "sglang", id="T-POD-50"), pytest.param("dynamo.mocker", "noop", id="no engine")],
)
def test_only_vllm_has_a_cache_path_of_its_own(bench: Bench, module: str, framework: str) -> None:
    rule = f"compilationCache.mountPath is required for backend framework {framework}"
    with pytest.raises(InvalidObject, match=rule) as raised:
        bench.main("worker", {"command": ["python3", "-m", module]}, compilationCache={"pvcName": "c"})
    assert raised.value.path == "spec.compilationCache.mountPath"


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        (["python3", "-m", "dynamo.vllm"], [], "vllm"),
        (["python3"], ["-m", "dynamo.sglang", "--x"], "sglang"),
        (["/opt/venv/bin/python3.11", "-u", "-m", "dynamo.trtllm"], [], "trtllm"),
        (["/bin/sh", "-c"], ["cd /w && exec python3 -m dynamo.vllm --model m"], "vllm"),
        (["python3", "-m", "dynamo.mocker"], [], None),
        (["python3", "-m", "dynamo.vllm_extra"], [], None),
        (["python3", "-m", "dynamo.vllm-extra"], [], None),
        (["echo"], ["dynamo.vllm"], None),
        (["pythonw", "-m", "dynamo.vllm"], [], None),
        ([], [], None),
    ],
)
def test_an_engine_is_found_in_command_and_arguments(
    command: list[str], arguments: list[str], expected: str | None
) -> None:
    assert detected({"command": command, "args": arguments}, "p") == expected


def test_one_command_cannot_start_two_engines() -> None:
    script: dict[str, Any] = {"args": ["python3 -m dynamo.vllm & python3 -m dynamo.sglang"]}
    with pytest.raises(RenderError, match="sglang, vllm"):
        detected(script, "p")
