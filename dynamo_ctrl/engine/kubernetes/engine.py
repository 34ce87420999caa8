"""`KubernetesEngine`: the verbs of the port as HTTP requests."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import BadRequest, Conflict, Invalid
from dynamo_ctrl.engine.kubernetes import decode
from dynamo_ctrl.engine.kubernetes.calls import Calls
from dynamo_ctrl.engine.kubernetes.config import ClusterConfig
from dynamo_ctrl.engine.kubernetes.retry import Retry, RetryOptions, Sleep
from dynamo_ctrl.engine.kubernetes.transport import Transport
from dynamo_ctrl.engine.kubernetes.watching import Watching
from dynamo_ctrl.engine.observe import RequestObserver
from dynamo_ctrl.engine.port import (
    AnyKind,
    ListOptions,
    Page,
    Preconditions,
    Propagation,
    Resource,
    WatchEvent,
    WatchOptions,
)
from dynamo_ctrl.engine.registry import OnRequest
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch

T = TypeVar("T")

JSON: Final = "application/json"
PATCH_TYPES: Final = {"merge": "application/merge-patch+json", "json": "application/json-patch+json"}

CANNOT_APPLY: Final = "the server rejected our request due to an error in our request"
"""What a kube-apiserver says when a JSON patch cannot be applied, a failed `test` included (422, seen on v1.37)."""


class KubernetesEngine:
    """A connection to one API server. Made inside a running loop, used from it, and closed in it.

    Args:
        config: the cluster and who we are to it.
        user_agent: names us in the server's logs; its part before the first `/` is our field manager.
        request_timeout: seconds for one call, its retries and waits included. A watch: for opening it.
        clock: time for credentials that end.
        retry: bounds of retries.
        rng: jitter.
        sleep: how a retry waits.
        on_request: told of each attempt.
        observer: told of more.

    Raises:
        ConfigError: certificates that cannot be used.
    """

    name = "kubernetes"

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str,
        request_timeout: float,
        clock: Clock,
        retry: RetryOptions | None = None,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
        on_request: OnRequest | None = None,
        observer: RequestObserver | None = None,
    ) -> None:
        self.config = config
        self._authority = config.server.authority
        self._timeout = request_timeout
        self._calls = Calls()
        self._retry = Retry(retry or RetryOptions(), rng or random.Random(), sleep)  # noqa: S311  (jitter)
        self._transport = Transport(
            config, user_agent=user_agent, clock=clock, on_request=on_request, observer=observer
        )
        self._observer = observer

    def __str__(self) -> str:
        source = f" ({self.config.source})" if self.config.source else ""
        return f"{self.config.server}{source}"

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects. Raises `Expired` for a token or version that is too old."""
        target = _path(kind, options.namespace) + _query(
            limit=options.limit or "",
            resourceVersion=options.resource_version,
            resourceVersionMatch=options.match,
            labelSelector=options.label_selector,
            fieldSelector=options.field_selector,
            **{"continue": options.continue_token},
        )
        return decode.page(await self._read(f"list {kind}", lambda: self._transport.request("GET", target)))

    @asynccontextmanager
    async def watch(self, kind: AnyKind, options: WatchOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """A stream of events; see `Watching` for its ends."""
        target = _path(kind, options.namespace) + _query(
            watch="true",
            resourceVersion=options.resource_version,
            resourceVersionMatch="NotOlderThan" if options.send_initial else "",
            sendInitialEvents="true" if options.send_initial else "",
            allowWatchBookmarks="true" if options.bookmarks else "",
            timeoutSeconds=math.ceil(options.timeout),
            labelSelector=options.label_selector,
            fieldSelector=options.field_selector,
        )
        async with AsyncExitStack() as stack:

            async def attempt() -> Watching:
                answer = await stack.enter_async_context(self._transport.open("GET", target))
                return Watching(answer, idle=options.idle, timeout=options.timeout)

            yield await self._read(f"watch {kind}", attempt)

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object as it is now, or its `scale`."""
        target = _object_path(kind, key, subresource)
        return await self._read(f"get {kind} {key}", lambda: self._transport.request("GET", target))

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object; returns it as the server stored it. Raises `AlreadyExists`."""
        target = _path(kind, namespace) + _query(fieldValidation="Strict" if strict else "")
        return await self._write(f"create {kind}", "POST", target, body, JSON)

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its `status` or its `scale`."""
        return await self._write(f"update {kind} {key}", "PUT", _object_path(kind, key, subresource), body, JSON)

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Patch an object or a subresource. A failed `test` raises `Conflict`."""
        target = _object_path(kind, key, subresource) + _query(fieldValidation="Strict" if strict else "")
        try:
            return await self._write(f"patch {kind} {key}", "PATCH", target, patch.body, PATCH_TYPES[patch.type])
        except Invalid as error:
            if patch.tests and error.message.startswith(CANNOT_APPLY):
                raise Conflict(f"a test of the patch failed: {error.message}", details=error.details) from error
            raise

    async def delete(
        self,
        kind: AnyKind,
        key: Key,
        *,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> bytes:
        """Delete an object. Returns its last state if finalizers or dependants hold it, else a Status."""
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if preconditions is not None:
            named = {"uid": preconditions.uid, "resourceVersion": preconditions.resource_version}
            options["preconditions"] = {name: value for name, value in named.items() if value}
        body = msgspec.json.encode(options)
        return await self._write(f"delete {kind} {key}", "DELETE", _object_path(kind, key), body, JSON)

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version. Raises `NotFound` where the group version is not served."""
        target = "/".join(("/apis", quote(group), quote(version))) if group else f"/api/{quote(version)}"
        what = f"discover {group}/{version}" if group else f"discover {version}"
        return decode.resources(group, version, await self._read(what, lambda: self._transport.request("GET", target)))

    async def close(self) -> None:
        """End every call and every watch with `Unreachable`, and give back every connection. Idempotent."""
        if self._calls.closed:
            return
        await self._calls.close()
        await self._transport.close()

    async def _read(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        return await self._call(what, "GET", attempt, read=True)

    async def _write(self, what: str, method: str, target: str, body: bytes, content_type: str) -> bytes:
        request = self._transport.request
        return await self._call(what, method, lambda: request(method, target, body, content_type), read=False)

    async def _call(self, what: str, method: str, attempt: Callable[[], Awaitable[T]], *, read: bool) -> T:
        retry, retried = self._retry.run, self._retried(method)
        return await self._calls.call(
            self._timeout, what, lambda remaining: retry(attempt, read=read, remaining=remaining, retried=retried)
        )

    def _retried(self, method: str) -> Callable[[int], None] | None:
        observer = self._observer
        return None if observer is None else partial(observer.retried, method, self._authority)


def _path(kind: AnyKind, namespace: str) -> str:
    return kind.path(quote(namespace, safe=""))


def _object_path(kind: AnyKind, key: Key, subresource: str = "") -> str:
    """An object's path. Raises `BadRequest` for a name that would make it the path of something else."""
    if key.name in ("", ".", "..") or "/" in key.name or "%" in key.name:
        raise BadRequest(f"metadata.name: {key.name!r} cannot name an object")
    return kind.path(quote(key.namespace, safe=""), quote(key.name, safe=":@"), subresource)


def _query(**parameters: object) -> str:
    """A query string of the parameters that are not empty."""
    given = {name: value for name, value in parameters.items() if value != ""}
    return f"?{urlencode(given)}" if given else ""
