"""The garbage collector: what happens to the dependants of an object that goes away.

Contract, as the real collector's, without its delay:

- *Background*: the owner goes at once; a dependant goes when none of its owners is left, and loses the references to
  those that are gone when others are left.
- *Foreground*: the owner stays, under the finalizer `foregroundDeletion`, until no dependant that blocks it is left; its
  dependants are deleted first, in the same manner where they have dependants themselves.
- *Orphan*: the dependants lose their references to the owner, then it goes.
- A dependant that names an owner that does not exist goes. An owner of a kind that nobody serves is left in doubt, and its
  dependants stay. An owner is looked for in the dependant's own namespace, or at cluster scope.

The order is fixed: first come, first served; dependants in the order in which they were written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal

from dynamo_ctrl.engine.memory import lifecycle
from dynamo_ctrl.engine.memory.history import Revision
from dynamo_ctrl.engine.memory.served import Tree
from dynamo_ctrl.engine.memory.store import Store
from dynamo_ctrl.engine.memory.table import Table
from dynamo_ctrl.engine.port import Propagation
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.metadata import OwnerReference

Bond = Literal["solid", "waiting", "dangling", "unknown"]
"""What an owner reference is worth: the owner is there; it waits for its dependants to go; it is gone; nobody can tell."""

_Node = tuple[Table, str]


class Collector:
    """Follows owner references and acts on deletions. A reaction of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._dependants: dict[str, dict[_Node, None]] = {}
        self._due: deque[tuple[Table, Key]] = deque()

    def observe(self, table: Table, before: Revision | None, after: Revision | None) -> None:
        """Keep the graph of owners, and note whom the change concerns."""
        old = before.metadata.owner_references if before else ()
        new = after.metadata.owner_references if after else ()
        if old != new:
            node = (table, (after or before).path)  # type: ignore[union-attr]  # one of them is there
            for reference in old:
                self._unlink(reference.uid, node)
            for reference in new:
                self._dependants.setdefault(reference.uid, {})[node] = None
        if after is None:
            if before is not None:
                self._gone(before)
        elif after.metadata.deletion_timestamp is not None:
            if _holds(after, lifecycle.FOREGROUND) or _holds(after, lifecycle.ORPHAN):
                self._due.append((table, after.key))
                self._wake(after.metadata.uid)
        elif new and old != new:
            self._due.append((table, after.key))
        if before is not None and old != new:
            self._wake_owners(before)

    def adopt(self, table: Table, revision: Revision) -> None:
        """Keep the graph of owners. An owner that is not here may well be elsewhere: nobody is judged."""
        for reference in revision.metadata.owner_references:
            self._dependants.setdefault(reference.uid, {})[table, revision.path] = None

    def step(self) -> bool:
        """Look at one object that is due."""
        if not self._due:
            return False
        table, key = self._due.popleft()
        revision = table.get(key)
        if revision is not None:
            self._look(table, revision)
        return True

    def _gone(self, revision: Revision) -> None:
        self._wake(revision.metadata.uid)
        self._wake_owners(revision)

    def _wake(self, uid: str) -> None:
        for table, revision in self._dependants_of(uid):
            self._due.append((table, revision.key))

    def _wake_owners(self, revision: Revision) -> None:
        for reference in revision.metadata.owner_references:
            table = self._store.catalogue.by_kind(reference.group, reference.kind)
            if table is not None:
                namespace = revision.key.namespace if table.served.namespaced else ""
                self._due.append((table, Key(namespace, reference.name)))

    def _unlink(self, uid: str, node: _Node) -> None:
        nodes = self._dependants.get(uid)
        if nodes is not None:
            nodes.pop(node, None)
            if not nodes:
                del self._dependants[uid]

    def _dependants_of(self, uid: str) -> Iterator[tuple[Table, Revision]]:
        for table, path in tuple(self._dependants.get(uid, ())):
            namespace, _, name = path.rpartition("/")
            revision = table.get(Key(namespace, name))
            if revision is not None:
                yield table, revision

    def _look(self, table: Table, revision: Revision) -> None:
        if revision.metadata.deletion_timestamp is not None:
            if _holds(revision, lifecycle.ORPHAN):
                self._orphan(table, revision)
            elif _holds(revision, lifecycle.FOREGROUND):
                self._finish_foreground(table, revision)
            return
        if revision.metadata.owner_references:
            self._judge(table, revision)

    def _orphan(self, table: Table, owner: Revision) -> None:
        for dependant_table, dependant in self._dependants_of(owner.metadata.uid):
            self._drop_references(dependant_table, dependant, {owner.metadata.uid})
        self._drop_finalizer(table, owner, lifecycle.ORPHAN)

    def _finish_foreground(self, table: Table, owner: Revision) -> None:
        uid = owner.metadata.uid
        blocking = any(
            reference.uid == uid and reference.block_owner_deletion
            for _, dependant in self._dependants_of(uid)
            for reference in dependant.metadata.owner_references
        )
        if not blocking:
            self._drop_finalizer(table, owner, lifecycle.FOREGROUND)

    def _judge(self, table: Table, revision: Revision) -> None:
        bonds = {reference.uid: self._bond(revision, reference) for reference in revision.metadata.owner_references}
        worth = set(bonds.values())
        if "unknown" in worth:
            return
        if "solid" in worth:
            lost = {uid for uid, bond in bonds.items() if bond != "solid"}
            if lost:
                self._drop_references(table, revision, lost)
            return
        propagation: Propagation = "Background"
        if _holds(revision, lifecycle.ORPHAN):
            propagation = "Orphan"
        elif _holds(revision, lifecycle.FOREGROUND):
            propagation = "Foreground"
        elif "waiting" in worth and (dependants := list(self._dependants_of(revision.metadata.uid))):
            propagation = "Foreground"
            if any(_waits(dependant) for _, dependant in dependants):
                revision = self._unblock(table, revision)
        self._store.delete(table, revision, propagation)

    def _bond(self, revision: Revision, reference: OwnerReference) -> Bond:
        table = self._store.catalogue.by_kind(reference.group, reference.kind)
        if table is None or (table.served.namespaced and not revision.key.namespace):
            return "unknown"
        namespace = revision.key.namespace if table.served.namespaced else ""
        owner = table.get(Key(namespace, reference.name))
        if owner is None or owner.metadata.uid != reference.uid:
            return "dangling"
        return "waiting" if _waits(owner) else "solid"

    def _unblock(self, table: Table, revision: Revision) -> Revision:
        """Break a circle of owners that wait for each other."""
        tree = revision.tree()
        for reference in tree["metadata"]["ownerReferences"]:
            reference.pop("blockOwnerDeletion", None)
        return self._store.write(table, tree, revision)

    def _drop_references(self, table: Table, revision: Revision, uids: set[str]) -> None:
        tree = revision.tree()
        metadata: Tree = tree["metadata"]
        kept = [reference for reference in metadata["ownerReferences"] if reference["uid"] not in uids]
        metadata.pop("ownerReferences")
        if kept:
            metadata["ownerReferences"] = kept
        self._store.write(table, tree, revision)

    def _drop_finalizer(self, table: Table, revision: Revision, finalizer: str) -> None:
        tree = revision.tree()
        metadata: Tree = tree["metadata"]
        kept = [each for each in metadata["finalizers"] if each != finalizer]
        metadata.pop("finalizers")
        if kept:
            metadata["finalizers"] = kept
        if lifecycle.is_finished(metadata) and not table.served.stored.held(tree):
            self._store.remove(table, revision)
        else:
            self._store.write(table, tree, revision)


def _holds(revision: Revision, finalizer: str) -> bool:
    return finalizer in revision.metadata.finalizers


def _waits(revision: Revision) -> bool:
    return revision.metadata.deletion_timestamp is not None and _holds(revision, lifecycle.FOREGROUND)
