"""Applying manifests through an engine, as `dynamo_ctrl.engine.apply` does it, with refusals in the words of the manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as MappingType
from typing import Any, Final

from dynamo_ctrl.cache.state import install_definition
from dynamo_ctrl.engine.apply import NotEstablished, Sleep, established, write
from dynamo_ctrl.engine.errors import EngineError, NotFound, UnsupportedKind
from dynamo_ctrl.engine.port import Engine, Resource
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.frozen import thaw
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_manager.errors import UsageError
from dynamo_manager.manifests import Manifest

STRICT: Final = "strict decoding error: "
"""What the server says before it names the fields that a kind does not have."""

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
            try:
                await established(self._engine, definition, self._sleep)
            except NotEstablished as error:
                raise UsageError(str(error)) from error
        return (*done, *[await self._apply(manifest) for manifest in others])

    async def _apply(self, manifest: Manifest) -> AnyObject:
        try:
            return await self._write(manifest, await self._kind(manifest))
        except EngineError as error:
            if 400 <= error.code < 500:
                _, unknown, fields = error.message.rpartition(STRICT)
                if unknown:  # what stands before may quote the whole object
                    raise UsageError(f"{manifest}: {fields}") from error
                named = f'"{manifest.content["metadata"]["name"]}"' in error.message
                raise UsageError(f"{manifest.source if named else manifest}: {error.message}") from error
            raise

    async def _write(self, manifest: Manifest, kind: Kind[Any]) -> AnyObject:
        key = manifest.key(self._namespace) if kind.namespaced else manifest.key("")
        content = thaw(manifest.content)
        if kind.namespaced:
            content["metadata"]["namespace"] = key.namespace
        try:
            return await write(self._engine, kind.object(content))
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
            f"{manifest}: the server knows no {manifest.kind} in {manifest.api_version}; {self._remedied(group, manifest)}"
        )

    def _remedied(self, group: str, manifest: Manifest) -> str:
        others = [api for api, kind in self._known if kind == manifest.kind and api.rpartition("/")[0] == group]
        if others:
            return f"apiVersion: must be {' or '.join(others)}, and the spec written for it"
        return "correct apiVersion and kind, or apply the CustomResourceDefinition first"


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
