"""Which resources the server serves, and the table of each."""

from __future__ import annotations

from collections.abc import Iterator

from dynamo_ctrl.engine.memory import failure
from dynamo_ctrl.engine.memory.served import Served
from dynamo_ctrl.engine.memory.table import Table
from dynamo_ctrl.engine.port import AnyKind, Resource


class Catalogue:
    """The served resources, by group and plural and by group and kind.

    Args:
        window: changes of each resource that are kept for watches and old lists.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._tables: dict[tuple[str, str], Table] = {}
        self._by_kind: dict[tuple[str, str], Table] = {}
        self._group_versions: dict[tuple[str, str], int] = {}

    def __iter__(self) -> Iterator[Table]:
        return iter(tuple(self._tables.values()))

    def serve(self, served: Served, version: int) -> Table:
        """Serve a resource from now on, or serve it differently; its objects and watches stay."""
        table = self._tables.get((served.group, served.plural))
        if table is None:
            table = Table(served, window=self._window, version=version)
        else:
            self._forget(table.served)
            table.served = served
        self._tables[served.group, served.plural] = table
        self._by_kind[served.group, served.kind] = table
        for each in served.versions:
            self._group_versions[served.group, each] = self._group_versions.get((served.group, each), 0) + 1
        return table

    def withdraw(self, table: Table) -> None:
        """Serve a resource no longer: its watches end."""
        self._forget(table.served)
        table.log.finish()

    def _forget(self, served: Served) -> None:
        del self._tables[served.group, served.plural]
        del self._by_kind[served.group, served.kind]
        for each in served.versions:
            self._group_versions[served.group, each] -= 1
            if not self._group_versions[served.group, each]:
                del self._group_versions[served.group, each]

    def find(self, kind: AnyKind) -> Table:
        """The table of a kind, in the version that it is spoken in. Raises `NotFound` as the server does."""
        table = self._tables.get((kind.group, kind.plural))
        if table is None or kind.version not in table.served.versions:
            if (kind.group, kind.version) in self._group_versions:
                raise failure.no_such_resource()
            raise failure.no_such_group()
        return table

    def by_kind(self, group: str, kind: str) -> Table | None:
        """The table of a kind by its name, if it is served."""
        return self._by_kind.get((group, kind))

    def get(self, group: str, plural: str) -> Table | None:
        """The table of a resource by its name, if it is served."""
        return self._tables.get((group, plural))

    def resources(self, group: str, version: str) -> tuple[Resource, ...]:
        """What discovery tells. Raises `NotFound` when the group version is not served."""
        if (group, version) not in self._group_versions:
            raise failure.no_such_group()
        return tuple(
            Resource(
                group=group,
                version=version,
                plural=served.plural,
                kind=served.kind,
                namespaced=served.namespaced,
                verbs=served.verbs,
                subresources=served.subresources,
            )
            for served in (table.served for table in self._tables.values())
            if served.group == group and version in served.versions
        )
