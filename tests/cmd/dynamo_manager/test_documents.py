"""YAML as Kubernetes reads it: JSON values, every key once, one line for whatever is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynamo_manager import documents
from dynamo_manager.errors import UsageError

Write = Callable[..., Path]

BOMB = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))])
"""Twelve lines that stand for more values than a machine can hold."""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: 2026-01-01", {"a": "2026-01-01"}),
        ("a: 2026-01-01T00:00:00Z", {"a": "2026-01-01T00:00:00Z"}),
        ("1: x\ntrue: y\n1.5: z", {"1": "x", "true": "y", "1.5": "z"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("base: &b {x: 1}\nc: {<<: *b, y: 2}", {"base": {"x": 1}, "c": {"x": 1, "y": 2}}),
        ("a: 1.5e3", {"a": 1500.0}),
        ("", None),
    ],
)
def test_what_is_read(write: Write, text: str, value: Any) -> None:
    assert documents.read(write("f.yaml", text)) in ((value,), ()) if value is None else ((value,),)


def test_several_documents_come_in_order_and_cannot_be_changed(write: Write) -> None:
    first, empty, second = documents.read(write("f.yaml", "a: {b: 1}\n---\n---\n- 2\n"))
    assert (first, empty, second) == ({"a": {"b": 1}}, None, [2])
    with pytest.raises(TypeError):
        first["a"]["b"] = 2


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a: [1", "expected ',' or ']'"),
        ("a: 1\na: 2", "line 2, column 1: the key 'a' is there twice"),
        ("a:\n  b: 1\n  b: 2", "line 3, column 3: the key 'b' is there twice"),
        ("a: !!binary aGk=", "line 1, column 4: could not determine a constructor"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
        ("a: .inf", "line 1, column 4: JSON knows no such number"),
        ("a: .nan", "JSON knows no such number"),
        ("a: !!int x", "invalid literal for int()"),
        (BOMB, "line 1, column 1: its aliases stand for more than 1048576 characters"),
        (f"base: &b {{x: {'y' * 9999}}}\nall: [{'*b, ' * 200}]", "line 1, column 1: its aliases stand for more than"),
        ("? [1, 2]\n: x", "line 1, column 3: a key must be a text"),
        ("~: x", "a key must be a text"),
        ("\ta: 1", "line 1, column 1: "),
        ("a: \x00", "special characters are not allowed"),
    ],
)
def test_what_is_not_yaml_is_told_with_line_and_column(write: Write, text: str, rule: str) -> None:
    path = write("f.yaml", text)
    with pytest.raises(UsageError) as raised:
        documents.read(path)
    assert str(raised.value).startswith(f"{path} is not YAML: ")
    assert rule in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["&a [*a]", "[" * 1500])
def test_what_has_no_end_is_refused(write: Write, text: str) -> None:
    with pytest.raises(UsageError, match="nested too deep, or without end"):
        documents.read(write("f.yaml", text))


def test_a_file_that_is_not_there_or_not_text_is_told(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*gone: No such file"):
        documents.read(tmp_path / "gone")
    with pytest.raises(UsageError, match="Is a directory"):
        documents.read(tmp_path)
    with pytest.raises(UsageError, match=r"not UTF-8 text: .* at byte 3"):
        documents.read(write("f", b"a: \xff"))
