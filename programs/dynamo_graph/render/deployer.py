"""How the Pods of one engine find each other, told by who deploys them (P 2.1).

Values are written for the kubelet, as `$(NAME)`, with the variables that the orchestrator gives to every container. What only a
shell can work out says so.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol

Role = Literal["main", "leader", "worker"]
"""A Pod's part in its engine; `main` is the only Pod of an engine on one node."""


class Deployer(Protocol):
    """Names and ranks of the Pods of an engine.

    Attributes:
        worker_rank: the rank of a worker Pod; that of the leader is 0.
        rank_needs_shell: whether a shell has to work that rank out.
        needs_dns_wait: whether Pods start before the names of the others resolve.
    """

    worker_rank: str
    rank_needs_shell: bool
    needs_dns_wait: bool

    def leader_host(self, component: str) -> str:
        """The name of the leader of a Pod's engine; `component` is the component's name."""

    def worker_host(self, component: str, number: int) -> str:
        """The name of worker `number`, from 1 on. A shell works it out."""


def hosts(deployer: Deployer, component: str, nodes: int) -> tuple[str, ...]:
    """The names of all Pods of an engine, by rank."""
    workers = (deployer.worker_host(component, number) for number in range(1, nodes))
    return (deployer.leader_host(component), *workers)


class LeaderWorkerSetDeployer:
    """LeaderWorkerSet: the leader's address and a Pod's index in its group come as variables."""

    worker_rank = "$(LWS_WORKER_INDEX)"
    rank_needs_shell = False
    needs_dns_wait = True

    def leader_host(self, component: str) -> str:
        """The address that every Pod of the group is given."""
        del component
        return "$(LWS_LEADER_ADDRESS)"

    def worker_host(self, component: str, number: int) -> str:
        """The leader's address with the number behind its first label."""
        del component
        return f"${{LWS_LEADER_ADDRESS%%.*}}-{number}.${{LWS_LEADER_ADDRESS#*.}}"


class GroveDeployer:
    """Grove: names are built from the scaling group, its replica and the clique of the role; cliques count from 0."""

    worker_rank = "$((GROVE_PCLQ_POD_INDEX + 1))"
    rank_needs_shell = True
    needs_dns_wait = False

    def leader_host(self, component: str) -> str:
        """The one Pod of the leader clique."""
        return self._host(component, "ldr", 0)

    def worker_host(self, component: str, number: int) -> str:
        """A Pod of the worker clique."""
        return self._host(component, "wkr", number - 1)

    def _host(self, component: str, clique: str, index: int) -> str:
        group = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)"
        return f"{group}-{component.lower()}-{clique}-{index}.$(GROVE_HEADLESS_SERVICE)"


LEADER_WORKER_SET: Final[Deployer] = LeaderWorkerSetDeployer()
GROVE: Final[Deployer] = GroveDeployer()
