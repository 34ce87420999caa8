"""One election at the table, for tests of the state machine."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import msgspec

from dynamo_ctrl.engine.errors import Conflict
from dynamo_ctrl.manager.election import Action, Create, Election, Read, Role, Sleep, Update
from dynamo_ctrl.manager.lease import Claim
from dynamo_ctrl.manager.options import LeaderElectionOptions
from dynamo_ctrl.objects.key import Key

KEY = Key("ns", "lease")
OPTIONS = LeaderElectionOptions(enabled=True, name="lease", namespace="ns")
START = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-5)))


class Table:
    """One election at the table: the lease is a dict, time is moved by hand."""

    def __init__(self, options: LeaderElectionOptions = OPTIONS, *, heartbeat: bool = False, seed: int = 0) -> None:
        self.now = 100.0
        self.election = Election(KEY, "me", options, Random(seed), self.now, heartbeat=heartbeat)
        self.lease: dict[str, Any] | None = None
        self.version = 0

    @property
    def role(self) -> Role:
        return self.election.standing.role

    def next(self) -> Action:
        return self.election.next(self.now, START + timedelta(seconds=self.now))

    def held(self, holder: str, *, seconds: int = 15, transitions: int = 3, **more: Any) -> None:
        spec = {
            "leaseDurationSeconds": seconds,
            "leaseTransitions": transitions,
            "renewTime": f"t{self.version}",
            **more,
        }
        if holder:
            spec["holderIdentity"] = holder
        self.store({"metadata": {"name": "lease", "labels": {"theirs": "x"}, "annotations": {"a": "b"}}, "spec": spec})

    def store(self, lease: dict[str, Any]) -> None:
        self.version += 1
        self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": str(self.version)}}

    def claim(self) -> Claim | None:
        return None if self.lease is None else Claim.read(msgspec.json.encode(self.lease))

    def carry_out(self, action: Action, *, tell: bool = True) -> None:
        """What the server makes of it."""
        match action:
            case Read():
                self.election.found(self.claim(), self.now)
            case Create(body) | Update(body):
                sent = msgspec.json.decode(body)
                if isinstance(action, Update):
                    assert self.lease is not None
                    if sent["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                        self.election.failed(Conflict("changed"), self.now)
                        return
                self.store(sent)
                claim = self.claim()
                assert claim is not None
                if tell:
                    self.election.wrote(claim, self.now)
            case _:
                raise AssertionError(action)

    def settle(self) -> Action:
        """Carry out whatever is wanted now. Returns the sleep or the end that comes then."""
        while isinstance(action := self.next(), Read | Create | Update):
            self.carry_out(action)
        return action

    def lead(self) -> None:
        assert isinstance(self.settle(), Sleep)
        assert self.role is Role.LEADER

    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec
