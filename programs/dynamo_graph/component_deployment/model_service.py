"""The Service of the model that a component deployment serves (P 6.7).

Everybody in a namespace who serves a model shares its Service: each is one of its owners and none controls it. Who serves it no
more is no owner any more, and the last one takes it along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.predicate import body_changed
from dynamo_ctrl.objects.builtin.core import SERVICE, Service
from dynamo_ctrl.objects.owners import refers_to
from dynamo_ctrl.objects.patch import Patch as Edit
from dynamo_ctrl.program.effect import Delete, Effect, Patch, Refuse, Sync
from dynamo_ctrl.program.errors import OwnershipConflict
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.names import Label
from dynamo_graph.bookkeeping import POLICY
from dynamo_graph.render.model_service import MANAGED_BY, render_model_service


def _owners(service: Service) -> Iterable[str]:
    if Label.BASE_MODEL_HASH not in service.metadata.labels:
        return ()
    return [reference.uid for reference in service.metadata.owner_references]


BY_OWNER: Final = Index("model-services-by-owner", SERVICE, _owners)
"""Uid of an owner to the Services of models that it shares."""


def concerns_owners(change: Change[Service]) -> bool:
    """Passes every change of a Service that somebody controls; of a shared one, only what its owners did not do themselves.

    Each owner that comes or goes would wake all the others.
    """
    if any(side.metadata.controller is not None for side in change.sides):
        return True
    return change.old is not None and body_changed(change)


def model_service_steps(primary: DynamoComponentDeployment, view: View) -> tuple[Step, ...]:
    """The Service of the model is there, and those of models that were served before are left."""
    effects = tuple(_effects(primary, view))
    return (Step(name="model-service", effects=effects),) if effects else ()


def _effects(primary: DynamoComponentDeployment, view: View) -> Iterator[Effect]:
    reference, metadata = primary.spec.model_ref, primary.metadata
    wanted = render_model_service(reference.name, metadata.namespace) if reference is not None else None
    if wanted is not None:
        yield _shared(wanted, view)
    for service in view.by_index(BY_OWNER, metadata.uid):
        if wanted is None or service.ref != wanted.ref:
            yield _left(service, primary)


def _shared(wanted: Service, view: View) -> Effect:
    live = view.get(SERVICE, wanted.key)
    if live is not None and not MANAGED_BY.items() <= live.metadata.labels.items():
        message = f"{live.ref} is not a Service of a model: the label {next(iter(MANAGED_BY))} is missing"
        return Refuse(message=message, error=OwnershipConflict(message, live=live))
    return Sync(child=wanted, policy=POLICY, shared_owner=True)


def _left(service: Service, owner: DynamoComponentDeployment) -> Effect:
    """`owner` is none of the owners any more. Both writes are bound to the owners that were seen."""
    present = service.metadata.owner_references
    kept = [reference for reference in present if not refers_to(reference, owner)]
    if not kept:
        return Delete(target=service, owned=False)
    before, after = ([msgspec.to_builtins(each) for each in references] for references in (present, kept))
    path = "/metadata/ownerReferences"
    changes = [{"op": "test", "path": path, "value": before}, {"op": "replace", "path": path, "value": after}]
    return Patch(target=service, patch=Edit.json(changes))
