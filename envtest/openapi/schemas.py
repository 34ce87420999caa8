"""The files of schemas, and what stands in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from dynamo_ctrl.objects.schema.openapi import from_openapi
from envtest.api import Api

CORE: Final = "/openapi/v3/api/v1"
"""Where a kube-apiserver tells the types of `v1`."""

POD_TEMPLATE: Final = "io.k8s.api.core.v1.PodTemplateSpec"
"""The type of a Pod template."""

FILE: Final = Path(__file__).parents[2] / "programs/dynamo_graph/api/pod_template.json"
"""The schema of a component's `podTemplate`."""


def pod_template(api: Api) -> dict[str, Any]:
    """The file's content as that server tells it, with the server's version."""
    version = api.get("/version")["gitVersion"]
    return {
        "source": f"kube-apiserver {version} {CORE}",
        "type": POD_TEMPLATE,
        "generator": "make generate; do not edit",
        "license": "Apache-2.0, from Kubernetes, Copyright The Kubernetes Authors",
        "schema": from_openapi(api.get(CORE), POD_TEMPLATE),
    }


def text(content: dict[str, Any]) -> str:
    """The content as it stands in a file: the same on every machine, a value on each line."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
