"""`Store`: all objects under one resourceVersion, and the only two ways in which they change.

Everything that reacts to changes (garbage collection, namespaces, definitions) is told of each one by `observe`, and acts
later, when `settle` runs; so a reaction never sees half a write.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import msgspec

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.memory import lifecycle
from dynamo_ctrl.engine.memory.catalogue import Catalogue
from dynamo_ctrl.engine.memory.history import Revision
from dynamo_ctrl.engine.memory.served import Tree
from dynamo_ctrl.engine.memory.table import Table
from dynamo_ctrl.engine.port import Propagation
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.metadata import Metadata

_GC_FINALIZERS = {"Foreground": lifecycle.FOREGROUND, "Orphan": lifecycle.ORPHAN}


class Reaction(Protocol):
    """A part of the server that acts on changes."""

    def observe(self, table: Table, before: Revision | None, after: Revision | None) -> None:
        """Take note of a change. Must not write."""

    def adopt(self, table: Table, revision: Revision) -> None:
        """Take note of an object that was there before: what follows from it has happened already, elsewhere."""

    def step(self) -> bool:
        """Do one piece of the work that is due; false when there is none."""


class Store:
    """The objects of one server.

    Attributes:
        catalogue: what is served.
        version: the newest resourceVersion.
    """

    def __init__(self, catalogue: Catalogue, clock: Clock) -> None:
        self.catalogue = catalogue
        self.version = 0
        self._clock = clock
        self._reactions: list[Reaction] = []

    def react(self, make: Callable[[Store], Reaction]) -> None:
        """Add a reaction; they run in the order in which they are added."""
        self._reactions.append(make(self))

    @property
    def now(self) -> datetime:
        """The moment that is written into objects."""
        return self._clock.now()

    def write(self, table: Table, tree: Tree, before: Revision | None) -> Revision:
        """Store a version of an object under a new resourceVersion, which is put into `tree` as well."""
        after = self._put(table, tree, before)
        self._tell(table, before, after)
        return after

    def _put(self, table: Table, tree: Tree, before: Revision | None) -> Revision:
        metadata = tree["metadata"]
        metadata["resourceVersion"] = str(self.version + 1)
        raw = msgspec.json.encode(tree)
        typed = msgspec.convert(metadata, Metadata)
        path = before.path if before else f"{typed.namespace}/{typed.name}" if table.served.namespaced else typed.name
        self.version += 1
        after = Revision(path, self.version, raw, typed)
        table.put(after)
        return after

    def restore(self, table: Table, tree: Tree) -> Revision:
        """Store an object that was made elsewhere, under a new resourceVersion. Nothing is due because of it."""
        before = table.get(Key(tree["metadata"].get("namespace", ""), tree["metadata"]["name"]))
        if before is not None:
            return self.write(table, tree, before)
        after = self._put(table, tree, None)
        for reaction in self._reactions:
            reaction.adopt(table, after)
        return after

    def remove(self, table: Table, revision: Revision) -> None:
        """Take an object out, under a new resourceVersion."""
        self.version += 1
        table.remove(revision, self.version)
        self._tell(table, revision, None)

    def delete(
        self, table: Table, revision: Revision, propagation: Propagation, grace_seconds: int | None = None
    ) -> Revision | None:
        """Begin, shorten or complete the deletion of an object; what is left of it, if anything."""
        tree = revision.tree()
        metadata: Tree = tree["metadata"]
        kept = [f for f in metadata.get("finalizers", ()) if f not in _GC_FINALIZERS.values()]
        if propagation in _GC_FINALIZERS:
            kept.append(_GC_FINALIZERS[propagation])
        metadata.pop("finalizers", None)
        if kept:
            metadata["finalizers"] = kept
        strategy = table.served.stored
        if strategy.delete is not None:
            strategy.delete(tree, self.now)
        else:
            lifecycle.mark_deleted(metadata, self.now, strategy.grace(tree, grace_seconds))
        if lifecycle.is_finished(metadata) and not strategy.held(tree):
            self.remove(table, revision)
            return None
        return revision if tree == revision.tree() else self.write(table, tree, revision)

    def settle(self) -> None:
        """Let every reaction finish what is due."""
        while any(reaction.step() for reaction in self._reactions):
            pass

    def _tell(self, table: Table, before: Revision | None, after: Revision | None) -> None:
        for reaction in self._reactions:
            reaction.observe(table, before, after)
