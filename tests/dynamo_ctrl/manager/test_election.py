"""Leader election as a state machine: what it decides, told by hand (R 3.8, R 4, 40-42)."""

from __future__ import annotations

import math
from datetime import UTC

import pytest

from dynamo_ctrl.engine.errors import AlreadyExists, Conflict, EngineError, MalformedAnswer, Unanswered, Unreachable
from dynamo_ctrl.manager.election import (
    RELEASE_TRIES,
    Create,
    End,
    Read,
    Role,
    Sleep,
    Update,
)
from dynamo_ctrl.manager.lease import Claim
from dynamo_ctrl.manager.options import LeaderElectionOptions
from tests.dynamo_ctrl.manager.election_table import START, Table


def test_no_lease_is_created_with_every_field_in_utc_microseconds() -> None:
    table = Table(LeaderElectionOptions(enabled=True, name="lease", labels={"app": "x"}, lease_duration=14.2))
    table.lead()
    assert table.lease is not None
    assert table.lease["apiVersion"] == "coordination.k8s.io/v1"
    assert table.lease["metadata"]["labels"] == {"app": "x"}
    assert table.spec() == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T05:01:40.000000Z",
        "renewTime": "2026-01-01T05:01:40.000000Z",
        "leaseTransitions": 0,
    }


def test_a_renewal_writes_without_reading_and_moves_only_the_time() -> None:
    table = Table()
    table.lead()
    before = dict(table.spec())
    table.now += 2
    action = table.next()
    assert isinstance(action, Update)
    table.carry_out(action)
    assert table.spec() == {**before, "renewTime": "2026-01-01T05:01:42.000000Z"}
    assert table.next() == Sleep(2)
    assert table.election.standing.slow_paths == 0


def test_a_released_lease_is_taken_at_once_and_what_others_wrote_stays() -> None:
    table = Table(LeaderElectionOptions(enabled=True, name="lease", labels={"app": "x"}))
    table.held("", seconds=1, strategy="OldestEmulationVersion")
    table.lead()
    assert table.lease is not None
    assert table.lease["metadata"]["labels"] == {"theirs": "x", "app": "x"}
    assert table.lease["metadata"]["annotations"] == {"a": "b"}
    assert table.spec()["leaseTransitions"] == 4
    assert table.spec()["leaseDurationSeconds"] == 15
    assert table.spec()["strategy"] == "OldestEmulationVersion"


def test_a_held_lease_is_waited_for_with_jitter() -> None:
    waits = set()
    for seed in range(200):
        table = Table(seed=seed)
        table.held("other")
        action = table.settle()
        assert isinstance(action, Sleep)
        waits.add(action.seconds)
    assert min(waits) >= 2
    assert 2.2 * 2 > max(waits) > 4
    assert len(waits) > 100


def test_only_our_own_clock_since_the_first_sight_of_a_record_counts() -> None:
    table = Table()
    table.held("other", renewTime="1999-01-01T00:00:00.000000Z")  # long ago by its own account
    table.settle()
    table.now += 14.9
    table.settle()
    assert table.role is Role.CANDIDATE
    table.now += 5
    table.lead()
    assert table.spec()["holderIdentity"] == "me"


def test_a_renewed_record_starts_the_wait_again_and_a_changed_label_does_not() -> None:
    table = Table()
    table.held("other")
    table.settle()
    table.now += 10
    table.held("other")
    table.settle()
    table.now += 10
    assert table.lease is not None
    table.store({"metadata": {"name": "lease", "labels": {"changed": "label"}}, "spec": table.lease["spec"]})
    table.settle()
    assert table.role is Role.CANDIDATE
    table.now += 5
    table.lead()


def test_the_duration_in_the_record_counts_not_ours() -> None:
    table = Table()
    table.held("other", seconds=60)
    table.settle()
    table.now += 59
    table.settle()
    assert table.role is Role.CANDIDATE
    table.now += 5
    table.lead()


def test_a_lease_that_vanished_is_free_only_when_its_holder_would_have_lost_it() -> None:
    table = Table()
    table.held("other")
    table.settle()
    table.lease = None
    table.now += 10
    table.settle()
    assert table.lease is None
    table.now += 10
    table.lead()


def test_a_lost_race_is_no_victory() -> None:
    table = Table()
    assert isinstance(table.next(), Read)
    table.election.found(None, table.now)
    assert isinstance(table.next(), Create)
    table.election.failed(AlreadyExists("raced"), table.now)
    assert isinstance(table.next(), Sleep)
    assert table.role is Role.CANDIDATE


def test_a_failed_renewal_reads_and_writes_in_the_same_try() -> None:
    table = Table()
    table.lead()
    assert table.lease is not None
    table.store(table.lease)  # somebody labelled it: the version moved on
    table.now += 2
    table.carry_out(table.next())
    assert isinstance(table.next(), Read)
    assert table.settle() == Sleep(2)
    assert table.role is Role.LEADER
    assert table.election.standing.slow_paths == 1


def test_failed_tries_end_nothing_before_the_renew_deadline() -> None:
    table = Table()
    table.lead()
    while table.now < 100 + 10:
        action = table.next()
        if isinstance(action, Sleep):
            table.now += action.seconds
        else:
            assert isinstance(action, Read | Update)
            assert action.timeout <= min(5, 110 - table.now)
            table.election.failed(Unanswered("down"), table.now)
        assert table.role is Role.LEADER
    assert isinstance(table.next(), End)
    assert table.now == 110
    assert table.election.standing.lost == "it could not be renewed for 10 s"


def test_the_deadline_counts_from_when_the_renewal_was_sent() -> None:
    table = Table()
    table.lead()
    table.now += 2
    action = table.next()
    table.now += 4  # the answer takes four seconds
    table.carry_out(action)
    assert table.election.standing.renewed_at == 102
    assert table.election.standing.writes_until == 102 + 10 - 1


def test_an_answer_that_comes_after_its_own_deadline_makes_no_leader() -> None:
    table = Table()
    table.held("")
    table.carry_out(table.next())
    action = table.next()
    table.now += 11
    table.carry_out(action)
    assert table.role is Role.CANDIDATE
    assert isinstance(table.next(), Update)
    table.lead()
    assert table.election.standing.renewed_at == 111


def test_somebody_else_in_the_lease_ends_a_leadership_at_once() -> None:
    table = Table()
    table.lead()
    table.held("other")
    table.now += 2
    assert isinstance(table.settle(), End)
    assert table.election.standing.lost == "other holds the lease"
    assert table.election.standing.writes_until == -math.inf


@pytest.mark.parametrize("error", [Unanswered("x"), Unreachable("x"), Conflict("x"), MalformedAnswer("x")])
def test_a_candidate_survives_every_failure(error: EngineError) -> None:
    table = Table()
    for _ in range(10):
        assert isinstance(table.next(), Read)
        table.election.failed(error, table.now)
        action = table.next()
        assert isinstance(action, Sleep)
        table.now += action.seconds
    table.lead()


def test_writes_end_a_margin_before_the_renew_deadline() -> None:
    table = Table()
    table.lead()
    assert table.election.standing.writes_until == 109
    wide = Table(LeaderElectionOptions(enabled=True, name="lease", guard_margin=4))
    wide.lead()
    assert wide.election.standing.writes_until == 106


def test_a_main_loop_that_gives_no_sign_of_life_ends_the_leadership() -> None:
    table = Table(heartbeat=True)
    table.lead()
    for _ in range(4):
        table.now += 2
        table.election.beat(table.now)
        table.settle()
    table.now += 2
    for _ in range(4):
        table.settle()
        table.now += 2
    assert table.role is Role.LEADER
    table.now += 2
    assert isinstance(table.settle(), End)
    assert "no sign of life for 10 s" in table.election.standing.lost


def test_a_main_loop_that_hangs_does_not_win() -> None:
    table = Table(heartbeat=True)
    table.now += 20
    assert isinstance(table.settle(), Sleep)
    assert table.lease is None
    table.now += 5
    table.election.beat(table.now)
    table.lead()


def test_r4_41_who_resigned_never_wins_again() -> None:
    table = Table()
    table.held("other")
    table.settle()
    table.election.resign()
    table.now += 100
    assert isinstance(table.next(), End)
    assert table.spec()["holderIdentity"] == "other"


def test_a_leader_that_resigns_goes_on_renewing_until_it_releases() -> None:
    table = Table()
    table.lead()
    table.election.resign()
    table.now += 2
    assert isinstance(table.next(), Update)
    assert table.role is Role.LEADER


def test_a_release_reads_first_and_leaves_an_empty_holder_for_a_second() -> None:
    table = Table()
    table.held("")
    table.lead()
    table.now += 1
    table.election.release()
    assert table.election.standing.writes_until == -math.inf
    action = table.next()
    assert isinstance(action, Read)
    table.carry_out(action)
    assert isinstance(table.settle(), End)
    assert "holderIdentity" not in table.spec()
    assert table.spec()["leaseDurationSeconds"] == 1
    assert table.spec()["leaseTransitions"] == 4
    assert table.election.standing.lost == ""


def test_a_release_tries_again_on_a_conflict_and_not_for_ever() -> None:
    table = Table()
    table.lead()
    table.election.release()
    for number in range(RELEASE_TRIES):
        table.carry_out(table.next())
        assert isinstance(table.next(), Update)
        table.election.failed(Conflict("labelled meanwhile"), table.now)
        assert isinstance(table.next(), End if number + 1 == RELEASE_TRIES else Read)


def test_a_release_leaves_a_lease_alone_that_is_not_ours() -> None:
    table = Table()
    table.lead()
    table.held("other")
    table.election.release()
    assert isinstance(table.settle(), End)
    assert table.spec()["holderIdentity"] == "other"
    table = Table()
    table.lead()
    table.lease = None
    table.election.release()
    assert isinstance(table.settle(), End)
    assert table.lease is None


def test_without_the_option_nothing_is_released() -> None:
    table = Table(LeaderElectionOptions(enabled=True, name="lease", release=False))
    table.lead()
    table.election.release()
    assert isinstance(table.next(), End)
    assert table.spec()["holderIdentity"] == "me"


@pytest.mark.parametrize("answered", [True, False])
def test_a_claim_whose_answer_was_lost_is_given_back_by_who_resigns(answered: bool) -> None:
    table = Table()
    table.held("")
    table.carry_out(table.next())
    table.carry_out(table.next(), tell=False)
    if answered:
        table.election.failed(Unanswered("lost"), table.now)
    table.election.resign()
    if not answered:
        table.election.failed(Unanswered("given up"), table.now)
    assert isinstance(table.settle(), End)
    assert "holderIdentity" not in table.spec()


def test_a_claim_whose_answer_was_lost_is_found_to_be_ours() -> None:
    table = Table()
    table.held("")
    table.carry_out(table.next())
    table.carry_out(table.next(), tell=False)
    table.election.failed(Unanswered("lost"), table.now)
    assert table.role is Role.CANDIDATE
    table.now += 5
    table.lead()
    assert table.spec()["leaseTransitions"] == 4


def test_what_is_no_lease_is_a_malformed_answer() -> None:
    for raw in (b"[]", b"nonsense", b'{"spec": 5}', b'{"spec": {"leaseDurationSeconds": "x"}}'):
        with pytest.raises(MalformedAnswer, match="no Lease"):
            Claim.read(raw)


def test_the_first_moments_are_in_utc() -> None:
    assert START.astimezone(UTC).hour == 5, "the table's own time zone is not UTC, so that a mistake would show"
