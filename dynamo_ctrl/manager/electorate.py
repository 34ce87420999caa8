"""`Electorate`: all leases of one manager: who leads what, and through which engine may be written.

Without leader election there is one leadership without a name that nobody contests, and the engine is what it is.
"""

from __future__ import annotations

import math
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.guard import WriteGuard
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.manager.election import Election
from dynamo_ctrl.manager.elector import Elector, OpenEngine
from dynamo_ctrl.manager.errors import InvalidOption, LeadershipLost
from dynamo_ctrl.manager.leadership import Leadership
from dynamo_ctrl.manager.options import LeaderElectionOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Event

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Where a Pod finds its own namespace."""

BEATS = 2
"""Signs of life of the main loop in a retry period."""


class Electorate:
    """See the module.

    Args:
        options: see `LeaderElectionOptions`.
        clock: of everything; read by several threads.
        random: identity and jitter; the system's own randomness when `None`.
        opened: opens an engine for the renewals alone, on their thread; `None` where that cannot be.
        lost: told when a leadership was lost.
        failed: told what else went wrong.

    Raises:
        InvalidOption: no namespace, or a thread is wanted and there is no way to open an engine for it.
    """

    def __init__(
        self,
        options: LeaderElectionOptions,
        *,
        clock: Clock,
        random: Random | None,
        opened: OpenEngine | None,
        lost: Callable[[LeadershipLost], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._options = options
        self._clock = clock
        self._random = random if random is not None else SystemRandom()
        self._opened = opened
        self._failed = failed
        self._elector: Elector | None = None
        self._leaderships: dict[str, Leadership] = {}
        self.identity = options.identity or identity(self._random)
        if not options.enabled:
            return
        if options.renewal == "thread" and opened is None:
            raise InvalidOption(
                "leader_election.renewal",
                "'thread' needs an engine of its own: name the engine, give `lease_engine`, or choose 'loop' for one that lives "
                "in the manager's loop, as the memory engine does",
            )
        namespace = options.namespace or own_namespace()
        for name in options.leases():
            key = Key(namespace, name)
            self._leaderships[name] = Leadership(key, options, clock, partial(self._lose, lost, key))

    # -- who leads

    @property
    def leases(self) -> tuple[str, ...]:
        """The names of the leases; one empty name without leader election. The first is for everything without a group."""
        return tuple(self._leaderships) or ("",)

    def lease_of(self, controller: str) -> str:
        """The lease under which that controller works."""
        return self._options.groups.get(controller, self.leases[0]) if self._leaderships else ""

    async def elected(self, lease: str = "") -> None:
        """Returns when we lead that lease; the first when none is named."""
        if self._leaderships:
            await self._leaderships[lease or self.leases[0]].elected()

    def leading(self, lease: str = "") -> bool:
        """Whether we lead that lease and may write."""
        return not self._leaderships or self._leaderships[lease or self.leases[0]].leading

    def key(self, lease: str) -> Key | None:
        """The Lease of that name; `None` without leader election."""
        leadership = self._leaderships.get(lease)
        return leadership.key if leadership is not None else None

    def standings(self) -> Iterator[tuple[str, bool, int]]:
        """For each lease: its name, whether we lead, and how often a renewal had to read first."""
        for name, leadership in self._leaderships.items():
            yield name, leadership.leading, leadership.standing.slow_paths

    def checks(self) -> Iterator[tuple[str, str | None]]:
        """The health check of each lease."""
        for name, leadership in self._leaderships.items():
            yield f"leader-election/{name}", leadership.check()

    # -- who may write

    def guarded(self, engine: Engine, lease: str) -> Engine:
        """`engine`, which writes only while we lead that lease."""
        leadership = self._leaderships.get(lease)
        return self._guard(engine, leadership.left, f"lease {leadership.key}") if leadership is not None else engine

    def jointly_guarded(self, engine: Engine) -> Engine:
        """`engine`, which writes while we lead something and nothing that we lead has run out: for what all controllers share."""
        keys = ", ".join(str(leadership.key) for leadership in self._leaderships.values())
        return self._guard(engine, self._left, f"lease {keys}") if self._leaderships else engine

    def _guard(self, engine: Engine, left: Callable[[], float], lease: str) -> Engine:
        exempt = [LEASE.ref(leadership.key) for leadership in self._leaderships.values()]
        return WriteGuard(engine, left, why=f"this process does not lead now ({lease})", exempt=exempt)

    def _left(self) -> float:
        led = [leadership.left() for leadership in self._leaderships.values() if leadership.claims]
        return min(led, default=-math.inf)

    # -- life

    def start(self, engine: Engine) -> None:
        """Begin to campaign; `engine` is the one for campaigns on this loop."""
        if not self._leaderships:
            return
        abroad = self._options.renewal == "thread" and self._opened is not None
        now, seed = self._clock.monotonic(), partial(self._random.getrandbits, 64)
        pairs = [
            (
                Election(leadership.key, self.identity, self._options, Random(seed()), now, heartbeat=abroad),  # noqa: S311
                leadership,
            )
            for leadership in self._leaderships.values()
        ]
        self._elector = Elector(
            pairs,
            self._opened if abroad and self._opened is not None else lambda: nullcontext(engine),
            self._clock,
            beat_period=self._options.retry_period / BEATS if abroad else 0.0,
            failed=self._failed,
        )
        self._elector.start()

    def resign(self) -> None:
        """Win no more. What is led stays led until `end`."""
        if self._elector is not None:
            self._elector.resign()

    def close(self) -> None:
        """No writes any more."""
        for leadership in self._leaderships.values():
            leadership.close()

    async def end(self, *, release: bool, timeout: float) -> bool:  # noqa: ASYNC109  (the answer says whether it was enough)
        """End everything within `timeout` seconds; with `release`, what is led is given back. Returns whether all of it ended."""
        self.close()
        return self._elector is None or await self._elector.end(release=release, timeout=timeout)

    def _lose(self, lost: Callable[[LeadershipLost], None], key: Key, reason: str) -> None:
        self.close()
        lost(LeadershipLost(str(key), reason))


def became_leader(key: Key, identity: str) -> tuple[Object[Any, Any], Event]:
    """The event about a lease that was won, and what it is about."""
    lease = LEASE.object({"metadata": {"namespace": key.namespace, "name": key.name}})
    return lease, Event(type="Normal", reason="LeaderElection", action="Lead", note=f"{identity} became leader")


def identity(random: Random) -> str:
    """A name that no other process has, nor this one after a restart: host name and a random uuid."""
    return f"{socket.gethostname()}_{uuid.UUID(int=random.getrandbits(128), version=4)}"


def own_namespace(file: Path = NAMESPACE_FILE) -> str:
    """The namespace of the Pod that we are in. Raises `InvalidOption` outside a cluster."""
    try:
        namespace = file.read_text(encoding="utf-8").strip()
    except OSError:
        namespace = ""
    if not namespace:
        raise InvalidOption("leader_election.namespace", f"must be given outside a cluster ({file} is not there)")
    return namespace
