"""The Pods of a LeaderWorkerSet's groups: their names, labels, annotations, and the variables by which they find each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from data_plane.leader_worker_set_kind import LeaderWorkerSet
from dynamo_ctrl.objects.builtin.core import POD, SERVICE, Pod, Service
from dynamo_ctrl.objects.frozen import JsonMap, thaw

PREFIX: Final = "leaderworkerset.sigs.k8s.io/"
NAME: Final = PREFIX + "name"
GROUP_INDEX: Final = PREFIX + "group-index"
WORKER_INDEX: Final = PREFIX + "worker-index"
GROUP_KEY: Final = PREFIX + "group-key"
REVISION: Final = PREFIX + "template-revision-hash"
SIZE: Final = PREFIX + "size"
LEADER_NAME: Final = PREFIX + "leader-name"
SUBDOMAIN_POLICY: Final = PREFIX + "subdomainPolicy"

UNIQUE: Final = "UniquePerReplica"


def revision_of(lws: LeaderWorkerSet) -> str:
    """The name of the present templates: equal for equal ones."""
    spec = lws.content()["spec"]
    text = json.dumps([spec["leaderWorkerTemplate"], spec.get("networkConfig")], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def template_of(lws: LeaderWorkerSet, worker: int) -> JsonMap:
    """The template of the leader (0) or of a worker."""
    template = lws.spec.leader_worker_template
    if worker == 0 and template.leader_template is not None:
        return template.leader_template
    return template.worker_template


def pod_name(lws: LeaderWorkerSet, group: int, worker: int) -> str:
    """The name of a Pod; that of the leader is that of the group."""
    leader = f"{lws.metadata.name}-{group}"
    return f"{leader}-{worker}" if worker else leader


def pod_of(lws: LeaderWorkerSet, group: int, worker: int) -> Pod:
    """A Pod of a group."""
    size = lws.spec.leader_worker_template.size
    name, leader_name, namespace = pod_name(lws, group, worker), pod_name(lws, group, 0), lws.metadata.namespace
    unique = lws.spec.network_config.subdomain_policy == UNIQUE
    subdomain = leader_name if unique else lws.metadata.name
    labels = {
        NAME: lws.metadata.name,
        GROUP_INDEX: str(group),
        WORKER_INDEX: str(worker),
        GROUP_KEY: hashlib.sha1(f"{namespace}/{leader_name}".encode(), usedforsecurity=False).hexdigest(),
        REVISION: revision_of(lws),
    }
    annotations = {SIZE: str(size)} | ({LEADER_NAME: leader_name} if worker else {})
    if unique and not worker:
        annotations[SUBDOMAIN_POLICY] = UNIQUE
    variables = {
        "LWS_LEADER_ADDRESS": f"{leader_name}.{subdomain}.{namespace}",
        "LWS_GROUP_SIZE": str(size),
        "LWS_WORKER_INDEX": str(worker),
    }
    template: dict[str, Any] = thaw(template_of(lws, worker))
    own = template.get("metadata") or {}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": {**(own.get("labels") or {}), **labels},
        "annotations": {**(own.get("annotations") or {}), **annotations},
    }
    if own.get("finalizers"):
        metadata["finalizers"] = own["finalizers"]
    spec = template.get("spec") or {}
    spec |= {"hostname": name, "subdomain": subdomain}
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            container["env"] = _with_first(variables, container.get("env") or ())
    return POD.object({"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})


def headless_service(lws: LeaderWorkerSet, group: int | None = None) -> Service:
    """The Service in which the names of all Pods live, or of one group, ready or not."""
    selector = {NAME: lws.metadata.name} | ({} if group is None else {GROUP_INDEX: str(group)})
    metadata = {
        "name": lws.metadata.name if group is None else pod_name(lws, group, 0),
        "namespace": lws.metadata.namespace,
        "labels": {NAME: lws.metadata.name},
    }
    spec = {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": True}
    return SERVICE.object({"metadata": metadata, "spec": spec})


def _with_first(variables: Mapping[str, str], env: Any) -> list[dict[str, Any]]:
    first = [{"name": name, "value": value} for name, value in variables.items()]
    return [*first, *(entry for entry in env if entry["name"] not in variables)]
