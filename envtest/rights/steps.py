"""The small steps of a tour: do something, and wait until the audit log shows what the manager made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from envtest.api import ApiError, wait_for
from envtest.audit import Request
from envtest.cluster import Cluster
from envtest.graphs import GRAPHS, Tree, is_ready, path
from envtest.installation import NAMESPACE, Installation

TIMEOUT: Final = 60.0
"""Seconds for one thing to happen."""

_ORPHANED: Final = {"metadata": {"annotations": {"nvidia.com/last-applied-hash": None}}}
"""A merge patch that makes a child one whose last write is unknown."""


class Forbidden(Exception):
    """The manager was refused something. The message names all of it."""


class Steps:
    """The steps in one namespace. A wait ends with `Forbidden` as soon as a right is missing, else with `TimeoutError`."""

    def __init__(self, cluster: Cluster, installation: Installation, namespace: str) -> None:
        self.namespace = namespace
        self._api = cluster.api
        self._trail = installation.trail
        self._since = self._trail.mark()

    def requests(self) -> list[Request]:
        """What the manager asked so far: here, at home, and about no namespace. Graphs elsewhere are somebody else's."""
        asked = self._trail.requests(self._since)
        return [request for request in asked if request.namespace in ("", NAMESPACE, self.namespace)]

    def create(self, resource: str, name: str, **content: Any) -> Tree:
        """Create an object."""
        metadata = {**content.pop("metadata", {}), "name": name}
        made: Tree = self._api.create(path(self.namespace, resource), {"metadata": metadata, **content})
        return made

    def get(self, resource: str, name: str) -> Tree:
        """An object as it is now."""
        found: Tree = self._api.get(path(self.namespace, resource, name))
        return found

    def apply(self, wanted: Tree) -> None:
        """Server-side apply a graph."""
        where = path(self.namespace, GRAPHS, wanted["metadata"]["name"])
        query = "?fieldManager=tour&force=true"
        self._api.request("PATCH", where + query, wanted, content_type="application/apply-patch+yaml")

    def edit(self, resource: str, name: str, patch: Tree) -> None:
        """Merge `patch` into an object."""
        self._api.merge(path(self.namespace, resource, name), patch)

    def delete(self, resource: str, name: str) -> None:
        """Delete an object."""
        self._api.delete(path(self.namespace, resource, name))

    def orphan(self, resource: str, name: str) -> None:
        """Let the manager forget what it wrote last to a child, and wait until it has written again."""
        self.edit(resource, name, _ORPHANED)
        self.has("patch", resource, name)

    def has(self, verb: str, resource: str, name: str = "") -> None:
        """Return when the manager has done that."""
        wanted = (verb, resource, "")

        def done() -> bool:
            return any(
                request.succeeded
                and (request.verb, request.resource, request.subresource) == wanted
                and (not name or request.name == name)
                for request in self.requests()
            )

        self.until(f"{verb} {resource} {name}".strip(), done)

    def ready(self, name: str) -> None:
        """Return when that graph is Ready."""
        self.until(f"Ready of {name}", lambda: is_ready(self._api.get(path(self.namespace, GRAPHS, name))))

    def gone(self, resource: str, name: str) -> None:
        """Return when that object is gone."""
        self.until(f"the end of {resource}/{name}", lambda: not self._exists(resource, name))

    def until(self, what: str, probe: Callable[[], bool]) -> None:
        """Return when `probe` is true."""

        def checked() -> bool:
            refused = [request for request in self.requests() if request.code == 403]
            if refused:
                raise Forbidden("; ".join(sorted({_refusal(request) for request in refused})))
            return probe()

        wait_for(what, checked, timeout=TIMEOUT)

    def _exists(self, resource: str, name: str) -> bool:
        try:
            return bool(self._api.get(path(self.namespace, resource, name)))
        except ApiError as error:
            if error.code != 404:
                raise
            return False


def _refusal(request: Request) -> str:
    return f"{request}: {request.answered.get('message', 'no right')}"
