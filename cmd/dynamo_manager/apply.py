"""Applying manifests through an engine: create what is missing, merge-patch what is there, definitions first.

Fields that a later manifest no longer names stay as they are: without server-side apply nobody knows who set them. A field
that the kind does not have is refused, as kubectl does it: the server would drop it, and something else would run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from collections.abc import Mapping as MappingType
from typing import Any, Final

from dynamo_ctrl.cache.state import install_definition
from dynamo_ctrl.engine.errors import AlreadyExists, EngineError, NotFound, UnsupportedKind
from dynamo_ctrl.engine.port import Engine, Resource
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.frozen import thaw
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_manager.errors import UsageError
from dynamo_manager.manifests import Manifest

ESTABLISH_ATTEMPTS: Final = 100
"""How often a new definition is looked at until the server serves it; with the pause below, ten seconds."""

ESTABLISH_PAUSE: Final = 0.1
"""Seconds between two looks."""

STRICT: Final = "strict decoding error: "
"""What the server says before it names the fields that a kind does not have."""

Sleep = Callable[[float], Awaitable[None]]

AnyObject = Object[Any, Any]


class _Untyped(Object[MappingType[str, Any], MappingType[str, Any]]):
    """An object of a kind that only the server knows."""


class Applier:
    """Applies manifests and remembers what the server calls their kinds.

    Args:
        engine: where to.
        namespace: for documents of namespaced kinds that name none.
        known: kinds that are typed already; all others are discovered.
        sleep: waits that many seconds.
        remedy: says what to do about a typed kind that the server does not serve.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        namespace: str,
        known: Iterable[Kind[Any]],
        sleep: Sleep,
        remedy: Callable[[Kind[Any]], str] = install_definition,
    ) -> None:
        self._engine = engine
        self._namespace = namespace
        self._known = {(kind.api_version, kind.kind): kind for kind in known}
        self._sleep = sleep
        self._remedy = remedy

    async def apply(self, manifests: Sequence[Manifest]) -> tuple[AnyObject, ...]:
        """Apply all of them, definitions first; returns the objects as the server answered.

        Raises:
            UsageError: a kind that the server does not serve, or an object that it refuses.
            EngineError: the server cannot be asked.
        """
        definitions = [manifest for manifest in manifests if manifest.kind == CUSTOM_RESOURCE_DEFINITION.kind]
        others = [manifest for manifest in manifests if manifest.kind != CUSTOM_RESOURCE_DEFINITION.kind]
        done = [await self._apply(manifest) for manifest in definitions]
        for definition in done:
            await self._established(definition)
        return (*done, *[await self._apply(manifest) for manifest in others])

    async def _apply(self, manifest: Manifest) -> AnyObject:
        try:
            kind = await self._kind(manifest)
            applied: AnyObject = kind.decode(await self._write(manifest, kind))
        except EngineError as error:
            if 400 <= error.code < 500:
                _, unknown, fields = error.message.rpartition(STRICT)
                if unknown:  # what stands before may quote the whole object
                    raise UsageError(f"{manifest}: {fields}") from error
                named = f'"{manifest.content["metadata"]["name"]}"' in error.message
                raise UsageError(f"{manifest.source if named else manifest}: {error.message}") from error
            raise
        return applied

    async def _write(self, manifest: Manifest, kind: Kind[Any]) -> bytes:
        key = manifest.key(self._namespace) if kind.namespaced else manifest.key("")
        content = thaw(manifest.content)
        if kind.namespaced:
            content["metadata"]["namespace"] = key.namespace
        try:
            return await self._engine.create(kind, key.namespace, kind.object(content).raw, strict=True)
        except AlreadyExists:
            return await self._engine.patch(kind, key, Patch.merge(content), strict=True)
        except (NotFound, UnsupportedKind) as error:
            if error.details.get("name"):  # a namespace
                raise
            remedy = self._remedy(kind)
            raise UsageError(
                f"{manifest}: the server does not serve {kind.api_version} {kind.plural}; {remedy}"
            ) from error

    async def _kind(self, manifest: Manifest) -> Kind[Any]:
        known = self._known.get((manifest.api_version, manifest.kind))
        if known is None:
            known = self._known[manifest.api_version, manifest.kind] = untyped(await self._discover(manifest))
        return known

    async def _discover(self, manifest: Manifest) -> Resource:
        group, _, version = manifest.api_version.rpartition("/")
        try:
            resources = await self._engine.discover(group, version)
        except NotFound:
            resources = ()
        for resource in resources:
            if resource.kind == manifest.kind:
                return resource
        raise UsageError(
            f"{manifest}: the server knows no {manifest.kind} in {manifest.api_version}; "
            "correct apiVersion and kind, or apply the CustomResourceDefinition first"
        )

    async def _established(self, definition: AnyObject) -> None:
        for _ in range(ESTABLISH_ATTEMPTS):
            live = CUSTOM_RESOURCE_DEFINITION.decode(await self._engine.get(CUSTOM_RESOURCE_DEFINITION, definition.key))
            states = {condition.type: condition for condition in live.status.conditions}
            refused = states.get("NamesAccepted")
            if refused is not None and refused.status == "False":
                raise UsageError(f"{definition.metadata.name}: {refused.message}")
            if "Established" in states and states["Established"].status == "True":
                return
            await self._sleep(ESTABLISH_PAUSE)
        raise UsageError(f"{definition.metadata.name}: the server did not establish the definition in time")


def untyped(resource: Resource) -> Kind[Any]:
    """A kind that only the server knows: its objects are plain JSON data."""
    return Kind(
        _Untyped,
        group=resource.group,
        version=resource.version,
        kind=resource.kind,
        plural=resource.plural,
        namespaced=resource.namespaced,
        status_subresource="status" in resource.subresources,
    )
