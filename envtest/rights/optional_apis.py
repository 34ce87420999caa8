"""The APIs that the programs can do without, served by a cluster that does not have their controllers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.program.registry import load_programs
from envtest.api import ApiError
from envtest.cluster import Cluster

TIMEOUT: Final = 60.0
"""Seconds for the APIs to be served, and to be gone again."""

_UNAPPROVED: Final = {"api-approved.kubernetes.io": "unapproved, served in a test only"}
"""Without it, a server takes no definition in one of Kubernetes' own groups."""

_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextmanager
def optional_apis(cluster: Cluster) -> Iterator[None]:
    """The cluster serves every API that the programs can do without; afterwards it serves what it served before.

    What is known of their objects is that they are objects.
    """
    watched = (watch for loaded in load_programs() for watch in loaded.program.watches.all)
    kinds = {watch.kind for watch in watched if watch.optional and not _is_served(cluster, watch.kind)}
    names = [_serve(cluster, kind) for kind in sorted(kinds, key=str)]
    try:
        for name in names:
            cluster.kubectl("wait", "--for=condition=Established", f"crd/{name}", f"--timeout={TIMEOUT:.0f}s")
        yield
    finally:
        if names:
            cluster.kubectl("delete", "crd", *names, "--ignore-not-found", f"--timeout={TIMEOUT:.0f}s")


def _is_served(cluster: Cluster, kind: Kind[Any]) -> bool:
    try:
        return bool(cluster.api.get(kind.path()))
    except ApiError as error:
        if error.code != 404:
            raise
        return False


def _serve(cluster: Cluster, kind: Kind[Any]) -> str:
    name = f"{kind.plural}.{kind.group}"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    subresources: dict[str, Any] = {"subresources": {"status": {}}} if kind.status_subresource else {}
    spec = {
        "group": kind.group,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "names": {
            "kind": kind.kind,
            "plural": kind.plural,
            "singular": kind.kind.lower(),
            "listKind": f"{kind.kind}List",
        },
        "versions": [{"name": kind.version, "served": True, "storage": True, "schema": schema, **subresources}],
    }
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    cluster.api.create(_CRDS, {**definition, "metadata": {"name": name, "annotations": _UNAPPROVED}, "spec": spec})
    return name
