"""What a program reads, and what it is told when it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamo_ctrl.cache import state
from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.decisions import Replace
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.state import LIVE, Phase, SourceState
from dynamo_ctrl.cache.view import SELECTORS, CachedView, SourceUnavailable, View
from dynamo_ctrl.engine.errors import Forbidden, Unavailable
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET, ConfigMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.selector import InvalidSelector, LabelSelector
from dynamo_ctrl.testing.virtual_loop import LoopClock

Make = Callable[..., ConfigMap]
BY_DATA = Index("data", CONFIG_MAP, lambda obj: obj.data.values())


def informer_of(engine: Any, optional: bool = False, **options: Any) -> Informer[ConfigMap]:
    return Cache(engine, clock=LoopClock(), options=CacheOptions(**options)).informer(CONFIG_MAP, optional=optional)


def fill(informer: Informer[ConfigMap], *objects: ConfigMap, scope: str = "") -> None:
    shared = informer.shared
    staging = shared.stage(scope, comparable=True, since=0)
    for obj in objects:
        staging.add(obj)
    for _ in shared.replace(staging, Replace("10")):
        pass
    shared.enter(scope, LIVE)


def names(objects: Any) -> list[str]:
    return [str(obj.key) for obj in objects]


async def test_reads(scripted: Any, config_map: Make) -> None:
    informer = informer_of(scripted())
    informer.add_index(BY_DATA)
    owner = config_map("owner", 1, uid="uid-owner")
    a = config_map("a", 2, labels={"app": "x"}, owner="owner", data={"k": "v"})
    fill(informer, config_map("b", 3, namespace="other", labels={"app": "x"}, data={"k": "v"}), a, owner)
    view: View = CachedView({CONFIG_MAP: informer})
    assert view.get(CONFIG_MAP, "ns/a") is view.get(CONFIG_MAP, Key("ns", "a")) is a
    assert view.get(CONFIG_MAP, "ns/nobody") is None
    assert names(view.list(CONFIG_MAP)) == ["ns/a", "ns/owner", "other/b"]
    assert names(view.list(CONFIG_MAP, namespace="ns")) == ["ns/a", "ns/owner"]
    for selector in ({"app": "x"}, "app=x", LabelSelector.parse("app in (x)")):
        assert names(view.list(CONFIG_MAP, selector=selector)) == ["ns/a", "other/b"]
        assert names(view.list(CONFIG_MAP, namespace="ns", selector=selector)) == ["ns/a"]
    assert names(view.list(CONFIG_MAP, selector={})) == names(view.list(CONFIG_MAP, selector=""))
    assert names(view.by_index(BY_DATA, "v")) == ["ns/a", "other/b"]
    assert list(view.by_index(BY_DATA, "nothing")) == []
    assert names(view.owned(CONFIG_MAP, owner)) == ["ns/a"]
    assert view.serves(CONFIG_MAP)


async def test_r4_1_a_list_is_the_readers_own_and_its_objects_are_shared_and_not_copied(
    scripted: Any, config_map: Make
) -> None:
    informer = informer_of(scripted())
    fill(informer, config_map("a", 1))
    view = CachedView({CONFIG_MAP: informer})
    first = view.list(CONFIG_MAP)
    assert isinstance(first, list)
    first.clear()
    assert names(view.list(CONFIG_MAP)) == ["ns/a"]
    assert view.list(CONFIG_MAP)[0] is view.get(CONFIG_MAP, "ns/a")


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize(
    ("entered", "readable"),
    [
        (None, "no"),
        (state.syncing(CONFIG_MAP, Unavailable("down")), "no"),
        (state.forbidden(CONFIG_MAP, "", Forbidden("cannot list")), "no"),
        (state.absent(CONFIG_MAP, "install it"), "empty if optional"),
        (LIVE, "yes"),
        (state.stale(CONFIG_MAP, Unavailable("down")), "yes"),
        (state.stopped(CONFIG_MAP), "no"),
    ],
)
async def test_what_cannot_be_read_raises_with_the_reason(
    scripted: Any, config_map: Make, optional: bool, entered: SourceState | None, readable: str
) -> None:
    informer = informer_of(scripted(), optional)
    informer.add_index(BY_DATA)
    obj = config_map("a", 1)
    if entered is not None:
        if entered.phase not in (Phase.SYNCING, Phase.ABSENT):
            fill(informer, obj)
        informer.shared.enter("", entered)
    if entered is not None and entered.phase is Phase.STOPPED:
        informer.shared.stop()
    view = CachedView({CONFIG_MAP: informer})
    reads: list[Callable[[], Any]] = [
        lambda: view.get(CONFIG_MAP, "ns/a"),
        lambda: view.list(CONFIG_MAP),
        lambda: view.by_index(BY_DATA, "v"),
        lambda: view.owned(CONFIG_MAP, obj),
    ]
    if readable == "yes":
        assert reads[0]() is obj
    elif optional and readable == "empty if optional":
        assert [read() or [] for read in reads] == [[], [], [], []] or all(not read() for read in reads)
    else:
        for read in reads:
            with pytest.raises(SourceUnavailable) as raised:
                read()
            assert raised.value.kind == CONFIG_MAP
            assert raised.value.reason == informer.state.reason != ""
    assert informer.ready is (readable == "yes" or (optional and readable == "empty if optional"))


@pytest.mark.parametrize(
    ("entered", "serves"),
    [
        (LIVE, True),
        (state.stale(CONFIG_MAP, Unavailable("down")), True),
        (state.forbidden(CONFIG_MAP, "", Forbidden("cannot list")), True),
        (state.absent(CONFIG_MAP, "install it"), False),
        (state.syncing(CONFIG_MAP), False),
    ],
)
async def test_serves_never_raises(scripted: Any, entered: SourceState, serves: bool) -> None:
    informer = informer_of(scripted())
    if entered.phase in (Phase.LIVE, Phase.STALE):
        fill(informer)
    informer.shared.enter("", entered)
    view = CachedView({CONFIG_MAP: informer})
    assert view.serves(CONFIG_MAP) is serves
    assert view.serves(SECRET) is False


async def test_a_kind_or_an_index_that_nobody_declared_says_so(scripted: Any, config_map: Make) -> None:
    informer = informer_of(scripted())
    fill(informer, config_map("a", 1))
    view = CachedView({CONFIG_MAP: informer})
    secrets: Kind[Any] = SECRET
    with pytest.raises(SourceUnavailable, match="secrets cannot be read: it is neither watched nor read"):
        view.get(secrets, "ns/a")
    with pytest.raises(SourceUnavailable, match="no index is called 'data'"):
        view.by_index(BY_DATA, "v")


async def test_a_namespace_that_is_not_followed_cannot_be_read(scripted: Any, config_map: Make) -> None:
    informer = informer_of(scripted(), namespaces=("n1", "n2"))
    view = CachedView({CONFIG_MAP: informer})
    fill(informer, config_map("a", 1, namespace="n1"), scope="n1")
    with pytest.raises(SourceUnavailable, match="first list"):
        view.get(CONFIG_MAP, "n1/a")
    fill(informer, scope="n2")
    assert view.get(CONFIG_MAP, "n1/a") is not None
    assert view.get(CONFIG_MAP, "n2/a") is None
    for read in (lambda: view.get(CONFIG_MAP, "n3/a"), lambda: view.list(CONFIG_MAP, namespace="n3")):
        with pytest.raises(SourceUnavailable, match="does not follow namespace 'n3'"):
            read()


async def test_one_forbidden_namespace_makes_the_kind_unreadable_and_names_the_role(scripted: Any) -> None:
    informer = informer_of(scripted(), namespaces=("n1", "n2"))
    fill(informer, scope="n1")
    fill(informer, scope="n2")
    informer.shared.enter("n2", state.forbidden(CONFIG_MAP, "n2", Forbidden("cannot list")))
    with pytest.raises(SourceUnavailable, match="a Role in namespace n2"):
        CachedView({CONFIG_MAP: informer}).list(CONFIG_MAP)


async def test_a_key_or_selector_that_cannot_be_read_is_refused(scripted: Any) -> None:
    informer = informer_of(scripted())
    fill(informer)
    view = CachedView({CONFIG_MAP: informer})
    with pytest.raises(ValueError, match="not an object key"):
        view.get(CONFIG_MAP, "a/b/c")
    with pytest.raises(InvalidSelector):
        view.list(CONFIG_MAP, selector="a in b")


async def test_kinds_come_to_a_view_and_go_from_it_at_any_time(scripted: Any, config_map: Make) -> None:
    informer = informer_of(scripted(), namespaces=("ns",))
    fill(informer, config_map("a", 1), scope="ns")
    view = CachedView({})
    assert (view.selection(CONFIG_MAP), view.serves(CONFIG_MAP)) == (None, False)
    with pytest.raises(SourceUnavailable, match="neither watched nor read"):
        view.get(CONFIG_MAP, "ns/a")
    view.open(informer)
    assert names(view.list(CONFIG_MAP)) == ["ns/a"]
    assert view.selection(CONFIG_MAP) is informer.selection
    view.close(CONFIG_MAP)
    view.close(CONFIG_MAP)
    with pytest.raises(SourceUnavailable, match="neither watched nor read"):
        view.list(CONFIG_MAP)


async def test_the_memory_of_selectors_is_bounded(scripted: Any) -> None:
    informer = informer_of(scripted())
    fill(informer)
    view = CachedView({CONFIG_MAP: informer})
    for number in range(2 * SELECTORS + 1):
        view.list(CONFIG_MAP, selector=f"n={number}")
    assert len(view._selectors) <= SELECTORS


def test_states_in_words() -> None:
    joined = state.worst([LIVE, state.stale(CONFIG_MAP, Unavailable("down")), state.stale(CONFIG_MAP, Unavailable(""))])
    assert joined.phase is Phase.STALE
    assert str(joined) == (
        "stale: configmaps cannot be followed and will be tried again: down; "
        "configmaps cannot be followed and will be tried again: Unavailable"
    )
    assert str(LIVE) == "live"
