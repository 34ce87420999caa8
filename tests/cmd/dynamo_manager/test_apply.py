"""Applying manifests: created or merged, definitions first, and every refusal is one line."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dynamo_ctrl.engine.errors import Forbidden, ServerError, Unreachable
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.frozen import freeze
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.testing import FaultyEngine, LoopClock
from dynamo_ctrl.testing.widget import WIDGET
from dynamo_manager.apply import Applier
from dynamo_manager.errors import UsageError
from dynamo_manager.manifests import Manifest


def manifest(content: dict[str, Any]) -> Manifest:
    return Manifest("f.yaml", freeze(content))


def applier(core: Core) -> Applier:
    return Applier(MemoryEngine(core), namespace="default", known=(), sleep=asyncio.sleep)


async def test_what_is_missing_is_created_and_what_is_there_is_merged(plain: Any) -> None:
    core = Core(clock=LoopClock())
    (first,) = await applier(core).apply([manifest(plain("v1", "ConfigMap", "a", data={"x": "1", "y": "1"}))])
    (second,) = await applier(core).apply([manifest(plain("v1", "ConfigMap", "a", data={"x": "2"}))])
    assert first.metadata.uid == second.metadata.uid
    assert second.key == Key("default", "a")
    assert CONFIG_MAP.decode(core.get(CONFIG_MAP, Key("default", "a"))).data == {"x": "2", "y": "1"}


async def test_definitions_come_first_and_are_waited_for(plain: Any, widgets: Any) -> None:
    core = Core(clock=LoopClock())
    done = await applier(core).apply(
        [manifest(plain("example.com/v1", "Widget", "w", spec={"size": 2})), manifest(widgets)]
    )
    assert [str(obj.ref) for obj in done] == [
        "CustomResourceDefinition widgets.example.com",
        "Widget default/w",
    ]


async def test_kinds_of_cluster_scope_have_no_namespace(plain: Any) -> None:
    core = Core(clock=LoopClock())
    (made,) = await applier(core).apply([manifest(plain("v1", "Namespace", "n"))])
    assert made.key == Key("", "n")
    assert core.get(NAMESPACE, Key("", "n"))


async def test_status_in_a_manifest_is_not_ours_to_set(plain: Any, widgets: Any) -> None:
    core = Core(clock=LoopClock())
    applying = applier(core)
    widget = manifest(plain("example.com/v1", "Widget", "w", spec={}, status={"state": "mine"}))
    await applying.apply([manifest(widgets), widget])
    await applying.apply([widget])
    assert "status" not in WIDGET.decode(core.get(WIDGET, Key("default", "w"))).content()


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (("v1", "Nothing", "a"), "f.yaml: Nothing a: the server knows no Nothing in v1"),
        (("example.com/v1", "Widget", "a"), "knows no Widget in example.com/v1; correct apiVersion and kind, or apply"),
        (("example.com/v1", "Gadget", "a"), "knows no Gadget in example.com/v1"),
        (("a/b/c", "X", "a"), "knows no X in a/b/c"),
    ],
)
async def test_an_unknown_kind_is_told_with_what_to_do(plain: Any, content: Any, rule: str) -> None:
    with pytest.raises(UsageError) as raised:
        await applier(Core(clock=LoopClock())).apply([manifest(plain(*content))])
    assert rule in str(raised.value)


async def test_another_version_of_a_known_kind_is_told_with_the_one_that_is_meant(plain: Any, widgets: Any) -> None:
    core = Core(clock=LoopClock())
    applying = Applier(MemoryEngine(core), namespace="default", known=(WIDGET,), sleep=asyncio.sleep)
    await applying.apply([manifest(widgets)])
    for other in ("v1alpha1", "v2"):
        with pytest.raises(UsageError) as raised:
            await applying.apply([manifest(plain(f"example.com/{other}", "Widget", "w", spec={}))])
        assert str(raised.value) == (
            f"f.yaml: Widget w: the server knows no Widget in example.com/{other}; "
            "apiVersion: must be example.com/v1, and the spec written for it"
        )
    with pytest.raises(UsageError, match="knows no Widget in v1; correct apiVersion and kind"):
        await applying.apply([manifest(plain("v1", "Widget", "w"))])
    assert not core.list(WIDGET, ListOptions()).items


async def test_an_object_that_breaks_a_rule_is_told_with_the_field(plain: Any, widgets: Any) -> None:
    core = Core(clock=LoopClock())
    with pytest.raises(UsageError) as raised:
        await applier(core).apply(
            [manifest(widgets), manifest(plain("example.com/v1", "Widget", "w", spec={"size": -1}))]
        )
    assert str(raised.value).startswith('f.yaml: Widget.example.com "w" is invalid: spec.size: Invalid value: -1')
    with pytest.raises(UsageError, match=r'f\.yaml: ConfigMap "A" is invalid: metadata\.name'):
        await applier(core).apply([manifest(plain("v1", "ConfigMap", "A"))])


async def test_a_namespace_that_is_not_there_is_told(plain: Any) -> None:
    content = plain("v1", "ConfigMap", "a")
    content["metadata"]["namespace"] = "nowhere"
    with pytest.raises(UsageError, match=r'f\.yaml: ConfigMap a: namespaces "nowhere" not found'):
        await applier(Core(clock=LoopClock())).apply([manifest(content)])


async def test_a_missing_right_is_a_refusal_and_a_broken_server_is_none(plain: Any) -> None:
    engine = FaultyEngine(MemoryEngine(Core(clock=LoopClock())))
    applying = Applier(engine, namespace="default", known=(), sleep=asyncio.sleep)
    engine.fail(Forbidden("cannot create configmaps"), "create")
    with pytest.raises(UsageError, match=r"f\.yaml: ConfigMap a: cannot create configmaps"):
        await applying.apply([manifest(plain("v1", "ConfigMap", "a"))])
    for error in (ServerError("broken"), Unreachable("gone")):
        engine.fail(error, "create")
        with pytest.raises(type(error)):
            await applying.apply([manifest(plain("v1", "ConfigMap", "a"))])


class Slow(MemoryEngine):
    """A server that establishes no definition."""

    def __init__(self, core: Core, condition: dict[str, Any]) -> None:
        super().__init__(core)
        self.condition = condition

    async def get(self, kind: Any, key: Key, *, subresource: str = "") -> bytes:
        found = kind.decode(await super().get(kind, key, subresource=subresource)).content()
        if kind == CUSTOM_RESOURCE_DEFINITION:
            found["status"] = {"conditions": [self.condition]}
        raw: bytes = kind.object(found).raw
        return raw


@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        ({"type": "Established", "status": "False"}, "widgets.example.com: the server did not establish"),
        ({"type": "NamesAccepted", "status": "False", "message": '"Widget" is taken'}, '"Widget" is taken'),
    ],
)
async def test_a_definition_that_is_not_served_is_told(widgets: Any, condition: dict[str, Any], rule: str) -> None:
    applying = Applier(Slow(Core(clock=LoopClock()), condition), namespace="default", known=(), sleep=asyncio.sleep)
    with pytest.raises(UsageError, match=rule):
        await applying.apply([manifest(widgets)])


async def test_a_typed_kind_that_is_not_served_is_told_with_its_remedy(plain: Any) -> None:
    engine = MemoryEngine(Core(clock=LoopClock()))
    applying = Applier(
        engine, namespace="default", known=[WIDGET], sleep=asyncio.sleep, remedy=lambda kind: f"install {kind}"
    )
    with pytest.raises(UsageError) as raised:
        await applying.apply([manifest(plain("example.com/v1", "Widget", "w"))])
    assert str(raised.value) == (
        "f.yaml: Widget w: the server does not serve example.com/v1 widgets; install widgets.example.com"
    )


@pytest.mark.parametrize("there", [False, True], ids=["create", "patch"])
async def test_a_field_that_the_kind_does_not_have_is_refused_by_its_path_alone(
    plain: Any, widgets: Any, there: bool
) -> None:
    core = Core(clock=LoopClock())
    applying = applier(core)
    await applying.apply([manifest(widgets)])
    if there:
        await applying.apply([manifest(plain("example.com/v1", "Widget", "w", spec={"size": 2}))])
    with pytest.raises(UsageError) as caught:
        await applying.apply([manifest(plain("example.com/v1", "Widget", "w", spec={"size": 3, "sice": 4}))])
    assert str(caught.value) == 'f.yaml: Widget w: unknown field "spec.sice"'
