"""The KV transfer policy of a graph in its workers: environment, downward volume, annotation (P 5.8)."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.experimental import KvTransferPolicy
from dynamo_graph.api.names import MAIN, Annotation
from dynamo_graph.render import env, template
from dynamo_graph.render.errors import RenderError

VOLUME: Final = "topology-labels"
PATH: Final = "/etc/dynamo/topology"


def with_policy(pod_template: JsonMap, policy: KvTransferPolicy) -> dict[str, Any]:
    """A worker's template that follows the policy; what the user has under its names gives way.

    Raises:
        RenderError: a policy that names a cluster topology, which only Grove knows.
    """
    if policy.label_key is None:
        at = "experimental.kvTransferPolicy.clusterTopologyName"
        raise RenderError(at, "needs the Grove pathway; name a node label by labelKey")
    main = dict(template.main_container(pod_template)) or {"name": MAIN}
    mounts = [
        mount
        for mount in main.get("volumeMounts") or ()
        if mount.get("name") != VOLUME and (mount.get("mountPath") or "").rstrip("/") != PATH
    ]
    main["env"] = env.merge(main.get("env"), env.variables(_values(policy)))
    main["volumeMounts"] = [*mounts, {"name": VOLUME, "mountPath": PATH, "readOnly": True}]
    changed = template.with_main(pod_template, main)
    item = {"path": policy.domain, "fieldRef": {"fieldPath": f"metadata.labels['{policy.label_key}']"}}
    others = [volume for volume in changed["spec"].get("volumes") or () if volume.get("name") != VOLUME]
    changed["spec"]["volumes"] = [*others, {"name": VOLUME, "downwardAPI": {"items": [item]}}]
    return changed


def deployment_annotations(policy: KvTransferPolicy) -> dict[str, str]:
    """Annotations of the component deployment that the topology label controller reads from its Pods."""
    return {Annotation.TOPOLOGY_LABEL_KEY: policy.label_key} if policy.label_key else {}


def _values(policy: KvTransferPolicy) -> dict[str, str]:
    values = {
        "DYN_KV_TRANSFER_DOMAIN": policy.domain,
        "DYN_KV_TRANSFER_ENFORCEMENT": policy.enforcement,
        "DYN_TOPOLOGY_ENABLED": "true",
        "DYN_TOPOLOGY_MOUNT_PATH": PATH,
    }
    if policy.preferred_weight is not None:
        values["DYN_KV_TRANSFER_PREFERRED_WEIGHT"] = shortest(policy.preferred_weight)
    return values


def shortest(number: float) -> str:
    """The shortest decimal text that reads back as the same 32-bit float: `1`, `0.85`."""
    single = struct.pack("f", number)
    texts = (f"{number:.{digits}g}" for digits in range(1, 10))
    text = next((text for text in texts if struct.pack("f", float(text)) == single), f"{number:.9g}")
    return f"{Decimal(text):f}"
