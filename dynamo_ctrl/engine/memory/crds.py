"""Custom resource definitions: from a CRD to a resource that is served."""

from __future__ import annotations

from dynamo_ctrl.engine.memory.history import Revision
from dynamo_ctrl.engine.memory.served import Strategy
from dynamo_ctrl.engine.memory.store import Store
from dynamo_ctrl.engine.memory.table import Table

CRD_STRATEGY = Strategy()


class Definitions:
    """Serves what CRDs define."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def observe(self, table: Table, before: Revision | None, after: Revision | None) -> None:
        """Note."""

    def step(self) -> bool:
        """Work."""
        return False
