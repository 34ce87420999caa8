"""Custom resource definitions: a CRD becomes a resource that is served, changes it, and takes it away again.

A definition is accepted and established before the request that brought it returns. Its objects are stored in the storage
version; another version is the same object under another apiVersion (conversion `None`, the only one). When the schema
changes, stored objects are read through the new one from then on, under the resourceVersions that they have.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from dynamo_ctrl.engine.memory import failure, lifecycle
from dynamo_ctrl.engine.memory.crd_rules import definition_errors
from dynamo_ctrl.engine.memory.field_error import FieldError
from dynamo_ctrl.engine.memory.history import Revision
from dynamo_ctrl.engine.memory.scaling import scale_errors
from dynamo_ctrl.engine.memory.schema import Schema
from dynamo_ctrl.engine.memory.served import ScalePaths, Served, Strategy, Tree
from dynamo_ctrl.engine.memory.store import Store
from dynamo_ctrl.engine.memory.table import Table
from dynamo_ctrl.objects.conditions import rfc3339
from dynamo_ctrl.objects.key import Key

GROUP: Final = "apiextensions.k8s.io"
PLURAL: Final = "customresourcedefinitions"
FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"


def _default(tree: Tree) -> None:
    spec = tree.setdefault("spec", {})
    called = spec.setdefault("names", {})
    if called.get("kind"):
        called.setdefault("singular", called["kind"].lower())
        called.setdefault("listKind", f"{called['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})


def _begin(tree: Tree) -> None:
    stored = [version.get("name", "") for version in tree["spec"].get("versions") or () if version.get("storage")]
    tree["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}


def _end(tree: Tree, now: datetime) -> None:
    metadata = tree["metadata"]
    if "deletionTimestamp" in metadata:
        return
    metadata["deletionTimestamp"] = rfc3339(now)
    metadata["finalizers"] = [*metadata.get("finalizers", ()), FINALIZER]
    _set_condition(
        tree, "Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress", now
    )


CRD_STRATEGY: Final = Strategy(admit=_default, create=_begin, delete=_end, validate=definition_errors)


def _set_condition(tree: Tree, type_: str, status: str, reason: str, message: str, now: datetime) -> None:
    conditions: list[Tree] = list(tree["status"].get("conditions") or ())
    new = {"type": type_, "status": status, "lastTransitionTime": rfc3339(now), "reason": reason, "message": message}
    for index, old in enumerate(conditions):
        if old["type"] == type_:
            if old["status"] == status:
                new["lastTransitionTime"] = old["lastTransitionTime"]
            conditions[index] = new
            break
    else:
        conditions.append(new)
    tree["status"] = {**tree["status"], "conditions": conditions}


def _strategy(version: Mapping[str, Any], scale: ScalePaths | None) -> Strategy:
    schema = Schema(version["schema"]["openAPIV3Schema"], root=True)

    def admit(tree: Tree) -> None:
        fault = schema.unreadable(tree)
        if fault is not None:
            raise failure.unreadable(tree["kind"], version["name"], fault)
        schema.shape(tree)

    def validate(new: Tree, old: Tree | None) -> list[FieldError]:
        errors = list(schema.errors(new, "", old=old) if old else schema.errors(new, ""))
        return errors + scale_errors(new, scale)

    return Strategy(
        admit=admit, unknown=schema.unknown, validate=validate, validate_status=_status_validation(schema, scale)
    )


def _status_validation(schema: Schema, scale: ScalePaths | None) -> Any:
    def validate(new: Tree, old: Tree) -> list[FieldError]:
        status = schema.property("status")
        errors: list[FieldError] = []
        if status is not None and "status" in new:
            errors += status.errors(new["status"], "status", body="status", old=old.get("status"))
        return errors + scale_errors(new, scale)

    return validate


def served_by(definition: Mapping[str, Any]) -> Served:
    """The resource that a valid CRD defines."""
    spec = definition["spec"]
    stored = next(version for version in spec["versions"] if version.get("storage"))
    subresources = stored.get("subresources") or {}
    scale = None
    if subresources.get("scale") is not None:
        paths = subresources["scale"]
        scale = ScalePaths(
            replicas=paths["specReplicasPath"].lstrip("."),
            status=paths["statusReplicasPath"].lstrip("."),
            selector=paths.get("labelSelectorPath", "").lstrip("."),
        )
    return Served(
        group=spec["group"],
        plural=spec["names"]["plural"],
        kind=spec["names"]["kind"],
        namespaced=spec["scope"] == "Namespaced",
        versions={version["name"]: _strategy(version, scale) for version in spec["versions"] if version.get("served")},
        stored=_strategy(stored, scale),
        storage_version=stored["name"],
        status=subresources.get("status") is not None,
        scale=scale,
        bumps=("*",),
        custom=True,
        unconditional=False,
        selectable=frozenset(
            field["jsonPath"].lstrip(".")
            for version in spec["versions"]
            for field in version.get("selectableFields") or ()
        ),
    )


class Definitions:
    """Serves what CRDs define. A reaction of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._due: dict[str, None] = {}
        self._waiting: dict[tuple[str, str], str] = {}

    def observe(self, table: Table, before: Revision | None, after: Revision | None) -> None:
        """Note new, changed and deleted definitions, and the removal of objects whose definition goes away."""
        served = table.served
        if served.group == GROUP and served.plural == PLURAL:
            if after is not None:
                self._due[after.key.name] = None
        elif after is None and (served.group, served.plural) in self._waiting:
            self._due[self._waiting[served.group, served.plural]] = None

    def adopt(self, table: Table, revision: Revision) -> None:
        """A definition that was made elsewhere is served here as well."""
        self.observe(table, None, revision)

    def step(self) -> bool:
        """Carry on with one definition."""
        if not self._due:
            return False
        name = next(iter(self._due))
        del self._due[name]
        table = self._store.catalogue.get(GROUP, PLURAL)
        revision = table.get(Key("", name)) if table else None
        if table is not None and revision is not None:
            if revision.metadata.deletion_timestamp is not None:
                self._take_away(table, revision)
            else:
                self._accept(table, revision)
        return True

    def _accept(self, table: Table, revision: Revision) -> None:
        tree = revision.tree()
        spec, now = tree["spec"], self._store.now
        conflict = self._conflict(spec)
        if conflict:
            _set_condition(tree, "NamesAccepted", "False", conflict[0], conflict[1], now)
            _set_condition(tree, "Established", "False", "NotAccepted", "not all names are accepted", now)
            tree["status"]["acceptedNames"] = {"plural": spec["names"]["plural"], "kind": ""}
        else:
            _set_condition(tree, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
            told = "the initial names have been accepted"
            _set_condition(tree, "Established", "True", "InitialNamesAccepted", told, now)
            tree["status"]["acceptedNames"] = spec["names"]
            stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
            if stored not in tree["status"]["storedVersions"]:
                tree["status"]["storedVersions"] = [*tree["status"]["storedVersions"], stored]
            self._serve(tree)
        if tree != revision.tree():
            self._store.write(table, tree, revision)

    def _conflict(self, spec: Mapping[str, Any]) -> tuple[str, str] | None:
        other = self._store.catalogue.by_kind(spec["group"], spec["names"]["kind"])
        if other is not None and other.served.plural != spec["names"]["plural"]:
            return "ListKindConflict", f'"{spec["names"]["listKind"]}" is already in use'
        return None

    def _serve(self, tree: Tree) -> None:
        catalogue, served = self._store.catalogue, served_by(tree)
        table = catalogue.get(served.group, served.plural)
        if table is not None and table.definition == tree["spec"]:
            return
        table = catalogue.serve(served, self._store.version)
        table.definition = tree["spec"]
        table.reshape(served)

    def _take_away(self, definitions: Table, revision: Revision) -> None:
        tree = revision.tree()
        spec = tree["spec"]
        table = self._store.catalogue.get(spec["group"], spec["names"]["plural"])
        if table is not None and table.definition == spec:
            self._waiting[spec["group"], spec["names"]["plural"]] = revision.key.name
            table.closing = True
            for each in table:
                if each.metadata.deletion_timestamp is None:
                    self._store.delete(table, each, "Background")
            if len(table):
                return
            self._store.catalogue.withdraw(table)
            self._waiting.pop((spec["group"], spec["names"]["plural"]), None)
        metadata = tree["metadata"]
        kept = [each for each in metadata.get("finalizers", ()) if each != FINALIZER]
        if kept == metadata.get("finalizers"):
            return
        metadata["finalizers"] = kept
        if not kept:
            del metadata["finalizers"]
        if lifecycle.is_finished(metadata):
            self._store.remove(definitions, revision)
        else:
            self._store.write(definitions, tree, revision)
