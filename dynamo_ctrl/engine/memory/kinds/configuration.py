"""ConfigMaps and Secrets: keys, encoding, and immutability. RBAC: what a binding may not change."""

from __future__ import annotations

import base64
from typing import Final

from dynamo_ctrl.engine.memory import names
from dynamo_ctrl.engine.memory.field_error import FieldError, forbidden_field, invalid_value
from dynamo_ctrl.engine.memory.kinds.filling import drop_empty, fill, items, section
from dynamo_ctrl.engine.memory.served import Strategy, Tree

_RBAC: Final = "rbac.authorization.k8s.io"
_FROZEN: Final = "field is immutable when `immutable` is set"


def _config_map(tree: Tree) -> None:
    drop_empty(tree, "data", "binaryData")


def _secret(tree: Tree) -> None:
    plain = tree.pop("stringData", None)
    if plain:
        data = section(tree, "data")
        for key, text in plain.items():
            data[key] = base64.b64encode(text.encode()).decode()
    fill(tree, type="Opaque")
    drop_empty(tree, "data")


def _content_errors(new: Tree, old: Tree | None, sections: tuple[str, ...]) -> list[FieldError]:
    errors = [error for name in sections for error in names.config_key_errors(new.get(name), name)]
    if old is not None and old.get("immutable"):
        if not new.get("immutable"):
            errors.append(forbidden_field("immutable", _FROZEN))
        errors += [forbidden_field(name, _FROZEN) for name in sections if new.get(name) != old.get(name)]
    return errors


def _config_map_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    return _content_errors(new, old, ("data", "binaryData"))


def _secret_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    errors = _content_errors(new, old, ("data",))
    if old is not None and new["type"] != old["type"]:
        errors.append(invalid_value("type", new["type"], "field is immutable"))
    return errors


def _role(tree: Tree) -> None:
    if not tree.get("rules"):
        tree["rules"] = None


def _role_binding(tree: Tree) -> None:
    fill(section(tree, "roleRef"), apiGroup=_RBAC)
    for subject in items(tree, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            fill(subject, apiGroup=_RBAC)
        drop_empty(subject, "apiGroup")


def _binding_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    if old is not None and new["roleRef"] != old["roleRef"]:
        told = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
        reference = {go_name: new["roleRef"].get(name, "") for go_name, name in told.items()}
        return [invalid_value("roleRef", reference, "field is immutable")]
    return []


CONFIG_MAP: Final = Strategy(admit=_config_map, validate=_config_map_errors)
SECRET: Final = Strategy(admit=_secret, validate=_secret_errors)
ROLE: Final = Strategy(admit=_role)
ROLE_BINDING: Final = Strategy(admit=_role_binding, validate=_binding_errors)
