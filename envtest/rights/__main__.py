"""`python -m envtest.rights`: writes `config/rbac/role.yaml`, and its like in `config/restricted`."""

from __future__ import annotations

import sys

from envtest.binaries import find_binaries
from envtest.cluster import Cluster
from envtest.errors import EnvtestError
from envtest.installation import NAME, NAMESPACE, RESTRICTED, ROLE, Installation
from envtest.rights.right import apart
from envtest.rights.role import restricted_text, text
from envtest.rights.tour import Tour


def main() -> int:
    """Make the tour as a cluster administrator, and write down what it took; returns the exit code."""
    try:
        with Cluster(find_binaries(progress=_say)) as cluster:
            installation = Installation(cluster)
            installation.apply()
            account = f"--serviceaccount={NAMESPACE}:{NAME}"
            cluster.kubectl("create", "clusterrolebinding", "tour", "--clusterrole=cluster-admin", account)
            cluster.kubectl("create", "namespace", "tour")
            tour = Tour(cluster, installation, "tour", cluster.directory)
            try:
                everywhere, at_home = apart(tour.make(), NAMESPACE)
            except TimeoutError as error:
                _say(f"rights: {error}\n{tour.log.read_text()[-4000:]}")
                return 1
    except EnvtestError as error:
        _say(f"rights: {error}")
        return 1
    ROLE.write_text(text(everywhere, at_home), encoding="utf-8")
    RESTRICTED.write_text(restricted_text(everywhere | at_home), encoding="utf-8")
    _say(f"rights: {len(everywhere)} everywhere and {len(at_home)} at home in {ROLE}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
