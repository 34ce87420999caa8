"""`Scratch`: a cluster in a variable, to put objects into and to let programs work on.

Contract:

- uids, generations, versions, defaults, validation, finalizers and owner garbage collection are a server's.
- Two scratch clusters with equal arguments and equal calls hold equal bytes: time stands still, and randomness has a seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from random import Random
from typing import Any, TypeVar

import msgspec

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.errors import AlreadyExists
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

_OF_THE_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp")


class Scratch:
    """A scratch cluster. In the beginning it serves Kubernetes' own kinds.

    Args:
        now: the time, until somebody advances `clock`.
        seed: of uids and generated names.

    Attributes:
        clock: its only clock.
        core: the API server.
        engine: the same as an engine.
        restored: the uids that another cluster gave; all others were made up here.
    """

    def __init__(self, *, now: datetime | None = None, seed: int = 0) -> None:
        self.clock = ManualClock(now)
        self.core = Core(clock=self.clock, random=Random(seed))  # noqa: S311  (uids and names, no secrets)
        self.engine = MemoryEngine(self.core)
        self.restored: set[str] = set()

    def define(self, definitions: Iterable[JsonMap]) -> None:
        """Serve what those CustomResourceDefinition documents define. Raises `Invalid`."""
        for document in definitions:
            self.core.create(CUSTOM_RESOURCE_DEFINITION, "", msgspec.json.encode(document))

    def serve(self, kinds: Iterable[Kind[Any]]) -> None:
        """Serve those kinds, without a schema where no definition has come before."""
        for kind in kinds:
            self.core.register(kind)

    def namespace(self, name: str) -> None:
        """There is a namespace of that name from now on."""
        try:
            self.core.create(NAMESPACE, "", NAMESPACE.object({"metadata": {"name": name}}).raw)
        except AlreadyExists:
            return

    def add(self, obj: O) -> O:
        """Create an object as a user does, and then its status; returns it as the server has it.

        Its namespace is made if it is missing, and so are uid, generation and creation time, whatever it says of them itself.

        Raises:
            NotFound: the kind is not served.
            Invalid, BadRequest, AlreadyExists: the server refuses it.
        """
        kind: Kind[O] = obj.kind
        namespace = obj.metadata.namespace
        if namespace:
            self.namespace(namespace)
        content = obj.content()
        for name in _OF_THE_SERVER:
            content["metadata"].pop(name, None)
        created: O = kind.decode(self.core.create(kind, namespace, kind.object(content).raw))
        if kind.status_subresource and content.get("status"):
            patch = Patch.merge({"status": content["status"]})
            created = kind.decode(self.core.patch(kind, created.key, patch, subresource="status"))
        return created

    def restore(self, obj: O) -> O:
        """Put an object there as another cluster has it, whatever a schema says; see `Core.restore`."""
        if obj.metadata.namespace:
            self.namespace(obj.metadata.namespace)
        restored: O = obj.kind.decode(self.core.restore(obj.kind, obj.raw))
        self.restored.add(restored.metadata.uid)
        return restored
