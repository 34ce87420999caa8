"""`Core`: an API server as a plain state machine. Every verb happens at once, in the caller's thread, without a loop.

Contract:

- The verbs and their arguments are those of `Engine`, and so are the errors. A verb that raises has changed nothing.
- There is one resourceVersion for everything. A write that changes nothing leaves it alone.
- Before a verb returns, everything that follows from it has happened too: owner garbage collection, the end of a
  namespace, the acceptance of a CRD. The steps have versions and events of their own, in a fixed order.
- Time and randomness come from the caller: two cores with equal clocks, seeds and calls hold equal bytes.

Not offered, whole: server-side apply, CEL rules, admission, authentication, dry runs, deletion of collections.
"""

from __future__ import annotations

import random as random_
import uuid
from dataclasses import replace
from typing import Final

import msgspec

from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.engine.memory import failure, lifecycle, paging, patching, requests, scaling, watching
from dynamo_ctrl.engine.memory.builtins import builtins, registered
from dynamo_ctrl.engine.memory.catalogue import Catalogue
from dynamo_ctrl.engine.memory.crds import Definitions
from dynamo_ctrl.engine.memory.field_error import quote
from dynamo_ctrl.engine.memory.garbage import Collector
from dynamo_ctrl.engine.memory.history import Feed, Revision, spoken
from dynamo_ctrl.engine.memory.metadata import metadata_errors, update_errors
from dynamo_ctrl.engine.memory.namespaces import ALWAYS, Namespaces, check_deletable, check_namespace
from dynamo_ctrl.engine.memory.requests import parse_filter
from dynamo_ctrl.engine.memory.served import Served, Tree, same
from dynamo_ctrl.engine.memory.store import Store
from dynamo_ctrl.engine.memory.table import Table
from dynamo_ctrl.engine.port import (
    AnyKind,
    ListOptions,
    Page,
    Preconditions,
    Propagation,
    Resource,
    WatchOptions,
)
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch

WINDOW: Final = 10_000
"""Changes of each resource that watches and old lists can still see."""

CLOSING: Final = "create not allowed while custom resource definition is terminating"

GENERATED_NAME_ATTEMPTS: Final = 8
"""How many names are tried for one `generateName`."""


class Core:
    """The state of one API server.

    Args:
        clock: the time that is written into objects and that watches are measured with.
        random: the source of uids and generated names.
        window: changes of each resource that watches and old lists can still see.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        random: random_.Random | None = None,
        window: int = WINDOW,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self._random = random or random_.Random()  # noqa: S311  (names and uids, no secrets)
        self._catalogue = Catalogue(window)
        self._store = Store(self._catalogue, self.clock)
        self._store.react(Definitions)
        self._store.react(Collector)
        self._store.react(Namespaces)
        for served in builtins():
            self._catalogue.serve(served, 0)
        for name in ALWAYS:
            self.create(NAMESPACE, "", msgspec.json.encode({"metadata": {"name": name}}))

    @property
    def version(self) -> int:
        """The newest resourceVersion."""
        return self._store.version

    def register(self, kind: AnyKind) -> None:
        """Serve a kind without a CRD and without a schema. A kind that is served already is left alone."""
        if self._catalogue.get(kind.group, kind.plural) is None:
            self._catalogue.serve(registered(kind), self.version)

    def serves(self, kind: AnyKind) -> bool:
        """Whether that kind is served, in the version that it is spoken in."""
        table = self._catalogue.get(kind.group, kind.plural)
        return table is not None and kind.version in table.served.versions

    def restore(self, kind: AnyKind, raw: bytes) -> bytes:
        """Put an object there as another server has it: uid, generation, times, status and all; managedFields go.

        Only its resourceVersion is new. Nothing is checked or defaulted, and nothing follows: an owner that is not here does
        not count as gone. Raises `InvalidObject` for something that is no object of that kind.
        """
        table = self._catalogue.find(kind)
        tree = kind.decode(raw).content()
        tree["metadata"].pop("managedFields", None)
        tree["apiVersion"], tree["kind"] = table.served.api_version, table.served.kind
        revision = self._store.restore(table, tree)
        self._store.settle()
        return _spoken(kind, table.served, revision.raw)

    def compact(self, version: int | None = None) -> None:
        """Forget history up to `version` (all of it by default): older watches, lists and tokens are 410 from now on."""
        for table in self._catalogue:
            table.log.compact(self.version if version is None else version)

    def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of a group version. Raises `NotFound`."""
        return self._catalogue.resources(group, version)

    def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""
        table = self._catalogue.find(kind)
        wanted = parse_filter(table.served, options.namespace, options.label_selector, options.field_selector)
        page = paging.list_page(table, wanted, options, self.version)
        if kind.version == table.served.storage_version:
            return page
        return replace(page, items=[spoken(raw, kind.api_version) for raw in page.items])

    def watch(self, kind: AnyKind, options: WatchOptions) -> Feed:
        """A feed of events, to be pulled; close it when it is no longer wanted."""
        table = self._catalogue.find(kind)
        wanted = parse_filter(table.served, options.namespace, options.label_selector, options.field_selector)
        return watching.open_feed(table, wanted, options, kind.api_version, self.clock, self._store)

    def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object, or its scale."""
        table = self._catalogue.find(kind)
        _check_subresource(table.served, key, subresource)
        revision = self._find(table, key)
        if subresource == "scale":
            return _scale(table.served, revision)
        return _spoken(kind, table.served, revision.raw)

    def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object; `strict` refuses fields that it does not have."""
        table = self._catalogue.find(kind)
        served, strategy = table.served, table.served.versions[kind.version]
        tree = requests.read(served, kind.version, body, strict=strict)
        metadata = tree["metadata"]
        requests.check_namespace_of(served, metadata, namespace)
        generated = self._name(table, metadata, namespace)
        check_namespace(self._store, served, namespace, metadata.get("name", ""))
        if metadata.get("resourceVersion"):
            raise failure.internal("resourceVersion should not be set on objects to be created")
        lifecycle.start(metadata, served, namespace=namespace, uid=self._uid(), now=self._store.now)
        if served.status:
            tree.pop("status", None)
        strategy.admit(tree)
        strategy.create(tree)
        errors = metadata_errors(metadata, served) + strategy.validate(tree, None)
        if errors:
            raise failure.invalid(served, metadata.get("name", ""), errors)
        if table.closing:
            raise failure.forbidden(served, metadata["name"], CLOSING)
        existing = table.get(Key(namespace, metadata["name"]))
        if existing is not None:
            terminating = existing.metadata.deletion_timestamp is not None
            raise failure.taken(served, metadata["name"], generated=generated, terminating=terminating)
        revision = self._store.write(table, tree, None)
        self._store.settle()
        return _spoken(kind, served, revision.raw)

    def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its status or its scale."""
        table = self._catalogue.find(kind)
        served = table.served
        _check_subresource(served, key, subresource)
        if subresource == "scale":
            sent = requests.read_scale(body)
            requests.check_name_of(sent["metadata"], key, served)
            return self._write_scale(kind, table, self._find(table, key), sent)
        sent = requests.read(served, kind.version, body)
        requests.check_name_of(sent["metadata"], key, served)
        old = self._find(table, key)
        version, uid = sent["metadata"].get("resourceVersion", ""), sent["metadata"].get("uid", "")
        if uid and uid != old.metadata.uid:
            raise failure.other_uid(served, old.path, key.name, uid, old.metadata.uid)
        self._check_version(served, old, version)
        raw = self._replace(table, old, sent, kind.version, status=subresource == "status")
        return _spoken(kind, served, raw)

    def patch(self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False) -> bytes:
        """Patch an object, its status or its scale; `strict` refuses fields that the object does not have."""
        table = self._catalogue.find(kind)
        served = table.served
        _check_subresource(served, key, subresource)
        old = self._find(table, key)
        before = old.tree()
        if subresource == "scale" and served.scale is not None:
            scale = scaling.scale_of(before, served.scale)
            sent = requests.read_patched_scale(patching.patched(scale, patch))
            requests.check_name_of(sent["metadata"], key, served)
            return self._write_scale(kind, table, old, sent)
        before["apiVersion"] = served.spoken(kind.version)
        sent = requests.read_patched(served, kind.version, patching.patched(before, patch), strict=strict)
        requests.check_name_of(sent["metadata"], key, served)
        self._check_version(served, old, sent["metadata"].get("resourceVersion", ""))
        raw = self._replace(table, old, sent, kind.version, status=subresource == "status")
        return _spoken(kind, served, raw)

    def delete(
        self,
        kind: AnyKind,
        key: Key,
        *,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> bytes:
        """Delete an object. `grace_seconds` shortens the grace of kinds that have one (Pods)."""
        table = self._catalogue.find(kind)
        served = table.served
        revision = self._find(table, key)
        check_deletable(served, key.name)
        _check_preconditions(served, revision, preconditions)
        left = self._store.delete(table, revision, propagation, grace_seconds)
        self._store.settle()
        if left is not None:
            return _spoken(kind, served, left.raw)
        if served.returns_deleted:
            return _spoken(kind, served, revision.raw)
        return requests.success(served, key.name, revision.metadata.uid)

    def _find(self, table: Table, key: Key) -> Revision:
        revision = table.get(key)
        if revision is None:
            raise failure.not_found(table.served, key.name)
        return revision

    def _name(self, table: Table, metadata: Tree, namespace: str) -> bool:
        if metadata.get("name") or not metadata.get("generateName"):
            return False
        for _ in range(GENERATED_NAME_ATTEMPTS):
            metadata["name"] = lifecycle.generated_name(metadata["generateName"], self._random)
            if table.get(Key(namespace, metadata["name"])) is None:
                break
        return True

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _check_version(self, served: Served, old: Revision, asked: str) -> None:
        if asked in ("", "0"):
            if not served.unconditional:
                raise failure.version_required(served, old.key.name)
            return
        if not (asked.isascii() and asked.isdigit()):
            quoted = quote(asked)
            raise failure.internal(f"strconv.ParseUint: parsing {quoted}: invalid syntax")
        if int(asked) != old.version:
            raise failure.modified(served, old.key.name)

    def _write_scale(self, kind: AnyKind, table: Table, old: Revision, sent: Tree) -> bytes:
        served = table.served
        asked = sent["metadata"].get("resourceVersion", "")
        if asked:
            self._check_version(served, old, asked)
        if served.scale is not None:
            before = old.tree()
            if errors := scaling.scale_errors(before, served.scale):
                raise failure.invalid(served, old.key.name, errors)
            tree = scaling.with_replicas(before, served.scale, sent.get("spec", {}).get("replicas", 0))
            self._replace(table, old, tree, kind.version, status=False)
        return _scale(served, self._find(table, old.key))

    def _replace(self, table: Table, old: Revision, sent: Tree, version: str, *, status: bool) -> bytes:
        served, strategy = table.served, table.served.versions[version]
        before = old.tree()
        lifecycle.carry_over(sent["metadata"], before["metadata"])
        if status:
            tree = patching.with_status(served, before, sent)
            strategy.update_status(tree, before)
        else:
            tree = sent
            if served.status:
                patching.without_status(tree, before)
            strategy.update(tree, before)
        strategy.admit(tree)
        metadata = tree["metadata"]
        if not status and served.keeps_generation and served.moved(tree, before):
            metadata["generation"] = before["metadata"].get("generation", 0) + 1
        metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
        tree["apiVersion"], tree["kind"] = served.api_version, served.kind
        if same(tree, before):
            return old.raw
        errors = update_errors(metadata, before["metadata"]) + metadata_errors(metadata, served)
        validate = strategy.validate_status if status else None
        errors += validate(tree, before) if validate else strategy.validate(tree, before)
        if errors:
            raise failure.invalid(served, old.key.name, errors)
        if lifecycle.is_finished(metadata) and not strategy.held(tree):
            self._store.remove(table, old)
            self._store.settle()
            return msgspec.json.encode(tree)
        revision = self._store.write(table, tree, old)
        self._store.settle()
        return revision.raw


def _spoken(kind: AnyKind, served: Served, raw: bytes) -> bytes:
    return raw if kind.version == served.storage_version else spoken(raw, kind.api_version)


def _scale(served: Served, revision: Revision) -> bytes:
    if served.scale is None:
        raise failure.no_such_resource()
    return msgspec.json.encode(scaling.scale_of(revision.tree(), served.scale))


def _check_subresource(served: Served, key: Key, subresource: str) -> None:
    if subresource and subresource not in served.subresources:
        raise failure.not_found(served, key.name) if served.custom else failure.no_such_resource()


def _check_preconditions(served: Served, revision: Revision, wanted: Preconditions | None) -> None:
    if wanted is None:
        return
    name, uid, version = revision.key.name, revision.metadata.uid, str(revision.version)
    if wanted.uid and wanted.uid != uid:
        raise failure.precondition(served, name, "UID", wanted.uid, uid)
    if wanted.resource_version and wanted.resource_version != version:
        raise failure.precondition(served, name, "ResourceVersion", wanted.resource_version, version)
