"""The bounds of a rollout: how many Pods there may be, and how many must be available."""

from __future__ import annotations

from dataclasses import dataclass

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, DeploymentSpec, RollingUpdate
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.quantity import scaled

DEFAULT_REPLICAS = 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Absolute numbers: what is wanted, what may come on top, what may be missing."""

    replicas: int
    surge: int = 0
    unavailable: int = 0

    @property
    def most(self) -> int:
        """The most Pods that there may be at any time."""
        return self.replicas + self.surge

    @property
    def least_available(self) -> int:
        """The fewest Pods that must be available at any time."""
        return self.replicas - self.unavailable


def bounds(spec: DeploymentSpec, what: str = DEPLOYMENT.kind) -> Bounds:
    """The bounds that `spec` sets. Surge is rounded up, unavailability down; if both come to nothing, one may be missing.

    `what` names the object for an error.

    Raises:
        InvalidObject: a bound that is neither an integer nor a percentage.
    """
    replicas = DEFAULT_REPLICAS if spec.replicas is None else spec.replicas
    if spec.strategy.type != "RollingUpdate":
        return Bounds(replicas)
    update = spec.strategy.rolling_update or RollingUpdate()
    surge = _scaled(update.max_surge, replicas, what, "maxSurge")
    unavailable = _scaled(update.max_unavailable, replicas, what, "maxUnavailable")
    if not surge and not unavailable:
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


def _scaled(value: int | str, replicas: int, what: str, field: str) -> int:
    try:
        return scaled(value, replicas, round_up=field == "maxSurge")
    except ValueError as error:
        path = f"spec.strategy.rollingUpdate.{field}"
        raise InvalidObject(what, path, f"must be an integer or a percentage, not {value!r}") from error
