"""The controller of topology labels: a Pod of a graph that asks for a label of its node gets it (P 5.8).

Labels that a Pod has stay. A node that lacks the label is told as an event of the Pod, and nothing is tried again before the Pod
changes. A node that is not known yet is waited for: its appearance wakes its Pods. An operator of one namespace may have no right
to read nodes; then that is told in the same way, and the right, once it is there, wakes all Pods.
"""

from __future__ import annotations

from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.predicate import created
from dynamo_ctrl.objects.builtin.core import NODE, POD, Pod
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Event, PatchPrimary
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_graph.api.names import Label
from dynamo_graph.topology.placement import BY_NODE, begins_to_want, labelled_node, placed_pod, pods_of, wanted_label

LABEL_MISSING = "TopologyLabelMissing"


class TopologyLabelProgram:
    """Copies the label that a Pod asks for from its node."""

    name = "dynamo-topology-labels"
    watches: Watches[Pod] = (
        watching(POD, when=begins_to_want, label_selector=f"{Label.GRAPH},{Label.COMPONENT}", project=placed_pod)
        .mapping(NODE, pods_of, when=created, project=labelled_node, optional=True)
        .indexing(BY_NODE)
    )

    def reconcile(self, request: Request[Pod]) -> Result[JsonMap]:
        """One attempt."""
        pod = request.object
        key = wanted_label(pod)
        if key is None:
            return Result()
        if not request.view.serves(NODE):
            return _missing(
                f'the operator may not read nodes, and so not the label "{key}" of node {pod.spec.node_name}'
            )
        node = request.view.get(NODE, pod.spec.node_name)
        if node is None:
            return Result()
        value = node.metadata.labels.get(key)
        if value is None:
            return _missing(f'node {node.metadata.name} has no label "{key}"')
        patch = PatchPrimary(patch=Patch.merge({"metadata": {"labels": {key: value}}}))
        return Result(steps=(Step(name="label", effects=(patch,)),))


def _missing(what: str) -> Result[JsonMap]:
    note = f"{what}, which the KV transfer policy of the graph names"
    return Result(events=(Event(type="Warning", reason=LABEL_MISSING, note=note),))
