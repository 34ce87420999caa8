"""What programs read in a plan is what they would read from a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.plan.follower import Followers
from dynamo_ctrl.plan.scratch import Scratch
from dynamo_ctrl.plan.view import ScratchView
from dynamo_ctrl.testing.widget import WIDGET, widget
from tests.dynamo_ctrl.plan.widgets import child


def metadata_only(content: JsonMap) -> dict[str, Any]:
    return {name: content[name] for name in ("apiVersion", "kind", "metadata")}


def sizes(obj: Any) -> tuple[str, ...]:
    return (str(obj.spec.size),)


BY_SIZE = Index("size", WIDGET, sizes)
WATCHES = (
    watching(WIDGET)
    .owning(CONFIG_MAP, label_selector="app=web")
    .reading(SECRET, project=metadata_only)
    .reading(DEPLOYMENT, optional=True)
    .indexing(BY_SIZE)
)


@pytest.fixture
def scratch() -> Scratch:
    scratch = Scratch()
    scratch.serve([WIDGET])
    return scratch


def view(scratch: Scratch, watches: Watches[Any] = WATCHES) -> ScratchView:
    return ScratchView(scratch.core, watches, Followers(scratch.core))


def test_reads_see_every_write_at_once(scratch: Scratch) -> None:
    reads = view(scratch)
    assert reads.list(WIDGET) == []
    scratch.add(widget("a", size=3))
    assert [obj.key.name for obj in reads.list(WIDGET)] == ["a"]
    assert [obj.key.name for obj in reads.by_index(BY_SIZE, "3")] == ["a"]
    scratch.core.delete(WIDGET, widget("a").key)
    assert reads.get(WIDGET, "ns/a") is None
    assert reads.by_index(BY_SIZE, "3") == []


def test_what_has_not_changed_stays_the_same_object(scratch: Scratch) -> None:
    reads = view(scratch)
    scratch.add(widget("a"))
    first = reads.get(WIDGET, "ns/a")
    scratch.add(widget("b"))
    assert reads.get(WIDGET, "ns/a") is first


def test_a_spec_that_has_not_changed_stays_decoded(scratch: Scratch) -> None:
    reads = view(scratch)
    scratch.add(widget("a"))
    before = reads.get(WIDGET, "ns/a")
    assert before is not None
    spec = before.spec
    scratch.core.patch(WIDGET, before.key, Patch.merge({"status": {"state": "ok"}}), subresource="status")
    after = reads.get(WIDGET, "ns/a")
    assert after is not None
    assert after.status.state == "ok"
    assert after.spec is spec


def test_selectors_and_projections_are_those_that_were_declared(scratch: Scratch) -> None:
    reads = view(scratch)
    scratch.add(CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns", "labels": {"app": "web"}}}))
    scratch.add(child(CONFIG_MAP, "other"))
    scratch.add(child(SECRET, "s", data={"a": "YQ=="}))
    assert [obj.key.name for obj in reads.list(CONFIG_MAP)] == ["c"]
    found = reads.get(SECRET, "ns/s")
    assert found is not None
    assert found.data == {}


@pytest.mark.parametrize(
    "read",
    [
        lambda reads: reads.get(DEPLOYMENT, "ns/d"),
        lambda reads: reads.list(DEPLOYMENT),
        lambda reads: reads.owned(DEPLOYMENT, widget()),
    ],
)
def test_what_was_not_declared_cannot_be_read(scratch: Scratch, read: Callable[[ScratchView], Any]) -> None:
    with pytest.raises(SourceUnavailable, match=r"declare it with reading\(\)"):
        read(view(scratch, watching(WIDGET)))


def test_an_index_that_was_not_declared_cannot_be_read(scratch: Scratch) -> None:
    with pytest.raises(SourceUnavailable, match=r"declare it with indexing\(\)"):
        view(scratch, watching(WIDGET)).by_index(BY_SIZE, "1")


def test_an_absent_kind_reads_as_empty_only_if_it_is_optional() -> None:
    bare = Scratch()
    optional = view(bare, watching(DEPLOYMENT).reading(WIDGET, optional=True).indexing(BY_SIZE))
    assert optional.get(WIDGET, "ns/w") is None
    assert list(optional.list(WIDGET)) == list(optional.by_index(BY_SIZE, "1")) == []
    assert not optional.serves(WIDGET)
    with pytest.raises(SourceUnavailable, match="does not serve"):
        view(bare, watching(WIDGET)).list(WIDGET)


def test_one_that_is_needed_somewhere_is_needed(scratch: Scratch) -> None:
    watches = watching(DEPLOYMENT).reading(WIDGET, optional=True).owning(WIDGET)
    with pytest.raises(SourceUnavailable):
        view(Scratch(), watches).list(WIDGET)
    assert view(scratch, watches).serves(WIDGET)
    assert not view(scratch, watches).serves(SECRET)


def test_a_reader_that_falls_behind_reads_everything_anew(scratch: Scratch) -> None:
    core = Core(clock=scratch.clock, window=2)
    core.register(WIDGET)
    reads = ScratchView(core, watching(CONFIG_MAP), Followers(core))
    assert reads.list(CONFIG_MAP) == []
    for number in range(20):
        core.create(CONFIG_MAP, "default", CONFIG_MAP.object({"metadata": {"name": f"c{number:02}"}}).raw)
    assert len(reads.list(CONFIG_MAP)) == 20


def test_an_index_can_be_added_to_what_others_read_already(scratch: Scratch) -> None:
    followers = Followers(scratch.core)
    plain = ScratchView(scratch.core, watching(WIDGET), followers)
    scratch.add(widget("a", size=3))
    assert len(plain.list(WIDGET)) == 1
    indexed = ScratchView(scratch.core, watching(WIDGET).indexing(BY_SIZE), followers)
    assert [obj.key.name for obj in indexed.by_index(BY_SIZE, "3")] == ["a"]
    other = Index("size", WIDGET, lambda obj: ())
    with pytest.raises(ValueError, match="another index"):
        ScratchView(scratch.core, watching(WIDGET).indexing(other), followers)
