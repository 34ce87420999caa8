"""Rights, and which of them a trail of requests has used. Pure.

A right counts as used when the API server checked it and said yes:

- it authorised a request that it then carried out;
- it took a Role from us. It refuses one that grants what its author does not hold (escalation), so every right in it was checked;
- it took an object from us that refers to an owner which must wait for it (`blockOwnerDeletion`). For that, a server that
  enforces it (ours and OpenShift's do) checks the right to update the owner's finalizers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from envtest.audit import Request


class Right(NamedTuple):
    """One verb on one resource; `resource` may name a subresource, as `deployments/status`."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' + self.group if self.group else ''}"


def used(requests: Sequence[Request]) -> set[Right]:
    """The rights that those requests have used."""
    carried_out = [request for request in requests if request.succeeded and request.resource]
    resources = {_kind(request.answered): request.resource for request in carried_out if not request.subresource}
    return {
        *(right_of(request) for request in carried_out),
        *(right for request in carried_out for right in _granted(request)),
        *(right for request in carried_out for right in _owners(request, resources)),
    }


def apart(requests: Sequence[Request], home: str) -> tuple[set[Right], set[Right]]:
    """The rights that those requests have used, and of them those on resources that were touched nowhere but in `home`."""
    everywhere = {
        (right.group, right.resource) for right in used([each for each in requests if each.namespace != home])
    }
    rights = used(requests)
    at_home = {right for right in rights if (right.group, right.resource) not in everywhere}
    return rights - at_home, at_home


def right_of(request: Request) -> Right:
    """The right that a request needs by itself."""
    resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
    return Right(request.group, resource, request.verb)


def granted(rules: Iterable[Mapping[str, Any]]) -> set[Right]:
    """The rights in the rules of a role."""
    return {
        Right(group, resource, verb)
        for rule in rules
        for group in rule.get("apiGroups") or ()
        for resource in rule.get("resources") or ()
        for verb in rule["verbs"]
    }


def _granted(request: Request) -> set[Right]:
    if request.resource not in ("roles", "clusterroles") or not request.writes:
        return set()
    return granted(request.answered.get("rules") or ())


def _owners(request: Request, resources: Mapping[tuple[str, str], str]) -> Iterator[Right]:
    if request.verb != "create":  # references that were there before are not checked again
        return
    for reference in request.answered.get("metadata", {}).get("ownerReferences") or ():
        if reference.get("blockOwnerDeletion"):
            group = reference["apiVersion"].rpartition("/")[0]
            yield Right(group, f"{resources[group, reference['kind']]}/finalizers", "update")


def _kind(content: Mapping[str, Any]) -> tuple[str, str]:
    return content.get("apiVersion", "").rpartition("/")[0], content.get("kind", "")
