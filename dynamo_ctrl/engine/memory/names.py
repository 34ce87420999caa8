"""How names, labels and annotations must be spelled; the messages are the server's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dynamo_ctrl.engine.memory.field_error import FieldError, FieldReason, invalid_value

_LABEL_TEXT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL: Final = re.compile(_LABEL_TEXT)
_SUBDOMAIN_TEXT: Final = rf"{_LABEL_TEXT}(\.{_LABEL_TEXT})*"
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_TEXT)
_DNS_1035_TEXT: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS_1035: Final = re.compile(_DNS_1035_TEXT)
_QUALIFIED_TEXT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_QUALIFIED: Final = re.compile(_QUALIFIED_TEXT)
_VALUE_TEXT: Final = f"({_QUALIFIED_TEXT})?"
_VALUE: Final = re.compile(_VALUE_TEXT)
_CONFIG_KEY_TEXT: Final = "[-._a-zA-Z0-9]+"
_CONFIG_KEY: Final = re.compile(_CONFIG_KEY_TEXT)

MAX_SUBDOMAIN: Final = 253
MAX_LABEL: Final = 63
MAX_ANNOTATIONS: Final = 256 * 1024
"""Bytes of all annotation keys and values together."""

_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_TEXT}')"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    f"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_TEXT}')"
)
_DNS_1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
    f"end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_DNS_1035_TEXT}')"
)
_QUALIFIED_RULE: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED_TEXT}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    f"with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE_TEXT}')"
)
_CONFIG_KEY_RULE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    f"'key-name', regex used for validation is '{_CONFIG_KEY_TEXT}')"
)
_PATH_PARTS: Final = ("/", "%")

_RULES: Final[Mapping[str, tuple[re.Pattern[str], int, str]]] = {
    "subdomain": (_SUBDOMAIN, MAX_SUBDOMAIN, _SUBDOMAIN_RULE),
    "label": (_LABEL, MAX_LABEL, _LABEL_RULE),
    "dns-1035": (_DNS_1035, MAX_LABEL, _DNS_1035_RULE),
}


def _too_long(limit: int, unit: str = "bytes") -> str:
    return f"must be no more than {limit} {unit}"


def name_faults(name: str, rule: str) -> list[str]:
    """What is wrong with the name of an object; `rule` as `Served.name_rule`."""
    if rule == "path":
        if name in (".", ".."):
            return [f"may not be '{name}'"]
        return [f"may not contain '{part}'" for part in _PATH_PARTS if part in name]
    pattern, limit, text = _RULES[rule]
    faults = [_too_long(limit, "characters")] if len(name) > limit else []
    if rule == "label" and "." in name and _SUBDOMAIN.fullmatch(name):
        faults.append("must not contain dots")
    elif not pattern.fullmatch(name):
        faults.append(text)
    return faults


def qualified_faults(name: str) -> list[str]:
    """What is wrong with a qualified name (`prefix/name` or `name`)."""
    prefix, slash, part = name.rpartition("/")
    if "/" in prefix:
        return [f"a valid label key {_QUALIFIED_RULE.removeprefix('name part ')} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"]  # fmt: skip
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in name_faults(prefix, "subdomain")]
    if not part:
        faults.append("name part must be non-empty")
    elif len(part) > MAX_LABEL:
        faults.append(f"name part {_too_long(MAX_LABEL)}")
    if not _QUALIFIED.fullmatch(part):
        faults.append(_QUALIFIED_RULE)
    return faults


def label_errors(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Rules of label keys and values."""
    errors = []
    for key, value in labels.items():
        if not _QUALIFIED.fullmatch(key) or len(key) > MAX_LABEL:
            errors += [invalid_value(path, key, fault) for fault in qualified_faults(key)]
        if len(value) > MAX_LABEL:
            errors.append(invalid_value(path, value, _too_long(MAX_LABEL)))
        if not _VALUE.fullmatch(value):
            errors.append(invalid_value(path, value, _VALUE_RULE))
    return errors


def annotation_errors(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    """Rules of annotation keys, and of their total size."""
    errors = []
    for key in annotations:
        errors += [invalid_value(path, key, fault) for fault in qualified_faults(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS:
        reason: FieldReason = "FieldValueTooLong"
        errors.append(FieldError(path, reason, f"Too long: may not be more than {MAX_ANNOTATIONS} bytes"))
    return errors


def config_key_errors(content: Any, path: str) -> list[FieldError]:
    """Rules of the keys of a ConfigMap or a Secret."""
    if not isinstance(content, Mapping):
        return []
    return [
        invalid_value(f"{path}[{key}]", key, _CONFIG_KEY_RULE) for key in content if not _CONFIG_KEY.fullmatch(str(key))
    ]
