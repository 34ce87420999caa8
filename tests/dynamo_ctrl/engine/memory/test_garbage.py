"""Owner graphs of any shape: what is left after deletions, and that the collector comes to an end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.engine.errors import NotFound
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.engine.port import ListOptions, Propagation
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch


class Thing(Object[Mapping[str, Any], Mapping[str, Any]]):
    """An object of the test's own kind."""


THING = Kind(Thing, group="x.io", version="v1", kind="Thing", plural="things")
SIZE = 6
EDGES = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).filter(lambda e: e[0] < e[1]))
DELETIONS = st.lists(
    st.tuples(st.integers(0, SIZE - 1), st.sampled_from(["Background", "Foreground", "Orphan"])), max_size=SIZE
)


def reference(core: Core, name: str, *, block: bool) -> dict[str, Any]:
    uid = json.loads(core.get(THING, Key("default", name)))["metadata"]["uid"]
    return {"apiVersion": "x.io/v1", "kind": "Thing", "name": name, "uid": uid, "blockOwnerDeletion": block}


def world(edges: set[tuple[int, int]], *, block: bool) -> Core:
    core = Core()
    core.register(THING)
    for number in range(SIZE):
        owners = [reference(core, f"t{low}", block=block) for low, high in sorted(edges) if high == number]
        body = {
            "apiVersion": "x.io/v1",
            "kind": "Thing",
            "metadata": {"name": f"t{number}", "ownerReferences": owners},
        }
        core.create(THING, "default", json.dumps(body).encode())
    return core


def left(core: Core) -> dict[str, list[str]]:
    items = [json.loads(raw)["metadata"] for raw in core.list(THING, ListOptions()).items]
    assert not any("deletionTimestamp" in each for each in items)
    return {each["name"]: [owner["name"] for owner in each.get("ownerReferences", ())] for each in items}


@settings(max_examples=150, deadline=None)
@given(edges=EDGES, deletions=DELETIONS, block=st.booleans())
def test_what_is_left_is_what_a_model_leaves(
    edges: set[tuple[int, int]], deletions: list[tuple[int, Propagation]], block: bool
) -> None:
    core = world(edges, block=block)
    model = {f"t{n}": [f"t{low}" for low, high in sorted(edges) if high == n] for n in range(SIZE)}
    for number, propagation in deletions:
        name = f"t{number}"
        try:
            core.delete(THING, Key("default", name), propagation=propagation)
        except NotFound:
            assert name not in model
            continue
        _forget(model, name, orphan=propagation == "Orphan")
    assert left(core) == model


def _forget(model: dict[str, list[str]], name: str, *, orphan: bool) -> None:
    del model[name]
    for dependant in [each for each, owners in model.items() if name in owners]:
        model[dependant] = [owner for owner in model[dependant] if owner != name]
        if not model[dependant] and not orphan:
            _forget(model, dependant, orphan=False)


def test_owners_that_own_each_other_can_be_deleted_in_the_foreground() -> None:
    core = world(set(), block=True)
    for one, two in (("t0", "t1"), ("t1", "t0")):
        patch = {"metadata": {"ownerReferences": [reference(core, two, block=True)]}}
        core.patch(THING, Key("default", one), Patch.merge(patch))
    core.delete(THING, Key("default", "t0"), propagation="Foreground")
    assert set(left(core)) == {f"t{n}" for n in range(2, SIZE)}


def test_a_dependant_of_a_kind_that_nobody_serves_is_left_alone() -> None:
    core = Core()
    core.register(THING)
    owner = {"apiVersion": "gone.io/v1", "kind": "Gone", "name": "g", "uid": "u"}
    body = {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a", "ownerReferences": [owner]}}
    core.create(THING, "default", json.dumps(body).encode())
    assert left(core) == {"a": ["g"]}


def test_a_long_chain_falls_without_recursion() -> None:
    core = Core()
    core.register(THING)
    length = 3000
    owner: list[dict[str, Any]] = []
    for number in range(length):
        body = {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": f"t{number}", "ownerReferences": owner}}
        uid = json.loads(core.create(THING, "default", json.dumps(body).encode()))["metadata"]["uid"]
        owner = [{"apiVersion": "x.io/v1", "kind": "Thing", "name": f"t{number}", "uid": uid}]
    core.delete(THING, Key("default", "t0"))
    assert left(core) == {}
