"""Label and field selectors, read as Kubernetes reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.objects.selector import (
    EVERYTHING,
    NOTHING,
    FieldSelector,
    InvalidSelector,
    LabelSelector,
    Operator,
    Requirement,
)


def requirement(key: str, operator: Operator, *values: str) -> Requirement:
    return Requirement(key, operator, values)


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", []),
        ("   ", []),
        ("a=b", [requirement("a", "=", "b")]),
        ("a==b", [requirement("a", "=", "b")]),
        (" a = b ", [requirement("a", "=", "b")]),
        ("a=", [requirement("a", "=", "")]),
        ("a!=b", [requirement("a", "!=", "b")]),
        ("a", [requirement("a", "exists")]),
        ("!a", [requirement("a", "!")]),
        ("! a", [requirement("a", "!")]),
        ("a in (b)", [requirement("a", "in", "b")]),
        ("a in (c, b,c)", [requirement("a", "in", "b", "c")]),
        ("a in (,b)", [requirement("a", "in", "", "b")]),
        ("a notin(b,c)", [requirement("a", "notin", "b", "c")]),
        ("in in (in)", [requirement("in", "in", "in")]),
        ("example.com/a_b.c=D-1_2.3", [requirement("example.com/a_b.c", "=", "D-1_2.3")]),
        ("a=b,c in (d,e),!f", [requirement("a", "=", "b"), requirement("c", "in", "d", "e"), requirement("f", "!")]),
        ("A" * 63, [requirement("A" * 63, "exists")]),
    ],
)
def test_the_query_form_is_read(text: str, requirements: list[Requirement]) -> None:
    assert list(LabelSelector.parse(text).requirements) == requirements


@pytest.mark.parametrize(
    "text",
    [
        ",", "a,", ",a", "a,,b", "a in", "a in ()", "a in (b", "a in b)", "a notin ()", "a in (b) c", "a=b=c", "=b", "a b",
        "a=b c", "-a", "a-", "a/b/c", "/a", "Up.Case/a", "a=-b", "a=b-", "A" * 64, "a=" + "b" * 64, "a in (b,-)", "!", "!!a",
        "a\n!=b,c\nd", "a>1", "é",
    ],
)  # fmt: skip
def test_what_kubernetes_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidSelector):
        LabelSelector.parse(text)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a=b", {"a": "c"}, False),
        ("a=b", {}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=b", {"a": "b"}, False),
        ("a!=b", {"a": "c"}, True),
        ("a!=b", {}, True),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": "b"}, False),
        ("a in (b,c)", {"a": "c"}, True),
        ("a in (b,c)", {"a": "d"}, False),
        ("a in (b,c)", {}, False),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a notin (b,c)", {"a": "d"}, True),
        ("a notin (b,c)", {}, True),
        ("a=b,c=d", {"a": "b"}, False),
        ("a=b,c=d", {"a": "b", "c": "d", "e": "f"}, True),
    ],
)
def test_matching(text: str, labels: dict[str, str], expected: bool) -> None:
    assert LabelSelector.parse(text).matches(labels) is expected


WORDS = st.from_regex(r"[a-z0-9]([-a-z0-9_.]{0,4}[a-z0-9])?", fullmatch=True)
REQUIREMENTS = st.one_of(
    st.builds(requirement, WORDS, st.sampled_from(["=", "!="]), st.one_of(WORDS, st.just(""))),
    st.builds(requirement, WORDS, st.sampled_from(["exists", "!"])),
    st.builds(
        lambda key, operator, values: Requirement(key, operator, tuple(sorted(values))),
        WORDS,
        st.sampled_from(["in", "notin"]),
        st.sets(WORDS, min_size=1, max_size=3),
    ),
)


@given(st.lists(REQUIREMENTS, max_size=4))
def test_what_is_written_is_read_back(requirements: list[Requirement]) -> None:
    selector = LabelSelector(tuple(requirements))
    assert LabelSelector.parse(str(selector)) == selector


def test_selectors_are_made_from_labels_texts_and_themselves() -> None:
    selector = LabelSelector.of({"b": "2", "a": "1"})
    assert str(selector) == "a=1,b=2"
    assert LabelSelector.of("a=1,b=2") == selector
    assert LabelSelector.of(selector) is selector
    assert LabelSelector.of(None) == EVERYTHING
    assert not EVERYTHING
    assert selector


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({}, ""),
        ({"matchLabels": {"a": "b"}}, "a=b"),
        ({"matchLabels": None, "matchExpressions": None}, ""),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["c", "b"]}]}, "a in (b,c)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, "a notin (b)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a"),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}], "matchLabels": {"b": "c"}}, "b=c,!a"),
    ],
)
def test_the_object_form_is_read(form: dict[str, Any], text: str) -> None:
    assert str(LabelSelector.from_object(form)) == text


def test_an_absent_object_form_matches_nothing_and_an_unknown_operator_is_refused() -> None:
    assert LabelSelector.from_object(None) == NOTHING
    assert not NOTHING.matches({})
    assert not NOTHING.matches({"": ""})
    with pytest.raises(InvalidSelector, match="unknown operator 'Near' for 'a'"):
        LabelSelector.from_object({"matchExpressions": [{"key": "a", "operator": "Near"}]})


@pytest.mark.parametrize("key", [{}, {"key": ""}, {"key": None}], ids=str)
def test_an_expression_without_a_key_is_refused(key: dict[str, object]) -> None:
    with pytest.raises(InvalidSelector, match="an expression with the operator 'Exists' has no key"):
        LabelSelector.from_object({"matchExpressions": [{**key, "operator": "Exists"}]})


OBJECT = {"metadata": {"name": "x", "namespace": "ns"}, "status": {"phase": "Running"}, "spec": {"flag": True, "n": 3}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("metadata.name=x", True),
        ("metadata.name==x", True),
        ("metadata.name!=x", False),
        ("metadata.name=x,status.phase!=Failed", True),
        ("spec.nodeName=", True),
        ("spec.nodeName!=", False),
        ("status.phase.deeper=", True),
        ("spec.flag=true", True),
        ("spec.n=3", True),
    ],
)
def test_field_selectors(text: str, expected: bool) -> None:
    selector = FieldSelector.parse(text)
    assert selector.matches(OBJECT) is expected
    assert FieldSelector.parse(str(selector)) == selector
    assert bool(selector) is bool(text)


@pytest.mark.parametrize("text", ["metadata.name", "=x"])
def test_field_selectors_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InvalidSelector, match="not a field selector"):
        FieldSelector.parse(text)
