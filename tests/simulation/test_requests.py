"""Every request of a run meets every fate that a request can have: the world comes to what it comes to anyway."""

from __future__ import annotations

import pytest

from dynamo_ctrl.engine.errors import (
    Conflict,
    ServerError,
    ServerTimeout,
    TooManyRequests,
    Unanswered,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from dynamo_ctrl.testing.sweep import Sweep
from dynamo_ctrl.testing.weather import AtRequest, Fate, While
from dynamo_ctrl.testing.wire import REQUEST_TIMEOUT
from tests.simulation.stage import Outcome, play, same

pytestmark = pytest.mark.slow

FATES = {
    "500": Fate(instead=ServerError("internal error")),
    "503": Fate(instead=Unavailable("no endpoints")),
    "504": Fate(instead=ServerTimeout("gave up")),
    "401": Fate(instead=Unauthorized("who are you?")),
    "409": Fate(instead=Conflict("changed")),
    "429": Fate(instead=TooManyRequests("slow down", retry_after=7)),
    "connection refused": Fate(instead=Unreachable("connection refused")),
    "not carried out, not answered": Fate(instead=Unanswered("connection broke")),
    "carried out, answer lost": Fate(lost=True),
    "slow there": Fate(there=5),
    "slow back": Fate(back=5),
    "carried out when nobody waits any more": Fate(there=REQUEST_TIMEOUT + 5),
}


@pytest.mark.parametrize("fate", [pytest.param(fate, id=name) for name, fate in FATES.items()])
def test_any_request_may_have_that_fate(sweep: Sweep, undisturbed: Outcome, fate: Fate) -> None:
    def at(request: int) -> None:
        weather = AtRequest(request, fate)
        same(play(weather=lambda name: weather), undisturbed)
        assert weather.struck is not None

    count = AtRequest(0)
    play(weather=lambda name: count)
    sweep("requests", range(1, count.seen + 1), at)


@pytest.mark.parametrize("seconds", [5, 60])
@pytest.mark.parametrize("name", ["429", "500", "connection refused", "carried out, answer lost"])
def test_every_request_has_that_fate_for_a_while(sweep: Sweep, undisturbed: Outcome, name: str, seconds: int) -> None:
    """Those that renew the lease too: after a minute another manager goes on."""

    def at(second: int) -> None:
        weather = While(second, second + seconds, FATES[name])
        same(play(weather=lambda name: weather, replicas=2), undisturbed)

    sweep("moments", range(1, 25, 4), at)
