"""`Create` and `CreateOnce` on a server, and what happens when a name is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.engine.errors import AlreadyExists, Conflict, Forbidden, NotFound, Unanswered, UnsupportedKind
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET, ConfigMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_ctrl.program.effect import (
    Create,
    CreateOnce,
    Event,
    Retry,
)
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, Widget

Apply = Callable[..., Report]
EVENT = Event(type="Normal", reason="Done", note="n")


def config(name: str = "c", data: Mapping[str, str] | None = None) -> ConfigMap:
    return CONFIG_MAP.object({"metadata": {"name": name, "namespace": "ns"}, "data": dict(data or {"a": "1"})})


def owned_config(cache: FakeCache) -> ConfigMap:
    content = config().content()
    content["metadata"]["ownerReferences"] = [msgspec.to_builtins(owner_reference(primary(cache)))]
    return cache.add(CONFIG_MAP.object(content))


def primary(cache: FakeCache) -> Widget:
    return cache.request(WIDGET, "ns/w").object


def live(cache: FakeCache) -> ConfigMap:
    found = cache.get(CONFIG_MAP, "ns/c")
    assert found is not None
    return found


class TestCreate:
    def test_it_makes_the_object_once_and_leaves_it_alone_afterwards(self, cache: FakeCache, apply: Apply) -> None:
        apply(Create(object=config(), event=EVENT))
        second = Create(object=config(data={"a": "2"}), event=EVENT)
        report = apply(second)
        assert live(cache).data == {"a": "1"}
        assert report.live(second) is not None
        assert (len(cache.writes), len(cache.events)) == (1, 1)

    @pytest.mark.parametrize("owned", [True, False])
    def test_it_is_owned_if_wanted(self, cache: FakeCache, apply: Apply, owned: bool) -> None:
        apply(Create(object=config(), owned=owned))
        assert (live(cache).metadata.controller is not None) is owned

    def test_a_generated_name_makes_a_new_object_each_time(self, cache: FakeCache, apply: Apply) -> None:
        wanted = CONFIG_MAP.object({"metadata": {"generateName": "c-", "namespace": "ns"}})
        first, second = Create(object=wanted), Create(object=wanted)
        report = apply(first, second)
        names = {found.metadata.name for effect in (first, second) if (found := report.live(effect)) is not None}
        assert len(names) == 2

    def test_a_generated_name_that_is_taken_is_a_failure(self, cache: FakeCache, apply: Apply) -> None:
        cache.faults.fail(AlreadyExists("taken"), "create")
        effect = Create(object=CONFIG_MAP.object({"metadata": {"generateName": "c-", "namespace": "ns"}}))
        assert isinstance(apply(effect).error(effect), AlreadyExists)
        assert len(cache.writes) == 1

    def test_a_refusal_of_the_server_is_a_failure_that_is_retried(self, cache: FakeCache, apply: Apply) -> None:
        cache.faults.fail(Forbidden("no right"), "create")
        effect = Create(object=config(), event=EVENT)
        report = apply(effect)
        assert report.failure is not None
        assert (report.failure.message, report.failure.retry) == ("no right", Retry.BACKOFF)
        assert not cache.events


class TestTakenNames:
    """The object is there, and the cache does not show it."""

    @pytest.fixture
    def blind(self, cache: FakeCache, monkeypatch: pytest.MonkeyPatch) -> FakeCache:
        real = cache.get
        monkeypatch.setattr(cache, "get", lambda kind, key: None if kind == CONFIG_MAP else real(kind, key))
        return cache

    def test_an_earlier_create_whose_answer_was_lost_is_found(self, cache: FakeCache, apply: Apply) -> None:
        cache.faults.fail(Unanswered("lost"), "create", after=True)
        effect = Create(object=config())
        assert isinstance(apply(effect).error(effect), Unanswered)
        again = Create(object=config())
        assert apply(again).live(again) is not None

    def test_it_is_read_live_and_decided_again(self, blind: FakeCache, apply: Apply) -> None:
        blind.add(config(data={"old": "1"}))
        effect = Create(object=config(), event=EVENT)
        found = apply(effect).live(effect)
        assert isinstance(found, ConfigMap)
        assert found.data == {"old": "1"}
        assert not blind.events

    def test_one_that_vanishes_meanwhile_is_created(self, blind: FakeCache, apply: Apply) -> None:
        blind.add(config(data={"old": "1"}))
        blind.faults.interleave(lambda: blind.delete(CONFIG_MAP, "ns/c"), "get", CONFIG_MAP)
        effect = Create(object=config())
        found = apply(effect).live(effect)
        assert isinstance(found, ConfigMap)
        assert found.data == {"a": "1"}

    def test_one_that_comes_and_goes_is_a_conflict_in_the_end(self, blind: FakeCache, apply: Apply) -> None:
        blind.faults.interleave(lambda: blind.add(config()), "create", times=9)
        blind.faults.interleave(lambda: blind.delete(CONFIG_MAP, "ns/c"), "get", CONFIG_MAP, times=9)
        with pytest.raises(Conflict):
            apply(Create(object=config()))


class TestCreateOnce:
    def test_data_is_generated_only_when_it_is_missing_and_never_reported(
        self, cache: FakeCache, apply: Apply, logs: list[Any]
    ) -> None:
        calls = []

        async def fill() -> Mapping[str, bytes]:
            calls.append(1)
            return {"key": b"s3cret"}

        secret = SECRET.object({"metadata": {"name": "s", "namespace": "ns"}})
        for _ in range(2):
            effect = CreateOnce(object=secret, fill=fill)
            report = apply(effect)
        found = cache.get(SECRET, "ns/s")
        assert found is not None
        assert found.data == {"key": b"s3cret"}
        assert calls == [1]
        assert "czNjcmV0" not in str(logs)
        assert "czNjcmV0" not in str(report.lives)

    def test_the_filled_object_is_not_in_the_report(self, apply: Apply) -> None:
        async def fill() -> Mapping[str, bytes]:
            return {"key": b"s3cret"}

        effect = CreateOnce(object=SECRET.object({"metadata": {"name": "s", "namespace": "ns"}}), fill=fill)
        found = apply(effect).live(effect)
        assert found is not None
        assert found.metadata.uid
        assert b"czNjcmV0" not in found.raw

    def test_a_copy_has_data_and_type_of_its_source_and_is_not_in_the_report(
        self, cache: FakeCache, apply: Apply, logs: list[Any]
    ) -> None:
        data = {"key": "czNjcmV0"}
        cache.add(SECRET.object({"metadata": {"name": "s", "namespace": "there"}, "type": "x/y", "data": data}))
        copy = SECRET.object({"metadata": {"name": "s", "namespace": "ns", "labels": {"a": "b"}}})
        effect = CreateOnce(object=copy, fill=Key("there", "s"), owned=False)
        report = apply(effect)
        found = cache.get(SECRET, "ns/s")
        assert found is not None
        assert (found.content()["type"], found.data, found.metadata.labels) == ("x/y", {"key": b"s3cret"}, {"a": "b"})
        assert found.metadata.owner_references == ()
        assert "czNjcmV0" not in f"{logs}{report.lives}"
        live = report.live(effect)
        assert live is not None
        assert b"czNjcmV0" not in live.raw

    def test_a_copy_that_is_there_is_left_alone_and_its_source_is_not_read(
        self, cache: FakeCache, apply: Apply
    ) -> None:
        cache.add(SECRET.object({"metadata": {"name": "s", "namespace": "ns"}, "data": {"key": "b3duCg=="}}))
        effect = CreateOnce(object=SECRET.object({"metadata": {"name": "s", "namespace": "ns"}}), fill=Key("x", "s"))
        assert apply(effect).error(effect) is None
        assert not cache.writes

    def test_without_its_source_a_copy_is_a_failure(self, cache: FakeCache, apply: Apply) -> None:
        effect = CreateOnce(object=SECRET.object({"metadata": {"name": "s", "namespace": "ns"}}), fill=Key("x", "s"))
        assert isinstance(apply(effect).error(effect), NotFound)
        assert not cache.writes

    def test_a_port_that_fails_is_a_failure(self, cache: FakeCache, apply: Apply) -> None:
        async def fill() -> Mapping[str, bytes]:
            raise OSError("no entropy")

        effect = CreateOnce(object=SECRET.object({"metadata": {"name": "s", "namespace": "ns"}}), fill=fill)
        assert isinstance(apply(effect).error(effect), OSError)
        assert not cache.writes


def test_a_kind_that_the_server_does_not_know_is_a_failure(cache: FakeCache, apply: Apply) -> None:
    cache.faults.fail(UnsupportedKind("no such API"), "create")
    effect = Create(object=config())
    assert isinstance(apply(effect).error(effect), UnsupportedKind)
