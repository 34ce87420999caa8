"""The SSH key pair with which MPI reaches the other nodes of an engine (P 6.6).

It is made once for an installation, and copied to every namespace that needs it. A Secret that is there is never looked into,
compared or replaced, whoever made it.
"""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.objects.builtin.core import SECRET, Secret
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.effect import CreateOnce, Refuse, Retry
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.predicates import workers
from dynamo_graph.component.needs import Needs
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.framework import graph_framework

FAILED: Final = "failed to ensure MPI SSH key secret: "
PRIVATE_KEY: Final = "private.key"
PUBLIC_KEY: Final = "private.key.pub"
LABELS: Final = {"app.kubernetes.io/managed-by": "dynamo-operator"}


def needs_ssh_keys(graph: DynamoGraphDeployment) -> bool:
    """Whether an engine of the graph spans nodes by MPI. One that cannot be told needs nothing."""
    spec = graph.spec
    if not any(worker.is_multinode for worker in workers(spec)):
        return False
    try:
        return graph_framework(spec.backend_framework, spec.components) == "trtllm"
    except RenderError:
        return False


def ssh_key_steps(needs: Needs) -> tuple[Step, ...]:
    """The key pair exists where the configuration says, and then in the graph's namespace; if the graph has a use for it."""
    graph, mpi = needs.graph, needs.config.mpi
    if not needs_ssh_keys(graph):
        return ()
    if not mpi.ssh_secret_name or not mpi.ssh_secret_namespace:
        missing = "sshSecretName" if not mpi.ssh_secret_name else "sshSecretNamespace"
        refuse = Refuse(message=f"mpi.{missing} is not configured", retry=Retry.NEVER)
        return (Step(name="ssh-keys", effects=(refuse,), prefix=FAILED),)
    source = Key(mpi.ssh_secret_namespace, mpi.ssh_secret_name)
    steps = [_step("ssh-keys", CreateOnce(object=_secret(source), fill=needs.make_keys, owned=False))]
    target = Key(graph.metadata.namespace, mpi.ssh_secret_name)
    if target != source:
        steps.append(_step("ssh-keys-copy", CreateOnce(object=_secret(target), fill=source, owned=False)))
    return tuple(steps)


def _step(name: str, effect: CreateOnce) -> Step:
    return Step(name=name, effects=(effect,), prefix=FAILED)


def _secret(key: Key) -> Secret:
    return SECRET.object({"metadata": {"name": key.name, "namespace": key.namespace, "labels": LABELS}})
