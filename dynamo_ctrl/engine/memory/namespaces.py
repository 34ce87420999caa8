"""Namespaces: what a new one looks like, who may create in it, and how one ends.

A namespace that is being deleted takes no new content; all of its objects are deleted, and it goes when the last of them
is gone (objects with finalizers, and Pods in their grace, hold it).
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dynamo_ctrl.engine.memory import failure, lifecycle
from dynamo_ctrl.engine.memory.history import Revision
from dynamo_ctrl.engine.memory.served import Served, Strategy, Tree
from dynamo_ctrl.engine.memory.store import Store
from dynamo_ctrl.engine.memory.table import Table
from dynamo_ctrl.objects.conditions import rfc3339
from dynamo_ctrl.objects.key import Key

FINALIZER: Final = "kubernetes"
NAME_LABEL: Final = "kubernetes.io/metadata.name"
ALWAYS: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
"""The namespaces that every server has from the start."""

PERMANENT: Final = frozenset({"default", "kube-public", "kube-system"})
"""Namespaces that may not be deleted."""


def _label(tree: Tree) -> None:
    metadata = tree["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})[NAME_LABEL] = metadata["name"]


def _begin(tree: Tree) -> None:
    tree["spec"] = {"finalizers": [FINALIZER]}
    tree["status"] = {"phase": "Active"}


def _keep(new: Tree, old: Tree) -> None:
    new["spec"] = old.get("spec", {})


def _end(tree: Tree, now: datetime) -> None:
    tree["metadata"].setdefault("deletionTimestamp", rfc3339(now))
    tree["status"] = {**tree.get("status", {}), "phase": "Terminating"}


def _held(tree: Tree) -> bool:
    return bool(tree.get("spec", {}).get("finalizers"))


NAMESPACE_STRATEGY: Final = Strategy(admit=_label, create=_begin, update=_keep, delete=_end, held=_held)


class Namespaces:
    """Ends namespaces. A reaction of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ending: dict[str, None] = {}
        self._due: dict[str, None] = {}

    def observe(self, table: Table, before: Revision | None, after: Revision | None) -> None:
        """Note the namespaces that are being deleted, and the removals in them."""
        if _is_namespaces(table.served):
            name = (after or before).key.name  # type: ignore[union-attr]  # one of them is there
            if after is None:
                self._ending.pop(name, None)
                self._due.pop(name, None)
            elif after.metadata.deletion_timestamp is not None:
                self._ending[name] = None
                self._due[name] = None
        elif after is None and before is not None and before.key.namespace in self._ending:
            self._due[before.key.namespace] = None

    def adopt(self, table: Table, revision: Revision) -> None:
        """A namespace that ends elsewhere does not end faster because of us."""

    def step(self) -> bool:
        """Carry on with one namespace that is being deleted."""
        if not self._due:
            return False
        name = next(iter(self._due))
        del self._due[name]
        self._end(name)
        return True

    def _end(self, name: str) -> None:
        left = False
        for table in self._store.catalogue:
            for content in table.inside(name) if table.served.namespaced else ():
                ending = content.metadata.deletion_timestamp is not None
                left |= ending or self._store.delete(table, content, "Background") is not None
        namespaces = self._store.catalogue.get("", "namespaces")
        namespace = namespaces.get(Key("", name)) if namespaces else None
        if not left and namespaces is not None and namespace is not None:
            self._finalize(namespaces, namespace)

    def _finalize(self, namespaces: Table, namespace: Revision) -> None:
        tree = namespace.tree()
        if lifecycle.is_finished(tree["metadata"]):
            self._store.remove(namespaces, namespace)
        elif _held(tree):
            tree["spec"] = {}
            self._store.write(namespaces, tree, namespace)


def check_namespace(store: Store, served: Served, namespace: str, name: str) -> None:
    """Refuse a new object where its namespace is not there (404) or goes away (403)."""
    table = store.catalogue.get("", "namespaces")
    if table is None or not served.namespaced:
        return
    found = table.get(Key("", namespace))
    if found is None:
        raise failure.not_found(table.served, namespace)
    if found.metadata.deletion_timestamp is not None:
        raise failure.terminating(served, name, namespace)


def check_deletable(served: Served, name: str) -> None:
    """Refuse to delete the namespaces that a server cannot do without (403)."""
    if _is_namespaces(served) and name in PERMANENT:
        raise failure.forbidden(served, name, "this namespace may not be deleted")


def _is_namespaces(served: Served) -> bool:
    return not served.group and served.plural == "namespaces"
