"""The CustomResourceDefinition document of a kind whose spec and status are pydantic models.

Contract: `definition` gives plain JSON data that a kube-apiserver establishes; `to_yaml` writes it byte for byte the same
on every machine, so that a file in the repository can be compared with the models. A spec or status that is a frozen JSON tree
keeps whatever it is given, and one that is `None` is not there; any other type that is no pydantic model is refused, since the
server would silently drop what the definition does not describe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_origin

import yaml
from pydantic import BaseModel

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.schema.marks import Rule
from dynamo_ctrl.objects.schema.structural import structural
from dynamo_ctrl.objects.schema.union import Unrepresentable

ColumnType = Literal["boolean", "date", "integer", "number", "string"]

_DESCRIPTIONS = {
    "apiVersion": "Version of the schema of this object.",
    "kind": "REST resource that this object represents.",
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of `kubectl get`. Columns with a priority above 0 show with `-o wide` only."""

    name: str
    type: ColumnType
    path: str
    description: str = ""
    priority: int = 0

    def document(self) -> dict[str, Any]:
        """As the CRD spells it."""
        out: dict[str, Any] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        if self.description:
            out["description"] = self.description
        if self.priority:
            out["priority"] = self.priority
        return out


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The scale subresource, by JSON paths such as `.spec.replicas`."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""

    def document(self) -> dict[str, Any]:
        """As the CRD spells it."""
        out = {"specReplicasPath": self.spec_replicas, "statusReplicasPath": self.status_replicas}
        if self.selector:
            out["labelSelectorPath"] = self.selector
        return out


@dataclass(frozen=True, kw_only=True)
class CustomResource:
    """One version of a custom resource: the kind, and what only its CRD says.

    Attributes:
        kind: its `Object` class names the models of spec and status.
        description: one sentence for `kubectl explain`.
        columns: printer columns.
        scale: the scale subresource, if it has one.
        rules: CEL rules on the whole object (only `metadata.name` and `metadata.generateName` are readable besides the sections).
        categories: groups such as `all`.
        selectable: JSON paths that field selectors may use.
        spec_required: whether an object without `spec` is refused.
        served: whether the server answers in this version.
        storage: whether objects are stored in it; exactly one version is.
    """

    kind: Kind[Any]
    description: str
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    rules: tuple[Rule, ...] = ()
    categories: tuple[str, ...] = ()
    selectable: tuple[str, ...] = ()
    spec_required: bool = False
    served: bool = True
    storage: bool = True

    def schema(self) -> dict[str, Any]:
        """The structural schema of the whole object. Raises `Unrepresentable`."""
        properties: dict[str, Any] = {
            name: {"type": "string", "description": text} for name, text in _DESCRIPTIONS.items()
        }
        properties["metadata"] = {"type": "object"}
        for name, model in zip(("spec", "status"), self.kind.model.sections(), strict=True):
            if model is not NoneType:
                properties[name] = self._section(name, model)
        schema: dict[str, Any] = {"type": "object", "description": self.description, "properties": properties}
        if self.spec_required:
            schema["required"] = ["spec"]
        if self.rules:
            schema["x-kubernetes-validations"] = [
                entry for rule in self.rules for entry in rule.keys()["x-kubernetes-validations"]
            ]
        return schema

    def _section(self, name: str, model: type) -> dict[str, Any]:
        plain = get_origin(model) or model
        if issubclass(plain, BaseModel):
            return structural(plain, path=name)
        if issubclass(plain, Mapping):
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        raise Unrepresentable(
            f"{self.kind}: {name}",
            f"{plain.__name__} is no pydantic model: a definition is made of pydantic models "
            "(or of a Mapping, which keeps everything)",
        )

    def version(self) -> dict[str, Any]:
        """This version's entry in the CRD. Raises `Unrepresentable`."""
        subresources: dict[str, Any] = {}
        if self.kind.status_subresource:
            subresources["status"] = {}
        if self.scale:
            subresources["scale"] = self.scale.document()
        out: dict[str, Any] = {
            "name": self.kind.version,
            "served": self.served,
            "storage": self.storage,
            "schema": {"openAPIV3Schema": self.schema()},
        }
        if subresources:
            out["subresources"] = subresources
        if self.columns:
            out["additionalPrinterColumns"] = [column.document() for column in self.columns]
        if self.selectable:
            out["selectableFields"] = [{"jsonPath": path} for path in self.selectable]
        return out


def definition(*versions: CustomResource) -> dict[str, Any]:
    """The CRD of one kind, with one or more versions.

    Raises:
        ValueError: no version, several kinds, or not exactly one storage version.
        Unrepresentable: a model says something that a CRD cannot hold.
    """
    if len({(v.kind.group, v.kind.kind, v.kind.plural, v.kind.namespaced) for v in versions}) != 1:
        raise ValueError("a definition has one group, kind, plural and scope")
    if sum(v.storage for v in versions) != 1:
        raise ValueError("exactly one version of a definition is the storage version")
    kind = versions[0].kind
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
    }
    if kind.short:
        names["shortNames"] = list(kind.short)
    if categories := sorted({category for v in versions for category in v.categories}):
        names["categories"] = categories
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [v.version() for v in versions],
        },
    }


def filename(document: dict[str, Any]) -> str:
    """The file that holds a CRD, as `nvidia.com_dynamographdeployments.yaml`."""
    return f"{document['spec']['group']}_{document['spec']['names']['plural']}.yaml"


class _Dumper(yaml.SafeDumper):
    """Writes equal parts in full instead of by anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def to_yaml(documents: Sequence[dict[str, Any]]) -> str:
    """The documents as YAML: keys sorted, block style, no anchors, one `---` between documents."""
    return yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=True, default_flow_style=False, width=120, allow_unicode=True
    )
