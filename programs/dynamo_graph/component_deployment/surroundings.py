"""What a component deployment finds in its namespace, read from the cache for rendering (P 5.5, 5.7)."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

import msgspec

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.core import SECRET, SERVICE_ACCOUNT
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.component_deployment.devices import CachedDevices
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.discovery import fallback_account
from dynamo_graph.render.pull_secrets import SECRET_TYPE, PullSecrets

_ENTRY: Final = ".dockerconfigjson"


class _Registries(msgspec.Struct, gc=False):
    auths: dict[str, msgspec.Raw] = {}


def surroundings(namespace: str, view: View, config: OperatorConfig) -> Surroundings:
    """Pull secrets, accounts and devices of a namespace. Raises `SourceUnavailable`."""
    return Surroundings(
        config=config,
        secrets=PullSecrets.of(view.list(SECRET, namespace=namespace), namespace),
        account=fallback_account(view.list(SERVICE_ACCOUNT, namespace=namespace)),
        devices=CachedDevices(view, namespace),
    )


def registries_only(content: JsonMap) -> dict[str, Any]:
    """Projection of a Secret: which registries it opens, and no credential. Other secrets keep their metadata only.

    Annotations go, too: `kubectl apply` keeps a copy of the whole secret in one.
    """
    kept = {key: content[key] for key in ("apiVersion", "kind", "type") if key in content}
    metadata = content.get("metadata") or {}
    kept["metadata"] = {key: value for key, value in metadata.items() if key not in ("annotations", "managedFields")}
    if content.get("type") != SECRET_TYPE:
        return kept
    text = (content.get("data") or {}).get(_ENTRY, "")
    try:
        auths = msgspec.json.decode(base64.b64decode(text), type=_Registries).auths
    except (ValueError, binascii.Error):
        return {**kept, "data": {_ENTRY: ""}}
    bare = msgspec.json.encode({"auths": {registry: {} for registry in sorted(auths)}})
    return {**kept, "data": {_ENTRY: base64.b64encode(bare).decode()}}
