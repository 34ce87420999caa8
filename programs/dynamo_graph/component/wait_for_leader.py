"""The ConfigMap with the scripts by which the Pods of an engine that spans nodes wait for their leader (P 2.3.6, 6.1). Pure."""

from __future__ import annotations

from importlib import resources
from typing import Final

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.program.effect import Sync
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import Label, WaitScript, wait_leader_script
from dynamo_graph.api.predicates import has_any_multinode
from dynamo_graph.bookkeeping import POLICY
from dynamo_graph.component.needs import Needs
from dynamo_graph.render.inherit import inherited_annotations
from dynamo_graph.render.origin import RAY_WAIT, origin_at_least

FAILED: Final = "failed to reconcile wait-leader ConfigMap: "

_FILES: Final = resources.files("dynamo_graph.component") / "scripts"
SCRIPTS: Final = {
    WaitScript.MP: (_FILES / "wait_for_leader.py").read_text(encoding="utf-8"),
    WaitScript.RAY: (_FILES / "wait_for_ray_leader.sh").read_text(encoding="utf-8"),
}
"""The scripts, by their keys."""


def wait_for_leader_steps(needs: Needs) -> tuple[Step, ...]:
    """The scripts that engines which span nodes wait by exist."""
    scripts = wait_leader_config_map(needs.graph)
    if scripts is None:
        return ()
    return (Step(name="wait-for-leader", effects=(Sync(child=scripts, policy=POLICY),), prefix=FAILED),)


def wait_leader_config_map(graph: DynamoGraphDeployment) -> ConfigMap | None:
    """The ConfigMap; `None` for a graph whose engines stay on one node.

    A graph of an older release has no Pods that wait for Ray, and no script for it.
    """
    components = graph.spec.components
    if not has_any_multinode(components):
        return None
    annotations = (inherited_annotations(graph.spec, graph.metadata.annotations, component) for component in components)
    ray = any(origin_at_least(each, RAY_WAIT, unknown=True) for each in annotations)
    data = {name: text for name, text in SCRIPTS.items() if ray or name != WaitScript.RAY}
    metadata = {
        "name": wait_leader_script(graph.metadata.name),
        "namespace": graph.metadata.namespace,
        "labels": {Label.GRAPH: graph.metadata.name},
    }
    return CONFIG_MAP.object({"metadata": metadata, "data": data})
