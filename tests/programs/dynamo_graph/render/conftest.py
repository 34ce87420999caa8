"""A bench on which one component is rendered and looked at."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import Deployment
from dynamo_ctrl.objects.builtin.core import SECRET, Secret
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT, DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment

Tree = dict[str, Any]


class Bench:
    """Makes objects of graph `g` in namespace `ns`, and renders them."""

    def graph(
        self, *components: Tree, name: str = "g", annotations: Mapping[str, str] | None = None, **spec: Any
    ) -> DynamoGraphDeployment:
        metadata = {"name": name, "namespace": "ns", "uid": "graph-uid", "annotations": dict(annotations or {})}
        return DYNAMO_GRAPH_DEPLOYMENT.object({"metadata": metadata, "spec": {"components": list(components), **spec}})

    def component(self, type_: str = "worker", /, main: Tree | None = None, **fields: Any) -> Tree:
        """A component with one container; `template`, `pod` and `others` go into its Pod template."""
        containers = [{"name": "main", "image": "img", **(main or {})}, *fields.pop("others", ())]
        template = {**fields.pop("template", {}), "spec": {**fields.pop("pod", {}), "containers": containers}}
        return {"name": type_.capitalize(), "type": type_, "podTemplate": template, **fields}

    def deployment(
        self, type_: str = "worker", /, main: Tree | None = None, *, owned: bool = True, name: str = "g-it",
        labels: Mapping[str, str] | None = None, **fields: Any,
    ) -> DynamoComponentDeployment:  # fmt: skip
        owner = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "graph-uid"}
        metadata: Tree = {"name": name, "namespace": "ns", "labels": dict(labels or {}), "uid": "dcd-uid"}
        if owned:
            metadata["ownerReferences"] = [{**owner, "controller": True}]
        spec = self.component(type_, main, **fields)
        return DYNAMO_COMPONENT_DEPLOYMENT.object({"metadata": metadata, "spec": spec})

    def rendered(self, *args: Any, around: Surroundings | None = None, **fields: Any) -> Deployment:
        return render_deployment(self.deployment(*args, **fields), around or Surroundings())

    def template(self, *args: Any, **fields: Any) -> Tree:
        tree: Tree = self.rendered(*args, **fields).content()["spec"]["template"]
        return tree

    def pod(self, *args: Any, **fields: Any) -> Tree:
        spec: Tree = self.template(*args, **fields)["spec"]
        return spec

    def main(self, *args: Any, **fields: Any) -> Tree:
        container: Tree = self.pod(*args, **fields)["containers"][0]
        return container

    def env(self, *args: Any, **fields: Any) -> dict[str, str]:
        """Names and literal values of the environment of main."""
        return self.values(self.main(*args, **fields))

    def values(self, container: Tree) -> dict[str, str]:
        entries = container["env"]
        assert len({entry["name"] for entry in entries}) == len(entries), "a name stands twice"
        return {entry["name"]: entry.get("value", "") for entry in entries if "valueFrom" not in entry}

    def pull_secret(self, name: str, *hosts: str, namespace: str = "ns", text: str | None = None) -> Secret:
        auths = text if text is not None else json.dumps({"auths": {host: {"auth": "x"} for host in hosts}})
        data = {".dockerconfigjson": base64.b64encode(auths.encode()).decode()}
        metadata = {"name": name, "namespace": namespace}
        return SECRET.object({"metadata": metadata, "type": "kubernetes.io/dockerconfigjson", "data": data})

    def config(self, **sections: Any) -> OperatorConfig:
        return OperatorConfig.model_validate(sections)


@pytest.fixture
def bench() -> Bench:
    return Bench()
