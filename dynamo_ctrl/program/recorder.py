"""`Recorder`: where events go. The manager implements it; programs never see it."""

from __future__ import annotations

from typing import Any, Protocol

from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Event


class Recorder(Protocol):
    """Takes events and sends them later, or drops them when there are too many."""

    def event(self, regarding: Object[Any, Any], event: Event) -> None:
        """Record `event` about `regarding`. Never blocks and never raises."""
