"""The envelopes: watch events and lists. What they hold is cut out byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.engine.errors import MalformedAnswer
from dynamo_ctrl.engine.kubernetes import decode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=5)


@given(kind=st.sampled_from(decode.TYPES), content=OBJECTS, compact=st.booleans(), swapped=st.booleans())
def test_an_event_holds_its_object_however_the_server_spells_it(
    kind: str, content: dict[str, Any], compact: bool, swapped: bool
) -> None:
    fields = {"type": kind, "object": content}
    if swapped:
        fields = dict(reversed(fields.items()))
    line = json.dumps(fields, separators=(",", ":") if compact else None).encode()
    found = decode.event(line)
    assert (found.type, json.loads(found.object)) == (kind, content)


@pytest.mark.parametrize(
    "line",
    [
        b"<html>502</html>",
        b"{}",
        b"x",
        b'{"type":"ADDED"',
        b'{"type":"ADDED","object":',
        b'{"type":"NEWS","object":{}}',
        b'{"type":"ADDED","object":{}',
        b'{"type":"ADDED","object":"\xff"',
    ],
)
def test_a_line_that_is_no_event_is_a_malformed_answer(line: bytes) -> None:
    with pytest.raises(MalformedAnswer, match="not a watch event"):
        decode.event(line)


def test_a_fault_inside_an_object_is_left_to_whoever_decodes_it() -> None:
    assert decode.event(b'{"type":"ADDED","object":{"a":}}').object == b'{"a":}'


@given(
    items=st.lists(OBJECTS, max_size=6),
    version=st.text(max_size=6),
    token=st.text(max_size=6),
    left=st.none() | st.integers(0, 9),
)
def test_a_page_gives_each_item_as_bytes_of_its_own(
    items: list[dict[str, Any]], version: str, token: str, left: int | None
) -> None:
    metadata = {"resourceVersion": version, "continue": token, "remainingItemCount": left}
    page = decode.page(
        json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}).encode()
    )
    assert [json.loads(item) for item in page.items] == items
    assert all(type(item) is bytes for item in page.items)
    assert (page.resource_version, page.continue_token, page.remaining) == (version, token, left)


def test_an_item_does_not_keep_its_page_alive() -> None:
    import gc
    import sys

    body = json.dumps({"items": [{"n": n} for n in range(100)], "metadata": {}}).encode()
    before = sys.getrefcount(body)
    page = decode.page(body)
    gc.collect()
    assert sys.getrefcount(body) == before
    assert sys.getsizeof(page.items[0]) < 100


@pytest.mark.parametrize("text", [b'{"kind":"PodList","items":null}', b'{"kind":"PodList","metadata":{}}'])
def test_a_list_without_items_is_an_empty_page(text: bytes) -> None:
    assert list(decode.page(text).items) == []


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"<html>", b'{"items":3}', b'{"kind":"Table","items":[]}', b'{"kind":"Pod"}', b'{"items":[{]}']
)
def test_what_is_no_list_is_a_malformed_answer(text: bytes) -> None:
    with pytest.raises(MalformedAnswer, match="list"):
        decode.page(text)


def test_subresources_are_told_with_their_resource() -> None:
    pods = {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["get", "list"]}
    status = {"name": "pods/status", "kind": "Pod", "namespaced": True, "verbs": ["patch"]}
    found = decode.resources("", "v1", json.dumps({"resources": [pods, status]}).encode())
    assert [(r.plural, r.kind, r.namespaced, r.verbs, r.subresources) for r in found] == [
        ("pods", "Pod", True, ("get", "list"), ("status",))
    ]
