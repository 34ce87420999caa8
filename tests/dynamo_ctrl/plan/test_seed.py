"""Filling a scratch cluster from a real one: what is copied, what is not, and that nothing is ever written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.port import AnyKind, ListOptions, Page
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, NODE, SECRET
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.plan.planning import plan_on, prepare
from dynamo_ctrl.plan.scratch import Scratch
from dynamo_ctrl.plan.seed import PAGE, Reader, Seed
from dynamo_ctrl.testing import RecordingEngine
from dynamo_ctrl.testing.widget import WIDGET, widget
from tests.dynamo_ctrl.plan.widgets import child, deploying


def content(core: Core, kind: Kind[Any], namespace: str = "") -> list[str]:
    return [str(kind.decode(raw).key) for raw in core.list(kind, ListOptions(namespace=namespace)).items]


@pytest.fixture
def real() -> Scratch:
    """The cluster that is read."""
    real = Scratch(seed=7)
    real.serve([WIDGET])
    return real


@pytest.fixture
def scratch() -> Scratch:
    return Scratch()


async def test_objects_are_copied_as_they_are(real: Scratch, scratch: Scratch) -> None:
    added = real.add(WIDGET.object({**widget(size=3).content(), "status": {"state": "ok"}}))
    await Seed(real.engine, scratch, ["ns"]).copy([watching(WIDGET)])
    copied = WIDGET.decode(scratch.core.get(WIDGET, Key("ns", "w")))
    theirs, ours = added.content(), copied.content()
    assert theirs["metadata"].pop("resourceVersion") != ours["metadata"].pop("resourceVersion") or theirs == ours
    assert ours == theirs


async def test_only_what_is_watched_in_the_namespaces_is_copied(real: Scratch, scratch: Scratch) -> None:
    for namespace in ("ns", "other"):
        real.add(widget(namespace=namespace))
        real.add(SECRET.object({"metadata": {"name": "s", "namespace": namespace}}))
    real.core.create(NODE, "", NODE.object({"metadata": {"name": "n"}}).raw)
    copied = await Seed(real.engine, scratch, ["ns"]).copy([watching(WIDGET).reading(NODE)])
    assert copied == 2
    assert content(scratch.core, WIDGET) == ["ns/w"]
    assert content(scratch.core, NODE) == ["n"]
    assert content(scratch.core, SECRET) == []


async def test_every_page_is_read(real: Scratch, scratch: Scratch) -> None:
    for number in range(PAGE + 1):
        real.add(child(CONFIG_MAP, f"c{number:04}"))
    assert await Seed(real.engine, scratch, ["ns"]).copy([watching(CONFIG_MAP)]) == PAGE + 1


@pytest.mark.parametrize(
    ("selectors", "expected"), [(("app=a",), ["a"]), (("app=a", "app=b"), ["a", "b"]), (("app=a", ""), ["a", "b", "c"])]
)
async def test_selectors_say_what_is_copied(
    real: Scratch, scratch: Scratch, selectors: Iterable[str], expected: list[str]
) -> None:
    for name in ("a", "b", "c"):
        labels = {"app": name}
        real.add(CONFIG_MAP.object({"metadata": {"name": name, "namespace": "ns", "labels": labels}}))
    watches = watching(WIDGET)
    for selector in selectors:
        watches = watches.reading(CONFIG_MAP, label_selector=selector)
    await Seed(real.engine, scratch, ["ns"]).copy([watches])
    assert content(scratch.core, CONFIG_MAP) == [f"ns/{name}" for name in expected]


async def test_an_optional_kind_is_there_only_if_the_cluster_serves_it(real: Scratch) -> None:
    watches = watching(DEPLOYMENT).reading(WIDGET, optional=True)
    for source, served in ((real, True), (Scratch(), False)):
        scratch = Scratch()
        await Seed(source.engine, scratch, ["ns"]).copy([watches])
        assert scratch.core.serves(WIDGET) is served


async def test_a_namespace_that_the_cluster_lacks_is_lacking_here(real: Scratch, scratch: Scratch) -> None:
    real.namespace("ns")
    await Seed(real.engine, scratch, ["ns", "gone"]).copy([watching(WIDGET)])
    names = content(scratch.core, NAMESPACE)
    assert "ns" in names
    assert "gone" not in names


async def test_single_objects_can_be_copied(real: Scratch, scratch: Scratch) -> None:
    real.add(child(CONFIG_MAP, "c"))
    seed = Seed(real.engine, scratch, ["ns"])
    assert await seed.copy_object(CONFIG_MAP, Key("ns", "c"))
    assert not await seed.copy_object(CONFIG_MAP, Key("ns", "d"))
    assert content(scratch.core, CONFIG_MAP) == ["ns/c"]


class Strict:
    """A cluster in which some kinds are forbidden."""

    def __init__(self, inner: Reader, *kinds: Kind[Any]) -> None:
        self._inner = inner
        self._kinds = kinds
        self.discover = inner.discover

    def _check(self, kind: AnyKind) -> None:
        if kind in self._kinds:
            raise Forbidden(f"{kind} is forbidden")

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        self._check(kind)
        return await self._inner.list(kind, options)

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        self._check(kind)
        return await self._inner.get(kind, key, subresource=subresource)


async def test_a_missing_right_is_told_with_the_rule_that_grants_it(real: Scratch, scratch: Scratch) -> None:
    seed = Seed(Strict(real.engine, SECRET), scratch, ["ns"])
    rule = r'apiGroups: \[""\], resources: \["secrets"\]'
    with pytest.raises(SourceUnavailable, match=rule):
        await seed.copy([watching(WIDGET).reading(SECRET)])
    with pytest.raises(SourceUnavailable, match=rule):
        await seed.copy_object(SECRET, Key("ns", "s"))


async def test_it_takes_no_right_on_namespaces(real: Scratch, scratch: Scratch) -> None:
    real.add(widget())
    await Seed(Strict(real.engine, NAMESPACE), scratch, ["ns", "believed"]).copy([watching(WIDGET)])
    assert content(scratch.core, WIDGET) == ["ns/w"]
    assert "believed" in content(scratch.core, NAMESPACE)


async def test_a_plan_of_a_cluster_writes_nothing_to_it(real: Scratch, scratch: Scratch) -> None:
    """The proof: everything that writes goes through an engine that takes it down, and the cluster's version stands still."""
    real.add(widget(size=3))
    real.add(child(DEPLOYMENT, "other", spec=deployment_spec()))
    recording = RecordingEngine(real.engine)
    before = real.core.version
    program = deploying()
    prepare(scratch, [program])
    await Seed(recording, scratch, ["ns"]).copy([program.watches])
    found = await plan_on(scratch, [program])
    assert [str(write.object) for write in found.writes] == ["Deployment ns/w"]
    assert recording.writes == []
    assert real.core.version == before


def deployment_spec() -> dict[str, Any]:
    labels = {"app": "other"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    return {"selector": {"matchLabels": labels}, "template": template}


async def test_an_owner_that_was_not_copied_does_not_count_as_gone(real: Scratch, scratch: Scratch) -> None:
    owner = real.add(REPLICA_SET.object({"metadata": {"name": "r", "namespace": "ns"}, "spec": deployment_spec()}))
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": owner.metadata.uid}
    real.add(CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns", "ownerReferences": [reference]}}))
    program = deploying()
    prepare(scratch, [program])
    await Seed(real.engine, scratch, ["ns"]).copy([program.watches])
    assert (await plan_on(scratch, [program])).empty
    assert content(scratch.core, CONFIG_MAP) == ["ns/c"]


async def test_a_kind_of_cluster_scope_that_nobody_needs_may_be_forbidden(real: Scratch, scratch: Scratch) -> None:
    real.add(widget())
    seed = Seed(Strict(real.engine, NODE), scratch, ["ns"])
    assert await seed.copy([watching(WIDGET).reading(NODE, optional=True)]) == 1
    with pytest.raises(SourceUnavailable):
        await seed.copy([watching(WIDGET).reading(NODE, optional=True), watching(WIDGET).reading(NODE)])
