"""What an electorate needs before it can begin: a namespace, a way to renew, an identity (R 1.1, 1.8)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dynamo_ctrl.engine.memory import MemoryEngine
from dynamo_ctrl.manager.electorate import identity, own_namespace
from dynamo_ctrl.manager.errors import InvalidOption
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions
from tests.dynamo_ctrl.manager.replicas import ELECTION


def test_a_namespace_is_needed_outside_a_cluster_and_read_from_the_pod_inside(tmp_path: Path) -> None:
    election = LeaderElectionOptions(enabled=True, name="lease", renewal="loop")
    with pytest.raises(InvalidOption, match=r"leader_election\.namespace: must be given outside a cluster"):
        Manager(MemoryEngine(), options=ManagerOptions(leader_election=election))
    file = tmp_path / "namespace"
    file.write_text("team-a\n")
    assert own_namespace(file) == "team-a"
    file.write_text("")
    with pytest.raises(InvalidOption):
        own_namespace(file)


@pytest.mark.parametrize("engine", ["memory", MemoryEngine()])
def test_a_thread_for_an_engine_that_cannot_be_opened_twice_is_refused_with_what_to_do(engine: Any) -> None:
    election = replace(ELECTION, renewal="thread")
    with pytest.raises(InvalidOption, match=r"leader_election\.renewal: .*`lease_engine`, or choose 'loop'"):
        Manager(engine, options=ManagerOptions(leader_election=election))


def test_an_identity_is_host_and_uuid_and_never_the_same_twice() -> None:
    random = Random(1)
    one, two = identity(random), identity(random)
    assert one != two
    host, _, unique = one.rpartition("_")
    assert host
    assert len(unique) == 36
    assert unique[14] == "4", "a random uuid"
