"""What graphs may use on a cluster: APIs that it serves and that the configuration does not switch off (G 6.2, P 7.2).

A switch has three positions. Absent, what is served is used. `false` switches off. `true` needs the API: its source is not
optional any more, so that the manager is not ready until it is served, says why, and goes on by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import Watches
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.orchestrators import DISAGGREGATED_SET, LEADER_WORKER_SET, POD_CLIQUE_SET
from dynamo_graph.traffic import DESTINATION_RULE

P = TypeVar("P", bound=Object[Any, Any])


@dataclass(frozen=True, slots=True)
class Capability:
    """APIs that are used together, and the switch for them.

    Attributes:
        switch: the field of the configuration.
        needs: what the cluster must serve.
        position: where a configuration has the switch.
    """

    switch: str
    needs: tuple[Kind[Any], ...]
    position: Callable[[OperatorConfig], bool | None]

    def lacks(self, view: View, config: OperatorConfig) -> str | None:
        """What it lacks here, in words; `None` if it can be used."""
        if self.position(config) is False:
            return f"{self.switch} in the configuration switches it off"
        absent = [str(kind) for kind in self.needs if not view.serves(kind)]
        return f"the cluster does not serve {', '.join(absent)}" if absent else None

    def usable(self, view: View, config: OperatorConfig) -> bool:
        """Whether it can be used here."""
        return self.lacks(view, config) is None


GROVE: Final = Capability(
    "orchestrators.grove.enabled", (POD_CLIQUE_SET,), lambda config: config.orchestrators.grove.enabled
)
"""Grove's sets of Pod cliques."""

GROUPS: Final = Capability(
    "orchestrators.lws.enabled", (LEADER_WORKER_SET,), lambda config: config.orchestrators.lws.enabled
)
"""LeaderWorkerSets: engines that span nodes. Volcano is not needed."""

SETS: Final = Capability(
    "orchestrators.lws.enabled",
    (DISAGGREGATED_SET, LEADER_WORKER_SET),
    lambda config: False if config.orchestrators.lws.enabled is False else None,
)
"""DisaggregatedSets, which consist of LeaderWorkerSets."""

MESH: Final = Capability(
    "serviceMesh",
    (DESTINATION_RULE,),
    lambda config: config.service_mesh.enabled if config.service_mesh.provider == "istio" else False,
)
"""Istio's rules for what talks to a Service."""


def required(watches: Watches[P], config: OperatorConfig, *capabilities: Capability) -> Watches[P]:
    """The watches without the option to do without what the configuration switches on."""
    kinds = {kind for each in capabilities if each.position(config) is True for kind in each.needs}
    if not kinds:
        return watches
    others = (replace(watch, optional=watch.optional and watch.kind not in kinds) for watch in watches.others)
    return replace(watches, others=tuple(others))
