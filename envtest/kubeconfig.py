"""Kubeconfig files, with everything embedded, readable by their owner only.

They are JSON, which every reader of YAML reads.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

from envtest.certificates import Pair


def with_token(token: str) -> dict[str, Any]:
    """The credentials of a bearer token."""
    return {"token": token}


def with_certificate(pair: Pair) -> dict[str, Any]:
    """The credentials of a client certificate."""
    return {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}


def write(path: Path, *, url: str, authority: bytes, user: str, credentials: dict[str, Any]) -> Path:
    """Write a kubeconfig with one context, named as the user is. Returns `path`."""
    cluster = {"server": url, "certificate-authority-data": _base64(authority)}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "envtest", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": user, "context": {"cluster": "envtest", "user": user, "namespace": "default"}}],
        "current-context": user,
    }
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(content, file, indent=2)
    return path


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
