"""What vLLM needs around its command: the address of a Pod, and workers that wait (P 2.3.5, 10.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.programs.dynamo_graph.render.multinode.kit import MP, ORCHESTRATOR, ORIGIN, RAY, py

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.multinode.kit import Node, Rig

HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
TP16 = py("-m", "dynamo.vllm", "--tensor-parallel-size", "16")
DP16 = py("-m", "dynamo.vllm", "--data-parallel-size", "16")
NAMES = ("wait-for-leader-mp", "wait-for-leader-ray")


def waiting(pod: dict[str, Any]) -> list[str]:
    return [each["name"] for each in pod.get("initContainers", ()) if each["name"] in NAMES]


@pytest.mark.parametrize("own", [pytest.param([{"name": HOST, "value": "x"}], id="T-POD-37")])
@pytest.mark.parametrize("role", ["leader", "worker"])
@pytest.mark.parametrize("engine", [TP16, DP16])
def test_every_pod_tells_others_its_own_address(rig: Rig, own: Any, role: Any, engine: Any) -> None:
    main = rig.main({**engine, "env": own}, role=role, annotations=MP)
    found = [entry for entry in main["env"] if entry["name"] == HOST]
    assert found == [{"name": HOST, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    assert main["env"][-1]["name"] == HOST


@pytest.mark.parametrize("annotations", [pytest.param(RAY, id="T-POD-38")])
def test_ray_finds_addresses_by_itself(rig: Rig, annotations: dict[str, str]) -> None:
    assert HOST not in {entry["name"] for entry in rig.main(TP16, annotations=annotations)["env"]}


@pytest.mark.parametrize(
    ("by", "host"),
    [
        pytest.param(
            "V",
            "${GROVE_PCSG_NAME}-${GROVE_PCSG_INDEX}-decode-ldr-0.${GROVE_HEADLESS_SERVICE}",
            id="T-POD-39",
        ),
        pytest.param("L", "${LWS_LEADER_ADDRESS}", id="T-POD-40"),
    ],
)
def test_a_worker_waits_for_its_leader(rig: Rig, node: Node, by: str, host: str) -> None:
    pod = rig.pod(TP16, by=by, role="worker", annotations=MP, pod={"initContainers": [{"name": "own", "image": "i"}]})
    own, init = pod["initContainers"]
    assert own == {"name": "own", "image": "i"}
    assert (init["name"], init["image"]) == ("wait-for-leader-mp", "img:1.5.0")
    script = f'export LEADER_HOST="{host}" LEADER_PORT="29500" && exec python3 /scripts/wait-for-leader.py'
    assert init["command"] == ["sh", "-c", script]
    assert init["volumeMounts"] == [{"name": "wait-leader-script", "mountPath": "/scripts", "readOnly": True}]
    assert init["resources"]["limits"] == {"cpu": "100m", "memory": "640Mi"}
    assert {"name": "wait-leader-script", "configMap": {"name": "g-wait-leader-script"}} in pod["volumes"]
    node.program("python3", 'print(os.environ["LEADER_HOST"], os.environ["LEADER_PORT"], file=open(os.devnull, "w"))')
    calls = node.run({"command": init["command"], "args": []}, ORCHESTRATOR[by])
    assert calls == [["python3", "/scripts/wait-for-leader.py"]]


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        pytest.param({ORIGIN: "1.6.0"}, ["wait-for-leader-ray"], id="T-POD-41 1.6.0"),
        pytest.param({ORIGIN: "1.5.0"}, [], id="T-POD-41 1.5.0"),
        pytest.param({}, ["wait-for-leader-ray"], id="created here"),
    ],
)
def test_workers_wait_for_ray_unless_their_graph_is_older(
    rig: Rig, origin: dict[str, str], expected: list[str]
) -> None:
    pod = rig.pod(TP16, role="worker", annotations={**RAY, **origin})
    assert waiting(pod) == expected
    if expected:
        (init,) = pod["initContainers"]
        script = (
            'export LEADER_HOST="${LWS_LEADER_ADDRESS}" LEADER_PORT="6379" && exec sh /scripts/wait-for-ray-leader.sh'
        )
        assert init["command"][2] == script


@pytest.mark.parametrize(
    ("own", "fields"),
    [
        pytest.param(
            {**DP16, "args": [*DP16["args"], "--distributed-executor-backend", "mp"]},
            {"role": "worker"},
            id="T-POD-42",
        ),
        pytest.param(TP16, {"role": "leader"}, id="T-POD-43 leader"),
        pytest.param(TP16, {"nodes": 1}, id="T-POD-43 single node"),
        pytest.param(TP16, {"role": "worker", "graph": ""}, id="T-POD-43 no graph"),
        pytest.param(py("-m", "dynamo.vllm"), {"role": "worker"}, id="independent engines"),
    ],
)
@pytest.mark.parametrize("executor", [MP, RAY], ids=["mp", "ray"])
def test_nobody_waits_for_a_port_that_nobody_opens(rig: Rig, own: Any, fields: Any, executor: dict[str, str]) -> None:
    pod = rig.pod(own, annotations=executor, **fields)
    assert waiting(pod) == []
    assert "wait-leader-script" not in {volume["name"] for volume in pod["volumes"]}


def test_without_a_graph_there_is_no_account_of_discovery(rig: Rig) -> None:
    assert rig.pod(TP16, role="worker", annotations=MP, graph="")["serviceAccountName"] == "default"
