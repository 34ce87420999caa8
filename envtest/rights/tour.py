"""All that the manager ever does on a cluster, in one go.

Each leg makes the manager use some right, and waits until the audit log shows it. What it does by itself only in a race (reading
an object whose name turned out to be taken, or a status that somebody else was quicker to write) is provoked by holding its
requests back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from envtest.api import ApiError, wait_for
from envtest.audit import Request
from envtest.cluster import Cluster
from envtest.graphs import COMPONENTS, GRAPHS, component, graph, is_ready, path
from envtest.installation import Installation
from envtest.manager import ManagerProcess
from envtest.proxy import Hold, Proxy

TIMEOUT: Final = 60.0
"""Seconds for one thing to happen."""

ORCHESTRATORS: Final = (
    ("grove.io", "v1alpha1", "PodCliqueSet"),
    ("disaggregatedset.x-k8s.io", "v1", "DisaggregatedSet"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
)
"""APIs that a cluster may serve or not; what the manager may do when they are served belongs to the tour."""

_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_POD: Final = {"containers": [{"name": "main", "image": "registry.example/foreign:1"}]}
_ORPHANED: Final = {"metadata": {"annotations": {"nvidia.com/last-applied-hash": None}}}
"""A merge patch that makes a child one whose last write is unknown."""


class Forbidden(Exception):
    """The manager was refused something. The message names all of it."""


class Tour:
    """The tour of one manager through one namespace. It leaves the namespace empty, and the cluster as it was."""

    def __init__(self, cluster: Cluster, installation: Installation, namespace: str, log: Path) -> None:
        self._cluster = cluster
        self._api = cluster.api
        self._installation = installation
        self._namespace = namespace
        self._log = log
        self._since = installation.trail.mark()

    def make(self) -> list[Request]:
        """Make it; returns what the manager asked of the server.

        Raises:
            Forbidden: a right is missing.
            TimeoutError: something else did not happen.
        """
        with orchestrators(self._cluster), Proxy(self._cluster) as proxy:
            kubeconfig = proxy.kubeconfig(self._installation.kubeconfig())
            kinds = (COMPONENTS, "deployments", "services")
            unseen = {kind: proxy.hold("GET", rf"/{kind}\?.*watch=true") for kind in kinds}
            with ManagerProcess(kubeconfig, self._log) as manager:
                manager.wait_ready(TIMEOUT)
                self._names_that_are_taken(unseen)
                self._statuses_that_somebody_else_writes(proxy)
                self._children_that_change()
                self._what_is_not_wanted_any_more()
                manager.stop()
        return self._requests()

    def _names_that_are_taken(self, unseen: Mapping[str, Hold]) -> None:
        """Objects of others with the names of children, which the manager has not seen before it creates its own."""
        account = "taken-a-k8s-service-discovery"
        subject = {"kind": "ServiceAccount", "name": "default", "namespace": self._namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "foreign"}
        self._create("serviceaccounts", account)
        self._create("roles", f"{account}-role", rules=[])
        self._create("rolebindings", f"{account}-binding", subjects=[subject], roleRef=reference)
        typed = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment"}
        self._create(COMPONENTS, "taken-b-frontend", **typed, spec={"name": "foreign", "podTemplate": {"spec": _POD}})
        labels = {"app": "foreign"}
        template = {"metadata": {"labels": labels}, "spec": _POD}
        selector = {"matchLabels": labels}
        self._create(
            "deployments", "taken-c-frontend", spec={"replicas": 0, "selector": selector, "template": template}
        )
        self._create("services", "taken-d-frontend", spec={"ports": [{"port": 80}]})
        for letter in "abcd":
            self._apply(graph(self._namespace, f"taken-{letter}", component("Frontend", "frontend")))
        self._await("get", "serviceaccounts", account)
        self._await("get", "roles", f"{account}-role")
        self._await("get", "rolebindings", f"{account}-binding")
        self._await("get", COMPONENTS, "taken-b-frontend")
        unseen[COMPONENTS].release()
        self._await("get", "deployments", "taken-c-frontend")
        self._await("get", "services", "taken-d-frontend")
        self._await("create", "events")
        for hold in unseen.values():
            hold.release()
        for letter in "abcd":
            self._api.delete(path(self._namespace, GRAPHS, f"taken-{letter}"))
        self._api.delete(path(self._namespace, COMPONENTS, "taken-b-frontend"))

    def _statuses_that_somebody_else_writes(self, proxy: Proxy) -> None:
        self._apply(graph(self._namespace, "tour"))
        for resource, name in ((COMPONENTS, "tour-frontend"), (GRAPHS, "tour")):
            held = proxy.hold("PATCH", rf"/{resource}/{name}/status")
            if resource == GRAPHS:
                more = component("Frontend", "frontend", replicas=3)
                self._apply(graph(self._namespace, "tour", more, component("decode", "decode")))
            held.wait(TIMEOUT)
            self._api.merge(path(self._namespace, resource, name), {"metadata": {"labels": {"moved": "yes"}}})
            held.release()
            self._await("get", resource, name)
        self._ready("tour")

    def _children_that_change(self) -> None:
        frontend = component("Frontend", "frontend", image="registry.example/dynamo/frontend:1.4.1")
        own = component("decode", "decode")
        own["podTemplate"]["spec"]["serviceAccountName"] = "mine"
        self._apply(graph(self._namespace, "tour", frontend, own))
        account = "tour-k8s-service-discovery"
        self._await("patch", "rolebindings", f"{account}-binding")
        self._await("patch", COMPONENTS, "tour-frontend")
        self._await("patch", "deployments", "tour-frontend")
        children = (("serviceaccounts", account), ("roles", f"{account}-role"), ("services", "tour-frontend"))
        for resource, name in children:
            self._api.merge(path(self._namespace, resource, name), _ORPHANED)
            self._await("patch", resource, name)

    def _what_is_not_wanted_any_more(self) -> None:
        frontend, worker = component("Frontend", "frontend"), component("decode", "decode")
        etcd = {"annotations": {"nvidia.com/dynamo-discovery-backend": "etcd"}}
        worker["podTemplate"]["metadata"] = etcd
        self._apply(graph(self._namespace, "tour", frontend, worker))
        self._await("delete", "services")
        self._apply(graph(self._namespace, "tour", frontend))
        self._await("delete", COMPONENTS)
        self._ready("tour")
        self._api.delete(path(self._namespace, GRAPHS, "tour"))
        wait_for(
            "the graph to be gone", lambda: self._checked(lambda: not self._exists(GRAPHS, "tour")), timeout=TIMEOUT
        )

    # -- the small steps

    def _create(self, resource: str, name: str, **content: Any) -> None:
        self._api.create(path(self._namespace, resource), {"metadata": {"name": name}, **content})

    def _apply(self, wanted: dict[str, Any]) -> None:
        where = path(self._namespace, GRAPHS, wanted["metadata"]["name"])
        self._api.request(
            "PATCH", f"{where}?fieldManager=tour&force=true", wanted, content_type="application/apply-patch+yaml"
        )

    def _exists(self, resource: str, name: str) -> bool:
        try:
            return bool(self._api.get(path(self._namespace, resource, name)))
        except ApiError as error:
            if error.code != 404:
                raise
            return False

    def _ready(self, name: str) -> None:
        def ready() -> bool:
            return self._checked(lambda: is_ready(self._api.get(path(self._namespace, GRAPHS, name))))

        wait_for(f"the graph {name} to be Ready", ready, timeout=TIMEOUT)

    def _await(self, verb: str, resource: str, name: str = "") -> None:
        """Return when the manager has done that."""
        wanted = (verb, resource, "")

        def done() -> bool:
            return any(
                request.succeeded
                and (request.verb, request.resource, request.subresource) == wanted
                and (not name or request.name == name)
                for request in self._requests()
            )

        wait_for(f"{verb} {resource} {name}".strip(), lambda: self._checked(done), timeout=TIMEOUT)

    def _checked(self, probe: Callable[[], bool]) -> bool:
        refused = [request for request in self._requests() if request.code == 403]
        if refused:
            raise Forbidden("; ".join(sorted({_refusal(request) for request in refused})))
        return probe()

    def _requests(self) -> list[Request]:
        """Those in the tour's namespace and in none: graphs of others are none of its business."""
        asked = self._installation.trail.requests(self._since)
        return [request for request in asked if request.namespace in ("", self._namespace)]


def _refusal(request: Request) -> str:
    return f"{request}: {request.answered.get('message', 'no right')}"


@contextmanager
def orchestrators(cluster: Cluster) -> Iterator[None]:
    """The cluster serves the optional APIs; afterwards it does not any more."""
    names = [_serve(cluster, group, version, kind) for group, version, kind in ORCHESTRATORS]
    try:
        for name in names:
            cluster.kubectl("wait", "--for=condition=Established", f"crd/{name}", f"--timeout={TIMEOUT:.0f}s")
        yield
    finally:
        cluster.kubectl("delete", "crd", *names, "--ignore-not-found", f"--timeout={TIMEOUT:.0f}s")


def _serve(cluster: Cluster, group: str, version: str, kind: str) -> str:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
        "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
    }
    cluster.api.create(
        _CRDS,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": spec,
        },
    )
    return f"{plural}.{group}"
