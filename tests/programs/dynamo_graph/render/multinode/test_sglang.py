"""SGLang over several nodes (P 2.4, 10.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_graph.render.errors import RenderError
from tests.programs.dynamo_graph.render.multinode.kit import HG, ORCHESTRATOR, RG, after, argv, py, sh

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.multinode.kit import Node, Rig

OWN = py("-m", "dynamo.sglang")


@pytest.mark.parametrize("nodes", [pytest.param(3, id="T-POD-46")])
def test_a_leader_is_told_where_it_is(rig: Rig, nodes: int) -> None:
    flags = ["--dist-init-addr", f"{HG}:29500", "--nnodes", "3", "--node-rank", "0"]
    assert rig.main(OWN, by="V", nodes=nodes)["args"] == ["-m", "dynamo.sglang", *flags]


@pytest.mark.parametrize("nodes", [pytest.param(3, id="T-POD-47")])
def test_a_worker_on_grove_works_its_rank_out(rig: Rig, node: Node, nodes: int) -> None:
    main = rig.main(OWN, by="V", role="worker", nodes=nodes)
    line = f"exec python3 -m dynamo.sglang --dist-init-addr {HG}:29500 --nnodes 3 --node-rank {RG}"
    assert (main["command"], main["args"]) == (["sh", "-c"], [line])
    assert after(argv(node.run(main, ORCHESTRATOR["V"]), "python3"), "--node-rank") == "1"


@pytest.mark.parametrize("nodes", [pytest.param(2, id="T-POD-48")])
def test_a_worker_in_a_group_is_given_its_rank(rig: Rig, nodes: int) -> None:
    main = rig.main(OWN, role="worker", nodes=nodes)
    assert main["command"] == ["python3"]
    assert main["args"][2:] == [
        "--dist-init-addr", "$(LWS_LEADER_ADDRESS):29500", "--nnodes", "2", "--node-rank", "$(LWS_WORKER_INDEX)",
    ]  # fmt: skip


@pytest.mark.parametrize("own", [pytest.param(py("-m", "dynamo.sglang", "--tp", "1", g=0), id="T-POD-49")])
def test_neither_gpus_nor_sizes_count(rig: Rig, own: Any) -> None:
    main = rig.main(own, role="worker")
    assert "--nnodes" in main["args"]
    assert not {"livenessProbe", "readinessProbe", "startupProbe"} & set(main)
    assert "readinessProbe" in rig.main(own)


@pytest.mark.parametrize(
    "own", [py("-m", "dynamo.sglang", "--nnodes", "7"), sh("python3 -m dynamo.sglang --nnodes=7 | tee log")]
)
def test_a_flag_that_the_user_gives_is_not_given_again(rig: Rig, own: Any) -> None:
    text = " ".join(rig.main(own)["args"])
    assert text.count("--nnodes") == 1
    assert "--dist-init-addr" in text


def test_the_rank_is_nobody_elses(rig: Rig) -> None:
    with pytest.raises(RenderError, match="--node-rank differs from Pod to Pod"):
        rig.pod(py("-m", "dynamo.sglang", "--node-rank=1"))


def test_a_script_gets_its_flags_behind_the_module(rig: Rig, node: Node) -> None:
    main = rig.main(sh("cd / && python3 -m dynamo.sglang --model 'a b' --x; exit 0"), by="V", role="worker")
    called = argv(node.run(main, ORCHESTRATOR["V"]), "python3")
    assert called[:2] == ["-m", "dynamo.sglang"]
    assert called[-3:] == ["--model", "a b", "--x"]
    assert after(called, "--node-rank") == "1"
