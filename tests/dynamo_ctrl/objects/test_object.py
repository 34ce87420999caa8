"""Objects: immutable at any depth, decoded late and once, and errors that name the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NODE, POD, SECRET, SERVICE, SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.codec import Codec
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class Size(BaseModel):
    model_config = ConfigDict(frozen=True)
    width: int = Field(ge=1)


class WidgetSpec(BaseModel):
    model_config = ConfigDict(frozen=True)
    sizes: tuple[Size, ...] = ()


class WidgetStatus(BaseModel):
    model_config = ConfigDict(frozen=True)
    ready: bool = False


class Widget(Object[WidgetSpec, WidgetStatus]):
    """A custom kind."""


class SpecialWidget(Widget):
    """Inherits the types of its sections."""


WIDGET = Kind(Widget, group="example.com", version="v1beta1", kind="Widget", plural="widgets")


def widget(generation: int = 1, **content: Any) -> Widget:
    metadata = {"name": "w", "namespace": "ns", "uid": "u", "generation": generation}
    return WIDGET.object({"metadata": metadata, **content})


POD_TEXT = msgspec.json.encode(
    {
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}],
            "finalizers": ["f"],
        },
        "spec": {
            "containers": [{"name": "c", "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}],
            "volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}],
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
)


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: setattr(pod, "raw", b""),
        lambda pod: setattr(pod, "metadata", None),
        lambda pod: setattr(pod.metadata, "name", "x"),
        lambda pod: pod.metadata.labels.__setitem__("a", "x"),
        lambda pod: pod.metadata.annotations.update(a="x"),
        lambda pod: setattr(pod.metadata.owner_references[0], "uid", "x"),
        lambda pod: pod.metadata.owner_references.append(1),
        lambda pod: pod.metadata.finalizers.append("x"),
        lambda pod: setattr(pod.spec, "node_name", "x"),
        lambda pod: setattr(pod.spec.containers[0], "image", "x"),
        lambda pod: pod.spec.containers.append(1),
        lambda pod: pod.spec.containers[0].env[0].value_from.__setitem__("a", 1),
        lambda pod: pod.spec.containers[0].env[0].value_from["fieldRef"].__setitem__("fieldPath", "y"),
        lambda pod: pod.spec.volumes[0]["emptyDir"].update(medium="x"),
        lambda pod: setattr(pod.status.conditions[0], "status", "False"),
    ],
)
def test_nothing_of_an_object_can_be_changed(change: Callable[[Any], None]) -> None:
    pod = POD.decode(POD_TEXT)
    spec, status = pod.spec, pod.status
    with pytest.raises((AttributeError, TypeError)):
        change(pod)
    assert pod.raw == POD_TEXT
    assert (POD.decode(POD_TEXT).spec, POD.decode(POD_TEXT).status) == (spec, status)
    assert POD.decode(POD_TEXT).metadata == pod.metadata


def test_kinds_without_models_hand_out_frozen_trees() -> None:
    node = NODE.object({"metadata": {"name": "n"}, "spec": {"taints": [{"key": "k"}]}})
    assert node.spec == {"taints": [{"key": "k"}]}
    assert node.status == {}
    with pytest.raises(TypeError):
        node.spec["taints"][0]["key"] = "x"
    with pytest.raises(TypeError):
        node.status["x"] = 1  # type: ignore[index]


def test_a_template_and_a_selector_are_frozen_too() -> None:
    deployment = DEPLOYMENT.object({"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": []}}}})
    with pytest.raises(TypeError):
        deployment.spec.template["spec"]["containers"].append({})
    service = SERVICE.object({"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}}})
    with pytest.raises(TypeError):
        service.spec.selector["a"] = "c"


def test_content_and_data_are_copies_of_the_reader() -> None:
    config_map = CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns"}, "data": {"k": "v"}})
    config_map.content()["data"]["k"] = "x"
    dict(config_map.data)["k"] = "x"
    assert config_map.data == {"k": "v"}


def test_spec_and_status_are_decoded_on_first_touch_and_once() -> None:
    decoded: list[str] = []

    class Counting(Codec[Any]):
        __slots__ = ()

        def decode(self, raw: bytes | msgspec.Raw | memoryview, *, what: str, path: str) -> Any:
            decoded.append(path)
            return super().decode(raw, what=what, path=path)

    kind = Kind(Widget, group="example.com", version="v1", kind="Widget", plural="widgets")
    kind.spec_codec, kind.status_codec = Counting(WidgetSpec), Counting(WidgetStatus)
    obj = kind.object({"metadata": {"name": "w"}, "spec": {"sizes": [{"width": 2}]}})
    assert decoded == []
    assert obj.spec.sizes == (Size(width=2),)
    assert obj.spec is obj.spec
    assert obj.status.ready is False
    assert decoded == ["spec", "status"]


def test_a_bad_status_does_not_keep_the_spec_from_being_read() -> None:
    obj = widget(spec={"sizes": [{"width": 2}]}, status={"ready": "maybe"})
    assert obj.spec.sizes[0].width == 2
    with pytest.raises(InvalidObject, match=r"Widget ns/w: status.ready: "):
        _ = obj.status


def test_absent_and_null_sections_read_as_their_defaults() -> None:
    for obj in (widget(), widget(spec=None, status=None)):
        assert obj.spec == WidgetSpec()
        assert obj.status == WidgetStatus()


@pytest.mark.parametrize(
    ("kind", "content", "path"),
    [
        (WIDGET, {"spec": {"sizes": [{"width": 1}, {"width": 0}]}}, "spec.sizes[1].width"),
        (WIDGET, {"spec": []}, "spec"),
        (POD, {"spec": {"containers": [{"name": "c"}, {"name": 5}]}}, "spec.containers[1].name"),
        (POD, {"spec": {"containers": [{}]}}, "spec.containers[0]"),
        (NODE, {"spec": "text"}, "spec"),
    ],
)
def test_errors_name_the_path_from_the_top(kind: Kind[Any], content: Mapping[str, Any], path: str) -> None:
    obj = kind.object({"metadata": {"name": "x", "namespace": "ns"}, **content})
    with pytest.raises(InvalidObject) as raised:
        _ = obj.spec
    assert raised.value.path == path
    assert raised.value.what == f"{kind.kind} ns/x"
    assert raised.value.rule


@pytest.mark.parametrize(
    ("raw", "path", "rule"),
    [
        (b"", "", "truncated"),
        (b"nope", "", "malformed"),
        (b"[]", "", "Expected `object`"),
        (b"{}", "", "metadata"),
        (b"\xff\xfe", "", ""),
        (b'{"metadata":{"name":"\xff"}}', "", "UTF-8"),
        (b'{"metadata":{"name":7}}', "metadata.name", "Expected `str`"),
        (b'{"metadata":{"creationTimestamp":"yesterday"}}', "metadata.creationTimestamp", ""),
        (b'{"metadata":{"ownerReferences":[{"kind":"X"}]}}', "metadata.ownerReferences[0]", "apiVersion"),
        (b'{"kind":"Pod","metadata":{}}', "kind", "expected example.com/v1beta1 Widget, found Pod"),
        (b'{"kind":"Widget","apiVersion":"other.org/v1","metadata":{}}', "kind", "found other.org/v1 Widget"),
    ],
)
def test_what_is_not_an_object_of_the_kind_is_refused(raw: bytes, path: str, rule: str) -> None:
    with pytest.raises(InvalidObject) as raised:
        WIDGET.decode(raw)
    assert raised.value.path == path
    assert rule in raised.value.rule


def test_another_version_of_the_same_group_is_the_same_kind() -> None:
    raw = b'{"kind":"Widget","apiVersion":"example.com/v2","metadata":{"name":"w"}}'
    assert WIDGET.decode(raw).content()["apiVersion"] == "example.com/v1beta1"


def test_content_that_cannot_be_written_as_json_is_refused() -> None:
    with pytest.raises(InvalidObject, match="cannot be written as JSON"):
        WIDGET.object({"metadata": {"name": "w"}, "spec": object()})


def test_metadata_has_no_holes() -> None:
    metadata = WIDGET.decode(b'{"metadata":{"creationTimestamp":null,"labels":null}}').metadata
    assert (metadata.name, metadata.generation, dict(metadata.labels), dict(metadata.annotations)) == ("", 0, {}, {})
    assert metadata.creation_timestamp is None
    assert metadata.controller is None
    assert metadata.managed_fields is msgspec.UNSET


def test_to_a_built_in_kind_a_null_is_an_absent_field() -> None:
    nulls = b'{"labels":null,"finalizers":null,"ownerReferences":null,"name":"x"}'
    status = b'{"conditions":null,"storedVersions":null}'
    new = CUSTOM_RESOURCE_DEFINITION.decode(b'{"metadata":%s,"status":%s}' % (nulls, status))
    assert (new.metadata.finalizers, new.metadata.owner_references, new.status.conditions) == ((), (), ())
    deployment = DEPLOYMENT.decode(b'{"metadata":{"name":"x"},"status":{"conditions":null,"replicas":"two"}}')
    with pytest.raises(InvalidObject, match=r"status\.replicas: Expected `int`, got `str`"):
        _ = deployment.status


def test_managed_fields_are_text() -> None:
    metadata = WIDGET.decode(b'{"metadata":{"managedFields":[{"manager":"m"}]}}').metadata
    assert isinstance(metadata.managed_fields, msgspec.Raw)
    assert bytes(metadata.managed_fields) == b'[{"manager":"m"}]'


def test_key_reference_and_text() -> None:
    obj = widget()
    assert obj.key == Key("ns", "w")
    assert obj.ref == WIDGET.ref("ns/w")
    assert str(obj.ref) == "Widget ns/w"
    assert repr(obj) == "<Widget ns/w uid=u rv=>"


def test_a_secret_does_not_show_its_data() -> None:
    secret = SECRET.object({"metadata": {"name": "s", "namespace": "ns"}, "data": {"k": "aHVudGVyMg=="}})
    assert secret.data == {"k": b"hunter2"}
    assert secret.type == "Opaque"
    assert "hunter2" not in repr(secret)
    assert "aHVudGVyMg" not in repr(secret)
    broken = SECRET.object({"metadata": {"name": "s", "namespace": "ns"}, "data": {"k": "!!!"}, "type": "t"})
    assert broken.type == "t"
    with pytest.raises(InvalidObject, match=r"Secret ns/s: data\.k: must be base64"):
        _ = broken.data


def test_further_fields_are_read_by_codecs() -> None:
    account = SERVICE_ACCOUNT.object({"metadata": {"name": "a"}, "imagePullSecrets": [{"name": "x"}, {}]})
    assert account.image_pull_secrets == ("x", "")
    assert (account.spec, account.status) == (None, None)


@pytest.mark.parametrize(
    ("generation", "spec", "inherited"),
    [(1, {"sizes": [{"width": 2}]}, True), (2, {"sizes": [{"width": 2}]}, False), (1, {"sizes": []}, False)],
)
def test_a_decoded_spec_is_inherited_only_with_the_same_generation_and_text(
    generation: int, spec: dict[str, Any], inherited: bool
) -> None:
    old, new = widget(spec={"sizes": [{"width": 2}]}), widget(generation, spec=spec, status={"ready": True})
    decoded = old.spec
    new.inherit(old)
    assert (new.spec is decoded) is inherited
    assert new.spec == WidgetSpec.model_validate(spec)


def test_a_spec_is_not_inherited_from_another_life() -> None:
    old = widget(spec={"sizes": []})
    decoded = old.spec
    new = WIDGET.object({"metadata": {"name": "w", "uid": "other", "generation": 1}, "spec": {"sizes": []}})
    new.inherit(old)
    assert new.spec is not decoded


def test_sections_are_found_through_the_class_hierarchy() -> None:
    assert SpecialWidget.sections() == (WidgetSpec, WidgetStatus)
    assert Object.sections() == (Mapping, Mapping)


def test_codecs_write_what_the_wire_calls_it_and_leave_out_what_is_absent() -> None:
    assert Codec(WidgetSpec).encode(WidgetSpec(sizes=(Size(width=3),))) == {"sizes": [{"width": 3}]}
    assert Codec(dict[str, int]).encode({"a": 1}) == {"a": 1}
    assert Codec(type(None)).decode(b"{}", what="x", path="spec") is None
