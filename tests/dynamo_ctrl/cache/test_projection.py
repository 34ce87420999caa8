"""managedFields are cut out of the bytes, and the cut never differs from the full decode; projections run before storing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.projection import cut_managed_fields, everything, without_managed_fields
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, ConfigMap
from dynamo_ctrl.objects.frozen import JsonMap

NASTY = st.sampled_from(
    [
        "",
        "a",
        "managedFields",
        '"managedFields":',
        '"managedFields":[]',
        "}],",
        '\\"managedFields\\":[',
        "]",
        "é\u2028",
        "\\",
    ]
)
TEXTS = st.one_of(NASTY, st.text(max_size=8))
NAMES = st.one_of(st.sampled_from(["managedFields", "metadata", "name"]), TEXTS)
TREES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


def content(managed: Any, place: int, extra: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """An object whose metadata has `managed` as its field number `place`, before or after other fields."""
    fields = {"name": "a", "namespace": "ns", **{f"x{key}": value for key, value in metadata.items()}}
    items = list(fields.items())
    items.insert(place % (len(items) + 1), ("managedFields", managed))
    body = {"metadata": dict(items), **{f"y{key}": value for key, value in extra.items()}}
    return dict(reversed(body.items())) if place % 2 else body


@given(
    managed=TREES,
    place=st.integers(0, 9),
    extra=st.dictionaries(NAMES, TREES, max_size=3),
    metadata=st.dictionaries(NAMES, TREES, max_size=3),
    nested=st.booleans(),
    indent=st.booleans(),
)
def test_the_cut_equals_the_full_decode(
    managed: Any, place: int, extra: dict[str, Any], metadata: dict[str, Any], nested: bool, indent: bool
) -> None:
    tree = content(managed, place, extra, metadata)
    if nested:  # the same field with the same content at another place, after it or before
        template = {"metadata": {"managedFields": managed}}
        tree = {**tree, "template": template} if place % 2 else {"template": template, **tree}
    raw = msgspec.json.encode(tree)
    if indent:
        raw = msgspec.json.format(raw, indent=2)
    obj = Intake(CONFIG_MAP).read(raw)
    assert obj is not None
    assert msgspec.json.decode(obj.raw) == without_managed_fields(tree)
    assert obj.metadata.managed_fields is msgspec.UNSET


def test_the_plain_case_is_cut_and_not_decoded() -> None:
    fields = b'[{"manager":"m","fieldsV1":{"f:spec":{"k:{\\"name\\":\\"x\\"}":{}}}}]'
    for before, after in (
        (b'"name":"a",', b""),
        (b"", b',"name":"a"'),
        (b'"name":"a",', b',"namespace":"ns"'),
        (b"", b""),
    ):
        raw = b'{"metadata":{%b"managedFields":%b%b},"big":1.50}' % (before, fields, after)
        cut = cut_managed_fields(raw, msgspec.Raw(fields))
        assert b"1.50" in cut, "the bytes are the server's own"
        assert msgspec.json.decode(cut) == without_managed_fields(msgspec.json.decode(raw))


def test_an_object_without_managed_fields_keeps_its_very_bytes() -> None:
    raw = b'{"metadata":{"name":"a","namespace":"ns"}}'
    obj = Intake(CONFIG_MAP).read(raw)
    assert obj is not None
    assert obj.raw is raw


def test_r4_5_what_is_kept_does_not_keep_the_servers_text_alive() -> None:
    raw = b'{"metadata":{"name":"a","namespace":"ns","managedFields":[{"manager":"m"}]}}'
    obj = Intake(CONFIG_MAP).read(raw)
    assert obj is not None
    assert obj.raw == b'{"metadata":{"name":"a","namespace":"ns"}}'
    assert type(obj.raw) is bytes


def test_everything_keeps_managed_fields() -> None:
    raw = b'{"metadata":{"name":"a","namespace":"ns","managedFields":[{"manager":"m"}]}}'
    obj = Intake(CONFIG_MAP, everything).read(raw)
    assert obj is not None
    assert obj.raw is raw
    assert everything(obj.content()) == obj.content()


def slim(pod: JsonMap) -> dict[str, Any]:
    return {"metadata": pod["metadata"], "status": {"phase": pod["status"]["phase"]}}


def test_a_projection_decides_what_is_kept() -> None:
    intake = Intake(POD, slim)
    raw = (
        b'{"metadata":{"name":"a","namespace":"ns"},"spec":{"nodeName":"n"},"status":{"phase":"Running","reason":"x"}}'
    )
    obj = intake.read(raw)
    assert obj is not None
    assert (obj.spec.node_name, obj.status.phase, obj.status.reason) == ("", "Running", "")
    again = intake.read(obj.raw)
    assert again is not None
    assert again.raw == obj.raw


def test_an_own_write_is_kept_as_the_watch_will_bring_it() -> None:
    pod = POD.object(
        {"metadata": {"name": "a", "namespace": "ns"}, "spec": {"nodeName": "n"}, "status": {"phase": "x"}}
    )
    own = Intake(POD, slim).own(pod)
    assert own is not None
    assert own.spec.node_name == ""
    assert Intake(POD).own(pod) is Intake(POD, everything).own(pod) is pod
    assert Intake(POD, slim).own(POD.object({"metadata": {"name": "a", "namespace": "ns"}})) is None


def test_a_projection_that_fails_skips_the_object_and_says_so(logs: list[Any]) -> None:
    intake = Intake(POD, slim)
    assert intake.read(b'{"metadata":{"name":"a","namespace":"ns"}}') is None
    assert intake.malformed == 1
    assert [(line["kind"], line["key"], line["error"]) for line in logs] == [
        ("pods", "ns/a", "pods: the projection failed: KeyError('status')")
    ]


@pytest.mark.parametrize(
    ("raw", "name", "why"),
    [
        (b"{", "an object without a readable key", "truncated"),
        (b"[]", "an object without a readable key", "Expected `object`, got `array`"),
        (b"\xff", "an object without a readable key", "malformed"),
        (b'{"metadata":{"namespace":"ns"}}', "an object without a readable key", "metadata.name: must not be empty"),
        (b'{"metadata":{"name":"a"}}', "a", "metadata.namespace: must not be empty"),
        (b'{"metadata":{"name":"a","namespace":"ns","labels":{"x":1}}}', "ns/a", "metadata.labels"),
        (b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"}}', "ns/a", "expected v1 ConfigMap"),
        (b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{}}', "an object without a readable key", "Table"),
    ],
)
def test_3_1_8_what_cannot_be_read_is_counted_and_logged_once_with_its_key(
    raw: bytes, name: str, why: str, logs: list[Any]
) -> None:
    intake: Intake[ConfigMap] = Intake(CONFIG_MAP)
    assert intake.read(raw) is None
    assert intake.read(raw) is None
    assert intake.malformed == 2
    (line,) = logs
    assert line["key"] == name
    assert why in line["error"]


def test_equal_namespaces_label_values_and_owners_are_kept_once() -> None:
    owner = {"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u", "controller": True}

    def read(name: str) -> ConfigMap:
        metadata = {"name": name, "namespace": "some-ns", "labels": {"app": "some-app"}, "ownerReferences": [owner]}
        obj = intake.read(msgspec.json.encode({"metadata": metadata}))
        assert obj is not None
        return obj

    intake: Intake[ConfigMap] = Intake(CONFIG_MAP)
    a, b = read("a").metadata, read("b").metadata
    assert a.namespace is b.namespace
    assert a.labels["app"] is b.labels["app"]
    assert a.owner_references is b.owner_references
