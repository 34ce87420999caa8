"""What service accounts asked of the API server, read from its audit log.

The log is written before the answer is sent, so that whatever a test has seen the effect of can be read here. The components of
the cluster itself are no service accounts; nothing that they do is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")

_NOTHING: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request that was answered; a watch counts once it is open.

    Attributes:
        user: who asked.
        verb: as RBAC names it.
        group, resource, subresource, namespace, name: what it was about; `resource` is empty for discovery and the like.
        code: the HTTP status of the answer.
        sent: the body of a write.
        answered: the object in the answer to a write.
    """

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    sent: Mapping[str, Any]
    answered: Mapping[str, Any]

    @property
    def succeeded(self) -> bool:
        """Whether it was carried out."""
        return self.code < 300

    @property
    def writes(self) -> bool:
        """Whether it was meant to change something."""
        return self.verb in WRITES

    @property
    def target(self) -> str:
        """What it was about, as `deployments/g-frontend` or `dynamographdeployments/g/status`."""
        return "/".join(part for part in (self.resource, self.name, self.subresource) if part)

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.target}{where}: {self.code}"


def policy() -> str:
    """The audit policy: service accounts only; bodies of writes only."""
    accounts = {"userGroups": ["system:serviceaccounts"]}
    return json.dumps(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "omitManagedFields": True,
            "rules": [
                {"level": "RequestResponse", **accounts, "verbs": list(WRITES)},
                {"level": "Metadata", **accounts},
                {"level": "None"},
            ],
        }
    )


class Trail:
    """The requests of one user, in the order of their answers."""

    def __init__(self, log: Path, user: str) -> None:
        self._log = log
        self._user = user

    def mark(self) -> int:
        """Where the log ends now, for `requests`."""
        return self._log.stat().st_size if self._log.exists() else 0

    def requests(self, since: int = 0, namespace: str = "") -> list[Request]:
        """What was answered after that mark, in that namespace or anywhere."""
        return [
            request
            for request in self._read(since)
            if request.user == self._user and (not namespace or request.namespace == namespace)
        ]

    def writes(self, since: int = 0, namespace: str = "") -> list[Request]:
        """The writes that were carried out. Events are left out: nobody converges on them."""
        return [
            request
            for request in self.requests(since, namespace)
            if request.writes and request.succeeded and request.resource != "events"
        ]

    def created(self, since: int = 0, namespace: str = "") -> list[str]:
        """The objects that were created, as `deployments/g-frontend`."""
        return [request.target for request in self.writes(since, namespace) if request.verb == "create"]

    def _read(self, since: int) -> Iterator[Request]:
        if not self._log.exists():
            return
        with self._log.open("rb") as file:
            file.seek(since)
            for line in file:
                try:
                    event = json.loads(line)
                except ValueError:  # half a line: the server was killed, or is writing it
                    continue
                if _counts(event):
                    yield _request(event)


def _counts(event: Mapping[str, Any]) -> bool:
    """A request is told at its end; a watch that was opened, at its beginning."""
    if event["verb"] == "watch" and event["responseStatus"]["code"] < 300:
        return bool(event["stage"] == "ResponseStarted")
    return bool(event["stage"] == "ResponseComplete")


def _request(event: Mapping[str, Any]) -> Request:
    about = event.get("objectRef") or _NOTHING
    answered = event.get("responseObject") or _NOTHING
    return Request(
        user=event["user"]["username"],
        verb=event["verb"],
        group=about.get("apiGroup", ""),
        resource=about.get("resource", ""),
        subresource=about.get("subresource", ""),
        namespace=about.get("namespace", ""),
        name=about.get("name") or (answered.get("metadata") or _NOTHING).get("name", ""),
        code=(event.get("responseStatus") or _NOTHING).get("code", 0),
        sent=event.get("requestObject") or _NOTHING,
        answered=answered,
    )
