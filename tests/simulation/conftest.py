"""What the simulations share: the run that nothing disturbs."""

from __future__ import annotations

import pytest

from tests.simulation.pool import errand
from tests.simulation.stage import Outcome, play


@pytest.fixture(scope="session")
def undisturbed() -> Outcome:
    """The run that nothing disturbs."""
    return play()


@pytest.fixture(scope="session")
def undisturbed_errand() -> Outcome:
    """The same with the user's errand instead of his script."""
    return play(user=errand)
