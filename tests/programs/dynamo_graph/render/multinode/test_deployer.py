"""How Pods of an engine find each other (P 2.1, 10.1)."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from dynamo_graph.render.deployer import GROVE, LEADER_WORKER_SET, hosts
from tests.programs.dynamo_graph.render.multinode.kit import GROVE_VARIABLES, HG, HL, LWS_VARIABLES, RG, substituted

CASE_01 = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-vllmdecode-ldr-0.$(GROVE_HEADLESS_SERVICE)"


def evaluated(text: str, variables: dict[str, str]) -> str:
    """What kubelet and shell make of a word."""
    script = f"printf %s {substituted(text, variables)}"
    return subprocess.run(["sh", "-c", script], env=variables, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("component", [pytest.param("VllmDecode", id="T-POD-01")])
def test_grove_lowers_the_name_of_a_component(component: str) -> None:
    assert GROVE.leader_host(component) == CASE_01


@pytest.mark.parametrize("nodes", [pytest.param(3, id="T-POD-02")])
def test_grove_counts_workers_in_their_clique(nodes: int) -> None:
    workers = [HG.replace("ldr-0", f"wkr-{index}") for index in range(nodes - 1)]
    assert hosts(GROVE, "Decode", nodes) == (HG, *workers)


@pytest.mark.parametrize(
    ("deployer", "rank", "shell", "waits"),
    [
        pytest.param(GROVE, RG, True, False, id="T-POD-03 V"),
        pytest.param(LEADER_WORKER_SET, "$(LWS_WORKER_INDEX)", False, True, id="T-POD-03 L"),
    ],
)
def test_who_knows_the_rank(deployer: Any, rank: str, shell: bool, waits: bool) -> None:
    assert (deployer.worker_rank, deployer.rank_needs_shell, deployer.needs_dns_wait) == (rank, shell, waits)
    assert evaluated(rank, GROVE_VARIABLES | LWS_VARIABLES) == "1"


@pytest.mark.parametrize("nodes", [pytest.param(3, id="T-POD-04")])
def test_the_names_of_a_group_come_from_the_address_of_its_leader(nodes: int) -> None:
    found = [evaluated(host, LWS_VARIABLES) for host in hosts(LEADER_WORKER_SET, "Decode", nodes)]
    assert found == ["a-0-0.a-0.ns", "a-0-0-1.a-0.ns", "a-0-0-2.a-0.ns"]
    assert LEADER_WORKER_SET.leader_host("Decode") == HL


def test_the_names_of_grove_come_from_its_variables() -> None:
    found = [evaluated(host, GROVE_VARIABLES) for host in hosts(GROVE, "Decode", 2)]
    assert found == ["g-0-decode-3-decode-ldr-0.g-0.ns.svc", "g-0-decode-3-decode-wkr-0.g-0.ns.svc"]
