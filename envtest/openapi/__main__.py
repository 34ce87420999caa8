"""`python -m envtest.openapi`: writes `programs/dynamo_graph/api/pod_template.json`."""

from __future__ import annotations

import sys
from typing import Final

from envtest.binaries import find_binaries
from envtest.cluster import Cluster, ClusterOptions
from envtest.errors import EnvtestError
from envtest.openapi.schemas import FILE, pod_template, text

SERVER: Final = ClusterOptions(controllers=(), scheduler=False, kwok=False, nodes=0)
"""An API server alone tells its types."""


def main() -> int:
    """Start a server, ask it, write the file; returns the exit code."""
    try:
        with Cluster(find_binaries(progress=_say), SERVER) as cluster:
            content = pod_template(cluster.api)
    except EnvtestError as error:
        _say(f"openapi: {error}")
        return 1
    FILE.write_text(text(content), encoding="utf-8")
    _say(f"openapi: {content['type']} of {content['source']} in {FILE}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
