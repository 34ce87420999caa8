"""The schemas of Kubernetes' own types in this API: a Pod template, and where an environment variable's text comes from.

They are those of a kube-apiserver, kept in `pod_template.json` (`make generate` writes it). So `kubectl explain` knows them, and
a field of a wrong type, or one that does not exist, is refused when a graph is applied, and not when its Pods are made.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

import msgspec

FILE: Final = "pod_template.json"
"""Name of the file beside this module."""


def pod_template() -> dict[str, Any]:
    """The structural schema of a Pod template."""
    file = resources.files("dynamo_graph.api") / FILE
    schema: dict[str, Any] = msgspec.json.decode(file.read_bytes())["schema"]
    return schema


def env_source() -> dict[str, Any]:
    """The structural schema of `valueFrom` of an environment variable."""
    container = pod_template()["properties"]["spec"]["properties"]["containers"]["items"]
    source: dict[str, Any] = container["properties"]["env"]["items"]["properties"]["valueFrom"]
    return source
