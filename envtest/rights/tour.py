"""All that the manager ever does on a cluster, in one go. What a program learns to write gets a leg here.

Each leg makes the manager use some right, and waits until the audit log shows it. What it does by itself only in a race (reading
an object whose name turned out to be taken, or a status that somebody else was quicker to write) is provoked by holding its
requests back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from dynamo_graph.api.config import API_VERSION, KIND
from envtest.audit import Request
from envtest.cluster import Cluster
from envtest.graphs import COMPONENTS, GRAPHS, component, graph
from envtest.installation import NAME, NAMESPACE, Installation
from envtest.manager import ManagerProcess
from envtest.proxy import Hold, Proxy
from envtest.rights import accounts, scaling, spanning, traffic
from envtest.rights.optional_apis import optional_apis
from envtest.rights.repeats import repeats
from envtest.rights.steps import TIMEOUT, Steps

UNSEEN: Final = (COMPONENTS, "deployments", "services", spanning.SETS, scaling.ADAPTERS, *traffic.ALL)
"""What the manager cannot follow at first."""

_POD: Final = {"containers": [{"name": "main", "image": "registry.example/foreign:1"}]}


class Tour:
    """The tour of one manager through one namespace. It leaves the namespace empty of graphs, and the cluster as it was.

    Args:
        directory: for files of the manager; its log `manager.log` is among them.
    """

    def __init__(self, cluster: Cluster, installation: Installation, namespace: str, directory: Path) -> None:
        self._cluster = cluster
        self._installation = installation
        self._directory = directory
        self._steps = Steps(cluster, installation, namespace)
        self._namespace = namespace
        self.log = directory / "manager.log"

    def make(self) -> list[Request]:
        """Make it; returns what the manager asked of the server.

        Raises:
            Forbidden: a right is missing.
            TimeoutError: something else did not happen.
        """
        config = self._directory / "config.yaml"
        parts = {**spanning.CONFIG, **accounts.CONFIG, **traffic.CONFIG}
        config.write_text(yaml.safe_dump({"apiVersion": API_VERSION, "kind": KIND, **parts}))
        self._cluster.kubectl("-n", NAMESPACE, "delete", "lease", NAME, "--ignore-not-found")  # of an earlier tour
        with accounts.cluster_roles(self._cluster), optional_apis(self._cluster), Proxy(self._cluster) as proxy:
            kubeconfig = proxy.kubeconfig(self._installation.kubeconfig())
            unseen = {kind: proxy.hold("GET", rf"/{kind}\?.*watch=true") for kind in UNSEEN}
            elected = ("--leader-elect", "--leader-elect-namespace", NAMESPACE)  # as in its Deployment
            with ManagerProcess(kubeconfig, self.log, "--config", config, *elected) as manager:
                self._steps.until("the manager to be ready", lambda: manager.ready)
                accounts.bound_anew(self._steps)
                self._names_that_are_taken(unseen)
                self._statuses_that_somebody_else_writes(proxy)
                self._children_that_change()
                spanning.spanning(self._steps)
                scaling.scaling(self._steps, proxy)
                traffic.roads(self._steps)
                traffic.placed(self._steps, self._cluster.api.get("/api/v1/nodes")["items"][0]["metadata"]["name"])
                repeats(self._steps, self._cluster)
                self._what_is_not_wanted_any_more()
                manager.stop()
        return self._steps.requests()

    def _names_that_are_taken(self, unseen: Mapping[str, Hold]) -> None:
        """Objects of others with the names of children, which the manager has not seen before it creates its own."""
        steps, account = self._steps, "taken-a-k8s-service-discovery"
        subject = {"kind": "ServiceAccount", "name": "default", "namespace": self._namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "foreign"}
        steps.create("serviceaccounts", account)
        steps.create("roles", f"{account}-role", rules=[])
        steps.create("rolebindings", f"{account}-binding", subjects=[subject], roleRef=reference)
        foreign = {"name": "foreign", "podTemplate": {"spec": _POD}}
        steps.create(COMPONENTS, "taken-b-frontend", **spanning.TYPED, spec=foreign)
        labels = {"app": "foreign"}
        template = {"metadata": {"labels": labels}, "spec": _POD}
        selector = {"matchLabels": labels}
        steps.create(
            "deployments", "taken-c-frontend", spec={"replicas": 0, "selector": selector, "template": template}
        )
        steps.create("services", "taken-d-frontend", spec={"ports": [{"port": 80}]})
        for letter in "abcd":
            steps.apply(graph(self._namespace, f"taken-{letter}", component("Frontend", "frontend")))
        steps.has("get", "serviceaccounts", account)
        steps.has("get", "roles", f"{account}-role")
        steps.has("get", "rolebindings", f"{account}-binding")
        steps.has("get", COMPONENTS, "taken-b-frontend")
        unseen[COMPONENTS].release()
        steps.has("get", "deployments", "taken-c-frontend")
        steps.has("get", "services", "taken-d-frontend")
        steps.has("create", "events")
        spanning.names_that_are_taken(steps)
        scaling.names_that_are_taken(steps, unseen[scaling.ADAPTERS])
        traffic.names_that_are_taken(steps)
        for hold in unseen.values():
            hold.release()
        for letter in "abcd":
            steps.delete(GRAPHS, f"taken-{letter}")
        steps.delete(COMPONENTS, "taken-b-frontend")

    def _statuses_that_somebody_else_writes(self, proxy: Proxy) -> None:
        steps = self._steps
        steps.apply(graph(self._namespace, "tour"))
        for resource, name in ((COMPONENTS, "tour-frontend"), (GRAPHS, "tour")):
            held = proxy.hold("PATCH", rf"/{resource}/{name}/status")
            if resource == GRAPHS:
                more = component("Frontend", "frontend", replicas=3)
                steps.apply(graph(self._namespace, "tour", more, component("decode", "decode")))
            held.wait(TIMEOUT)
            steps.edit(resource, name, {"metadata": {"labels": {"moved": "yes"}}})
            held.release()
            steps.has("get", resource, name)
        steps.ready("tour")

    def _children_that_change(self) -> None:
        steps, account = self._steps, "tour-k8s-service-discovery"
        frontend = component("Frontend", "frontend", image="registry.example/dynamo/frontend:1.4.1")
        own = component("decode", "decode")
        own["podTemplate"]["spec"]["serviceAccountName"] = "mine"
        steps.apply(graph(self._namespace, "tour", frontend, own))
        steps.has("patch", "rolebindings", f"{account}-binding")
        steps.has("patch", COMPONENTS, "tour-frontend")
        steps.has("patch", "deployments", "tour-frontend")
        steps.orphan("serviceaccounts", account)
        steps.orphan("roles", f"{account}-role")
        steps.orphan("services", "tour-frontend")

    def _what_is_not_wanted_any_more(self) -> None:
        steps = self._steps
        steps.apply(graph(self._namespace, "tour", component("Frontend", "frontend")))
        steps.has("delete", COMPONENTS)
        steps.ready("tour")
        steps.delete(GRAPHS, "tour")
        steps.gone(GRAPHS, "tour")
