"""What a graph needs besides its components, one family of objects after the other (G 3.2.1).

The order is the contract. A family that cannot be decided ends the list: nothing after it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.program.effect import Refuse
from dynamo_ctrl.program.result import Step
from dynamo_graph.component import checkpoints, cluster_accounts, discovery, endpoint_picker, ssh_keys, wait_for_leader
from dynamo_graph.component.needs import Needs, refused


class Family(NamedTuple):
    """Objects of one purpose.

    Attributes:
        name: of its first step.
        failed: what precedes the text of an error in it.
        steps: what is to be done.
    """

    name: str
    failed: str
    steps: Callable[[Needs], Iterable[Step]]


CHECKPOINTS: Final = "checkpoints"
"""Name of the step that stands for what was seen of checkpoints."""


def _checkpoint_steps(needs: Needs) -> tuple[Step, ...]:
    """Nothing is written; what could not be done fails the attempt here, and what was seen is kept."""
    problem = needs.checkpoints.problem
    effects = () if problem is None else (Refuse(message=str(problem), error=problem),)
    return (Step(name=CHECKPOINTS, effects=effects, prefix=checkpoints.FAILED),)


FAMILIES: Final = (
    Family("cluster-accounts", cluster_accounts.FAILED, cluster_accounts.account_steps),
    Family("discovery", discovery.FAILED, discovery.discovery_steps),
    Family(CHECKPOINTS, checkpoints.FAILED, _checkpoint_steps),
    Family("endpoint-picker", endpoint_picker.FAILED, endpoint_picker.endpoint_picker_steps),
    Family("wait-for-leader", wait_for_leader.FAILED, wait_for_leader.wait_for_leader_steps),
    Family("ssh-keys", ssh_keys.FAILED, ssh_keys.ssh_key_steps),
)


def shared_steps(needs: Needs) -> Iterator[Step]:
    """The steps of all families."""
    for family in FAMILIES:
        try:
            steps = tuple(family.steps(needs))
        except InvalidObject as error:
            yield refused(needs.graph, family.name, error, family.failed)
            return
        yield from steps
