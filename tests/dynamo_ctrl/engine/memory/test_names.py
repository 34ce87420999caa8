"""Names, labels and annotations that a server refuses, with the beginning of what it says."""

from __future__ import annotations

import pytest

from dynamo_ctrl.engine.memory.names import (
    MAX_ANNOTATIONS,
    annotation_errors,
    config_key_errors,
    label_errors,
    name_faults,
    qualified_faults,
)


@pytest.mark.parametrize(
    ("name", "rule", "fault"),
    [
        ("a.b-c", "subdomain", None),
        ("A", "subdomain", "a lowercase RFC 1123 subdomain must consist of"),
        ("a" * 254, "subdomain", "must be no more than 253 characters"),
        ("a-b", "label", None),
        ("a.b", "label", "must not contain dots"),
        ("a.B", "label", "a lowercase RFC 1123 label must consist of"),
        ("1a", "dns-1035", "a DNS-1035 label must consist of"),
        ("system:node", "path", None),
        (".", "path", "may not be '.'"),
        ("..", "path", "may not be '..'"),
        ("a/b", "path", "may not contain '/'"),
        ("a%b", "path", "may not contain '%'"),
    ],
)
def test_the_name_of_an_object(name: str, rule: str, fault: str | None) -> None:
    faults = name_faults(name, rule)
    assert faults == [] if fault is None else [each for each in faults if each.startswith(fault)] == faults != []


@pytest.mark.parametrize(
    ("name", "beginnings"),
    [
        ("example.com/Name", []),
        ("Name", []),
        ("a/b/c", ["a valid label key must consist of"]),
        ("/name", ["prefix part must be non-empty"]),
        ("UP/name", ["prefix part a lowercase RFC 1123 subdomain"]),
        ("x/", ["name part must be non-empty", "name part must consist of"]),
        ("n" * 64, ["name part must be no more than 63 bytes"]),
        ("-n", ["name part must consist of"]),
    ],
)
def test_a_qualified_name(name: str, beginnings: list[str]) -> None:
    faults = qualified_faults(name)
    assert len(faults) == len(beginnings)
    for fault, beginning in zip(faults, beginnings, strict=True):
        assert fault.startswith(beginning)


def test_labels_and_annotations() -> None:
    assert label_errors({"example.com/a": "v", "b": ""}, "metadata.labels") == []
    bad = label_errors({"a": "v" * 64, "b": "not well", "-c": "v"}, "metadata.labels")
    assert [error.field for error in bad] == ["metadata.labels"] * 3
    assert ["63 bytes" in error.message for error in bad] == [True, False, False]
    assert annotation_errors({"Example.com/A": "anything at all"}, "metadata.annotations") == []
    (key,) = annotation_errors({"not well": ""}, "metadata.annotations")
    assert "name part must consist of" in key.message
    (size,) = annotation_errors({"a": "x" * MAX_ANNOTATIONS}, "metadata.annotations")
    assert (size.reason, size.message) == (
        "FieldValueTooLong", f"Too long: may not be more than {MAX_ANNOTATIONS} bytes",
    )  # fmt: skip


def test_keys_of_config_maps() -> None:
    assert config_key_errors({"a.txt": "", "B_1": ""}, "data") == []
    (error,) = config_key_errors({"a/b": ""}, "data")
    assert error.field == "data[a/b]"
    assert config_key_errors("no mapping", "data") == []
