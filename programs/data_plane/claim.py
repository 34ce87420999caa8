"""`ClaimProgram`: every PersistentVolumeClaim becomes Bound, as with a provisioner that always has room."""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.objects.builtin.core import PERSISTENT_VOLUME_CLAIM, PersistentVolumeClaim
from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result


class ClaimProgram:
    """Claims are bound at once, with the capacity that they ask for."""

    name = "data-plane-claim"
    watches = watching(PERSISTENT_VOLUME_CLAIM)

    def reconcile(self, request: Request[PersistentVolumeClaim]) -> Result[JsonMap]:
        """The status of a bound claim."""
        spec = request.object.spec
        status: dict[str, Any] = {"phase": "Bound"}
        if spec.get("accessModes"):
            status["accessModes"] = thaw(spec["accessModes"])
        requested = (spec.get("resources") or {}).get("requests") or {}
        if requested.get("storage"):
            status["capacity"] = {"storage": requested["storage"]}
        return Result(status=status)
