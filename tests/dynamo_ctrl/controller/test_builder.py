"""`watching(...)`: a value that says what wakes a program and what it reads."""

from __future__ import annotations

from typing import Any, cast

import pytest

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.controller.mapper import by_label, to_self
from dynamo_ctrl.controller.predicate import always, created
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SECRET
from dynamo_ctrl.objects.key import Key

NO_VIEW = cast("View", None)


def test_the_primary_wakes_itself_and_the_others_follow_in_order() -> None:
    to_app = by_label("app")
    watches = (
        watching(CONFIG_MAP)
        .owning(SECRET, when=created, optional=True)
        .mapping(POD, to_app)
        .reading(POD, label_selector="a=b")
    )
    assert (watches.primary.kind, watches.primary.mapper, watches.primary.when) == (CONFIG_MAP, to_self, always)
    owned, mapped, read = watches.others
    assert (owned.kind, owned.when, owned.optional) == (SECRET, created, True)
    assert (mapped.kind, mapped.mapper) == (POD, to_app)
    assert (read.kind, read.mapper, read.label_selector) == (POD, None, "a=b")
    assert watches.all == (watches.primary, owned, mapped, read)


def test_building_on_leaves_the_first_value_alone() -> None:
    base = watching(CONFIG_MAP)
    base.owning(SECRET)
    assert base.others == ()


def test_an_index_needs_its_kind_to_be_watched_or_read() -> None:
    index: Index[Any] = Index("app", POD, lambda pod: ())
    assert watching(CONFIG_MAP).reading(POD).indexing(index).indexes == (index,)
    with pytest.raises(ValueError, match="pods is neither watched nor read"):
        watching(CONFIG_MAP).indexing(index)


def test_every_owner_is_woken_only_if_that_is_asked_for() -> None:
    watches = watching(CONFIG_MAP).owning(SECRET).owning(POD, every_owner=True)
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name} for name in ("a", "b")]
    child = POD.object({"metadata": {"name": "p", "namespace": "ns", "ownerReferences": owners}})
    controlled, owned = (watch.mapper for watch in watches.others)
    assert controlled is not None
    assert owned is not None
    assert list(controlled(child, NO_VIEW)) == []
    assert list(owned(child, NO_VIEW)) == [Key("ns", "a"), Key("ns", "b")]


def test_a_debounce_belongs_to_one_watch() -> None:
    watches = watching(CONFIG_MAP, debounce=1.0).owning(SECRET, debounce=2.0).mapping(POD, to_self)
    assert [watch.debounce for watch in watches.all] == [1.0, 2.0, None]
