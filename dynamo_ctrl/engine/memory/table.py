"""`Table`: all objects of one resource, as they are and as they were."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dynamo_ctrl.engine.memory.history import Log, Revision, change
from dynamo_ctrl.engine.memory.served import Served
from dynamo_ctrl.objects.key import Key


class State:
    """The objects of one resource at one version, in the order of their paths."""

    def __init__(self, objects: Mapping[str, Revision], paths: Sequence[str]) -> None:
        self._objects = objects
        self._paths = paths

    def after(self, prefix: str, start: str) -> Iterator[Revision]:
        """The objects whose path begins with `prefix` and is not before `start`."""
        for index in range(bisect_left(self._paths, max(prefix, start)), len(self._paths)):
            path = self._paths[index]
            if not path.startswith(prefix):
                return
            yield self._objects[path]

    def count(self, prefix: str, start: str) -> int:
        """How many objects `after` would yield."""
        stop = f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}" if prefix else ""
        last = bisect_left(self._paths, stop) if prefix else len(self._paths)
        return max(0, last - bisect_left(self._paths, max(prefix, start)))


class Table:
    """The objects of one resource and their history.

    Attributes:
        served: what the server knows of the resource; replaced when its CRD changes.
        log: its changes.
        definition: the spec of the CRD that defines it, if one does.
        closing: whether its CRD is being deleted, so that nothing new may come.
    """

    def __init__(self, served: Served, *, window: int, version: int) -> None:
        self.served = served
        self.log = Log(window, version)
        self._objects: dict[str, Revision] = {}
        self._paths: list[str] = []
        self.definition: Mapping[str, Any] | None = None
        self.closing = False

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Revision]:
        return iter([self._objects[path] for path in self._paths])

    def inside(self, namespace: str) -> list[Revision]:
        """The objects of one namespace."""
        return list(self.now.after(f"{namespace}/", ""))

    def path(self, key: Key) -> str:
        """The place of an object in the order of its table."""
        return f"{key.namespace}/{key.name}" if self.served.namespaced else key.name

    def get(self, key: Key) -> Revision | None:
        """The object as it is now."""
        return self._objects.get(self.path(key))

    def put(self, revision: Revision) -> None:
        """Store a new version of an object."""
        before = self._objects.get(revision.path)
        if before is None:
            insort(self._paths, revision.path)
        self._objects[revision.path] = revision
        self.log.append(change(revision.version, before, revision))

    def remove(self, revision: Revision, version: int) -> None:
        """Take an object out, at that version."""
        del self._objects[revision.path]
        del self._paths[bisect_left(self._paths, revision.path)]
        self.log.append(change(version, revision, None))

    def reshape(self, served: Served) -> None:
        """Read the stored objects through other schemas from now on, under the versions that they have."""
        for path, revision in self._objects.items():
            tree = revision.tree()
            tree["apiVersion"], tree["kind"] = served.api_version, served.kind
            served.stored.admit(tree)
            self._objects[path] = Revision(path, revision.version, msgspec.json.encode(tree), revision.metadata)

    @property
    def now(self) -> State:
        """The objects as they are; valid until the next write."""
        return State(self._objects, self._paths)

    def at(self, version: int) -> State:
        """The objects as they were at `version`. Raises `Expired` when history does not reach back that far."""
        undone: dict[str, Revision | None] = {}
        for each in self.log.undo(version):
            revision = each.after or each.before
            if revision is not None:
                undone[revision.path] = each.before
        if not undone:
            return self.now
        objects = {path: each for path, each in {**self._objects, **undone}.items() if each is not None}
        return State(objects, sorted(objects))
