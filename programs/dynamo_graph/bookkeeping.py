"""How every child of this operator says what was last applied to it (G 3.10)."""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.program.effect import SyncPolicy
from dynamo_graph.api.names import BOOKKEEPING_PREFIX

POLICY: Final = SyncPolicy(prefix=BOOKKEEPING_PREFIX)
"""Two annotations with the prefix of this operator; labels and annotations are set once."""

CONVERGING: Final = SyncPolicy(prefix=BOOKKEEPING_PREFIX, metadata="converge")
"""As `POLICY`, for children whose labels and annotations others read: they are brought to what is declared, too."""
