"""What a Pod asks for before a node can take it: volumes, and devices."""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.core import PERSISTENT_VOLUME_CLAIM, Pod
from dynamo_ctrl.objects.key import Key


def unmet_claim(names: Iterable[str], namespace: str, view: View) -> str | None:
    """Why the claims keep a Pod from being scheduled, in the scheduler's words; `None` if they do not."""
    for name in names:
        claim = view.get(PERSISTENT_VOLUME_CLAIM, Key(namespace, name))
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.status.phase != "Bound":
            return "pod has unbound immediate PersistentVolumeClaims"
    return None


def unmet_devices(pod: Pod) -> str | None:
    """Why the devices that a Pod claims keep it from being scheduled; the one node has none."""
    return "cannot allocate all claims" if pod.spec.resource_claims else None
