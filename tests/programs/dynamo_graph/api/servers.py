"""The kinds of this API on two servers: the memory engine's core, and a real kube-apiserver. Both are asked alike."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_graph.api.crds import documents
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from envtest import ApiError, Cluster

Tree = dict[str, Any]


class Refused(Exception):
    """The server says no."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code} {message}")


class Server(Protocol):
    """A namespace of a server that serves the kinds of this API."""

    def create(self, kind: Kind[Any], tree: Tree, *, strict: bool = False) -> Tree:
        """Create an object there. Raises `Refused`."""

    def merge(self, kind: Kind[Any], name: str, patch: Tree) -> Tree:
        """Merge-patch an object there. Raises `Refused`."""


class MemoryServer:
    """The core of the memory engine, with the CRDs of `config/crd` installed."""

    def __init__(self) -> None:
        self.core = Core(clock=SystemClock())
        self.core.create(NAMESPACE, "", msgspec.json.encode({"metadata": {"name": "ns"}}))
        for document in documents():
            self.core.create(CUSTOM_RESOURCE_DEFINITION, "", msgspec.json.encode(document))

    def create(self, kind: Kind[Any], tree: Tree, *, strict: bool = False) -> Tree:
        """As `Server`."""
        try:
            return _tree(self.core.create(kind, "ns", msgspec.json.encode(header(kind) | tree), strict=strict))
        except EngineError as error:
            raise Refused(error.code, error.message) from error

    def merge(self, kind: Kind[Any], name: str, patch: Tree) -> Tree:
        """As `Server`."""
        try:
            return _tree(self.core.patch(kind, Key("ns", name), Patch.merge(patch)))
        except EngineError as error:
            raise Refused(error.code, error.message) from error


class RealServer:
    """A namespace of a real cluster whose CRDs are established."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace

    def create(self, kind: Kind[Any], tree: Tree, *, strict: bool = False) -> Tree:
        """As `Server`."""
        path = kind.path(self.namespace) + ("?fieldValidation=Strict" if strict else "")
        try:
            made: Tree = self.cluster.api.create(path, header(kind) | tree)
        except ApiError as error:
            raise refused(error) from error
        return made

    def merge(self, kind: Kind[Any], name: str, patch: Tree) -> Tree:
        """As `Server`."""
        try:
            changed: Tree = self.cluster.api.merge(kind.path(self.namespace, name), patch)
        except ApiError as error:
            raise refused(error) from error
        return changed


def header(kind: Kind[Any]) -> Tree:
    """What every object of that kind begins with."""
    return {"apiVersion": kind.api_version, "kind": kind.kind}


def create_graph(server: Server, name: str = "g", **spec: Any) -> Tree:
    """Create a graph; `server` says no by `Refused`."""
    return server.create(DYNAMO_GRAPH_DEPLOYMENT, {"metadata": {"name": name}, "spec": spec})


def refused(error: ApiError) -> Refused:
    """What a real server said."""
    message = error.status.get("message", "") if isinstance(error.status, dict) else str(error.status)
    return Refused(error.code, message)


def _tree(raw: bytes) -> Tree:
    tree: Tree = msgspec.json.decode(raw)
    return tree
