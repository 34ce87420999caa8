"""vLLM over several nodes: which mode, which flags (P 2.3, 10.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_graph.render.engines.vllm import executor, span
from dynamo_graph.render.errors import RenderError
from tests.programs.dynamo_graph.render.multinode.kit import (
    HG,
    HL,
    MP,
    ORCHESTRATOR,
    ORIGIN,
    RAY,
    RG,
    after,
    argv,
    py,
    sh,
)

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.multinode.kit import Node, Rig

TP16 = ("-m", "dynamo.vllm", "--tensor-parallel-size", "16")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def parallel(**sizes: int) -> tuple[str, ...]:
    flags = {"tp": "--tensor-parallel-size", "pp": "--pipeline-parallel-size", "dp": "--data-parallel-size"}
    return ("-m", "dynamo.vllm", *(word for name, size in sizes.items() for word in (flags[name], str(size))))


def processes(host: str, rank: str) -> list[str]:
    flags = f"--distributed-executor-backend mp --nnodes 2 --master-addr {host} --master-port 29500"
    return [*flags.split(), "--node-rank", rank]


@pytest.mark.parametrize("own", [pytest.param(py(*TP16), id="T-POD-18")])
def test_the_leader_of_processes(rig: Rig, own: Any) -> None:
    main = rig.main(own, by="V", annotations=MP)
    assert (main["command"], main["args"]) == (["python3"], [*TP16, *processes(HG, "0")])


@pytest.mark.parametrize("own", [pytest.param(py(*TP16), id="T-POD-19")])
def test_a_worker_of_processes_on_grove(rig: Rig, node: Node, own: Any) -> None:
    main = rig.main(own, by="V", role="worker", annotations=MP)
    flags = " ".join(processes(HG, RG))
    assert main["command"] == ["sh", "-c"]
    assert main["args"] == [f"exec python3 -m dynamo.vllm --tensor-parallel-size 16 {flags} --headless"]
    assert not set(PROBES) & set(main)
    called = argv(node.run(main, ORCHESTRATOR["V"]), "python3")
    assert after(called, "--node-rank") == "1"
    assert after(called, "--master-addr") == "g-0-decode-3-decode-ldr-0.g-0.ns.svc"


@pytest.mark.parametrize("own", [pytest.param(py(*TP16), id="T-POD-20")])
def test_a_worker_of_processes_in_a_group(rig: Rig, node: Node, own: Any) -> None:
    main = rig.main(own, role="worker", annotations=MP)
    assert main["command"] == ["python3"]
    assert main["args"] == [*TP16, *processes(HL, "$(LWS_WORKER_INDEX)"), "--headless"]
    called = argv(node.run(main, ORCHESTRATOR["L"]), "python3")
    assert (after(called, "--node-rank"), after(called, "--master-addr")) == ("1", "a-0-0.a-0.ns")


@pytest.mark.parametrize("own", [pytest.param(py(*TP16), id="T-POD-21")])
def test_a_leader_keeps_its_probes_and_a_worker_loses_even_those_of_the_user(rig: Rig, own: Any) -> None:
    assert set(PROBES) <= set(rig.main(own, by="V", annotations=MP))
    mine = {**own, "livenessProbe": {"exec": {"command": ["true"]}}}
    assert not set(PROBES) & set(rig.main(mine, role="worker", annotations=MP))


@pytest.mark.parametrize(
    ("own", "mode"),
    [
        pytest.param(py("-m", "dynamo.vllm", "-tp", "16"), "mp", id="T-POD-22 short"),
        pytest.param(py("-m", "dynamo.vllm", "--tensor_parallel_size=16"), "mp", id="T-POD-22 underscores"),
        pytest.param(py("-m", "dynamo.vllm", "--tensor-parallel-size=16"), "mp", id="T-POD-22 joined"),
        pytest.param(py("-m", "dynamo.vllm", "-tp=16"), "mp", id="short joined"),
        pytest.param(py(*parallel(tp=4, pp=4)), "mp", id="T-POD-23"),
        pytest.param(sh("python3 -m dynamo.vllm -tp 16; sleep 1"), "mp", id="glued operator"),
        pytest.param(sh('python3 -m dynamo.vllm -tp "16"'), "mp", id="quoted"),
        pytest.param(sh("python3 -m dynamo.vllm -tp ${TP}"), "none", id="unknown"),
        pytest.param(py("-m", "dynamo.vllm", "-tp", "x", "-tp", "16"), "mp", id="first number"),
        pytest.param(py("-m", "dynamo.vllm", "--tensor-parallel-size=--x"), "none", id="no value"),
        pytest.param(py("-m", "dynamo.vllm", "-tp", "9" * 5000), "none", id="absurd"),
        pytest.param(py("-m", "dynamo.vllm", "-dp", "16"), "data-parallel", id="data parallel"),
        pytest.param(py("-m", "dynamo.vllm", "--data_parallel_size=16"), "data-parallel", id="data parallel joined"),
        pytest.param(py(*parallel(tp=8)), "none", id="T-POD-35 mode"),
        pytest.param(py(*TP16, g=0), "none", id="T-POD-36 mode"),
    ],
)
def test_sizes_are_read_however_they_are_written(rig: Rig, own: Any, mode: str) -> None:
    assert span(rig.context(own, annotations=MP)).mode == mode


@pytest.mark.parametrize("command", [pytest.param(["python3", "-m", "dynamo.vllm", "-tp", "16"], id="T-POD-163")])
def test_sizes_in_the_command_count(rig: Rig, command: list[str]) -> None:
    main = rig.main({**py(), "command": command, "args": []}, by="V", annotations=MP)
    assert (main["command"], main["args"]) == (command, processes(HG, "0"))


@pytest.mark.parametrize(
    "own",
    [pytest.param(py(*TP16), id="T-POD-24")],
)
def test_a_ray_leader_in_python_form(rig: Rig, node: Node, own: Any) -> None:
    main = rig.main(own, by="V", annotations={**RAY, "nvidia.com/vllm-distributed-executor-backend": "RAY"})
    assert main["command"] == ["/bin/sh", "-c"]
    line = "ray start --head --port=6379 && python3 -m dynamo.vllm --tensor-parallel-size 16"
    assert main["args"] == [f"{line} --distributed-executor-backend ray"]
    node.program("ray")
    calls = node.run(main, ORCHESTRATOR["V"])
    assert calls[0] == ["ray", "start", "--head", "--port=6379"]
    assert argv(calls, "python3") == [*TP16, "--distributed-executor-backend", "ray"]


@pytest.mark.parametrize("own", [pytest.param(py(*TP16), id="T-POD-25")])
def test_a_ray_worker(rig: Rig, node: Node, own: Any) -> None:
    main = rig.main(own, role="worker", annotations=RAY)
    assert (main["command"], main["args"]) == (
        ["/bin/sh", "-c"],
        ["ray start --address=$(LWS_LEADER_ADDRESS):6379 --block"],
    )
    node.program("ray")
    assert node.run(main, ORCHESTRATOR["L"]) == [["ray", "start", "--address=a-0-0.a-0.ns:6379", "--block"]]


@pytest.mark.parametrize("script", [pytest.param("cd /w && python3 -m dynamo.vllm -tp 16", id="T-POD-26")])
def test_a_ray_leader_in_shell_form(rig: Rig, node: Node, script: str) -> None:
    main = rig.main(sh(script), by="V", annotations=RAY)
    wanted = "cd /w && python3 -m dynamo.vllm --distributed-executor-backend ray -tp 16"
    assert main["command"] == ["/bin/sh", "-c"]
    assert main["args"] == [f"ray start --head --port=6379 && {wanted}"]
    node.program("ray")
    calls = node.run(main, {}, replaced={"/w": "/"})
    assert [call[0] for call in calls] == ["ray", "python3"]
    assert argv(calls, "python3") == ["-m", "dynamo.vllm", "--distributed-executor-backend", "ray", "-tp", "16"]


def test_a_ray_leader_keeps_the_shell_that_its_script_is_written_for(rig: Rig, node: Node) -> None:
    script = '[[ x == x ]] && python3 -m dynamo.vllm -tp 16 "$0"'
    main = rig.main({**sh(script, "zero"), "command": ["bash", "-ec"]}, annotations=RAY)
    assert (main["command"], main["args"][1:]) == (["bash", "-ec"], ["zero"])
    node.program("ray")
    assert argv(node.run(main, {}), "python3")[-1] == "zero"


def test_ray_has_no_place_in_a_command_that_is_neither(rig: Rig) -> None:
    own = {**py("python -m dynamo.vllm -tp 16"), "command": ["uv", "run"]}
    with pytest.raises(RenderError, match="multinode flags need a shell or a python command"):
        rig.pod(own, annotations=RAY)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, "ray", id="T-POD-27 absent"),
        pytest.param({ORIGIN: "0.9.0"}, "ray", id="T-POD-27 0.9.0"),
        pytest.param({ORIGIN: "1.0.0-rc.1"}, "ray", id="T-POD-27 1.0.0-rc.1"),
        pytest.param({ORIGIN: "1.0.0"}, "mp", id="T-POD-27 1.0.0"),
        pytest.param({ORIGIN: "v1.2"}, "mp", id="T-POD-27 v1.2"),
        pytest.param({ORIGIN: "abc"}, "ray", id="T-POD-27 abc"),
        pytest.param({ORIGIN: "1"}, "mp", id="one number"),
        pytest.param({ORIGIN: "1.1.0-rc.1+b"}, "mp", id="later candidate"),
        pytest.param(
            {**MP, "nvidia.com/vllm-distributed-executor-backend": "foo", ORIGIN: "1.2.0"}, "mp", id="T-POD-28"
        ),
        pytest.param({**RAY, ORIGIN: "1.2.0"}, "ray", id="T-POD-29"),
        pytest.param({**MP, ORIGIN: "0.9.0"}, "mp", id="mp against the origin"),
    ],
)
def test_who_runs_an_engine_on_several_nodes(rig: Rig, annotations: dict[str, str], expected: str) -> None:
    assert executor(rig.context(py(*TP16), annotations=annotations)) == expected


def data_parallel(local: int, start: str, host: str) -> list[str]:
    head = f"--data-parallel-hybrid-lb --data-parallel-size-local {local} --data-parallel-start-rank"
    return [*head.split(), start, "--data-parallel-address", host, "--data-parallel-rpc-port", "13445"]


@pytest.mark.parametrize("own", [pytest.param(py(*parallel(dp=16)), id="T-POD-30")])
def test_the_leader_of_data_parallel_ranks(rig: Rig, own: Any) -> None:
    assert rig.main(own, by="V")["args"] == [*own["args"], *data_parallel(8, "0", HG)]


@pytest.mark.parametrize(
    ("by", "written"),
    [
        pytest.param("V", f"$(( 8 * {RG} ))", id="T-POD-31"),
        pytest.param("L", "$(( 8 * ${LWS_WORKER_INDEX} ))", id="T-POD-32"),
    ],
)
def test_a_worker_of_data_parallel_ranks_works_out_where_it_starts(rig: Rig, node: Node, by: str, written: str) -> None:
    main = rig.main(py(*parallel(dp=16)), by=by, role="worker")
    assert main["command"] == ["sh", "-c"]
    assert f"--data-parallel-start-rank {written} " in main["args"][0]
    called = argv(node.run(main, ORCHESTRATOR[by]), "python3")
    assert after(called, "--data-parallel-start-rank") == "8"
    assert after(called, "--data-parallel-size-local") == "8"
    assert called.count("--data-parallel-size") == 1


@pytest.mark.parametrize("own", [pytest.param(py(*parallel(tp=2, dp=8)), id="T-POD-33")])
def test_ranks_that_take_several_gpus(rig: Rig, node: Node, own: Any) -> None:
    called = argv(node.run(rig.main(own, role="worker"), ORCHESTRATOR["L"]), "python3")
    assert (after(called, "--data-parallel-size-local"), after(called, "--data-parallel-start-rank")) == ("4", "4")


@pytest.mark.parametrize("sizes", [pytest.param({"tp": 3, "dp": 4}, id="T-POD-34 accepted")])
def test_gpus_that_no_rank_can_use_are_left_over(rig: Rig, sizes: dict[str, int]) -> None:
    assert after(rig.main(py(*parallel(**sizes)))["args"], "--data-parallel-size-local") == "2"


@pytest.mark.parametrize("sizes", [pytest.param({"tp": 3, "dp": 5}, id="T-POD-34 refused")])
def test_ranks_that_do_not_fit_the_nodes_are_refused(rig: Rig, sizes: dict[str, int]) -> None:
    with pytest.raises(RenderError) as raised:
        rig.pod(py(*parallel(**sizes)))
    assert raised.value.rule.endswith("--data-parallel-size 5 does not match 2 ranks per node on 2 nodes")


@pytest.mark.parametrize(
    "own", [pytest.param(py(*parallel(tp=8)), id="T-POD-35"), pytest.param(py(*TP16, g=0), id="T-POD-36")]
)
@pytest.mark.parametrize("role", ["leader", "worker"])
def test_an_engine_that_needs_one_node_gets_no_flags(rig: Rig, own: Any, role: Any) -> None:
    main = rig.main(own, by="V", role=role)
    assert (main["command"], main["args"]) == (own["command"], own["args"])
    assert bool(set(PROBES) & set(main)) is (role == "leader")


def test_what_is_not_supported_over_several_nodes_is_refused(rig: Rig) -> None:
    with pytest.raises(RenderError, match="--enable-elastic-ep over several nodes is not supported"):
        rig.pod(py("-m", "dynamo.vllm", "--enable_elastic_ep"))


def test_gpus_that_cannot_be_counted_fail_the_rendering(rig: Rig) -> None:
    own = py(*TP16, resources={"limits": {"nvidia.com/gpu": "500m"}}, g=0)
    with pytest.raises(RenderError, match=r"failed to resolve container GPUs: .*must be a whole number"):
        rig.pod(own, annotations=MP)
    assert rig.pod(own, nodes=1)["containers"][0]["args"] == list(TP16)
