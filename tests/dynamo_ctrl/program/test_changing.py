"""The effects that change, delete, scale or refuse, on a server: what they send, what they leave alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import pytest

from dynamo_ctrl.engine.errors import Conflict, Forbidden
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, Deployment
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import (
    Create,
    Delete,
    EnsureFinalizer,
    Event,
    Patch,
    PatchPrimary,
    Refuse,
    RemoveFinalizer,
    Retry,
    Scale,
)
from dynamo_ctrl.program.errors import OwnershipConflict, Refusal
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


class TestPatch:
    merge = Change.merge({"data": {"b": "2"}})

    def test_nothing_is_sent_when_the_object_satisfies_it(self, cache: FakeCache, apply: Apply) -> None:
        cache.add(config())
        for _ in range(2):
            apply(Patch(target=live(cache), patch=self.merge))
        assert live(cache).data == {"a": "1", "b": "2"}
        assert len(cache.writes) == 1

    def test_other_fields_may_move_in_between(self, cache: FakeCache, apply: Apply) -> None:
        cache.add(config())
        cache.faults.interleave(lambda: cache.edit(CONFIG_MAP, "ns/c", {"data": {"c": "3"}}), "patch", CONFIG_MAP)
        apply(Patch(target=live(cache), patch=self.merge))
        assert live(cache).data == {"a": "1", "b": "2", "c": "3"}

    def test_another_object_of_that_name_is_a_conflict(self, cache: FakeCache, apply: Apply) -> None:
        target = cache.add(config())
        cache.delete(CONFIG_MAP, "ns/c")
        cache.add(config())
        with pytest.raises(Conflict):
            apply(Patch(target=target, patch=self.merge))
        assert live(cache).data == {"a": "1"}

    def test_an_object_that_goes_while_it_is_patched_is_a_conflict(self, cache: FakeCache, apply: Apply) -> None:
        cache.add(config())
        cache.faults.interleave(lambda: cache.delete(CONFIG_MAP, "ns/c"), "patch", CONFIG_MAP)
        with pytest.raises(Conflict):
            apply(Patch(target=live(cache), patch=self.merge))

    def test_a_map_that_somebody_else_made_meanwhile_is_not_replaced(self, cache: FakeCache, apply: Apply) -> None:
        cache.add(config())
        theirs = {"metadata": {"labels": {"theirs": "1"}}}
        cache.faults.interleave(lambda: cache.edit(CONFIG_MAP, "ns/c", theirs), "patch", CONFIG_MAP)
        with pytest.raises(Conflict):
            apply(Patch(target=live(cache), patch=Change.merge({"metadata": {"labels": {"mine": "1"}}})))
        assert live(cache).metadata.labels == {"theirs": "1"}

    def test_it_can_be_bound_to_the_generation(self, cache: FakeCache, apply: Apply) -> None:
        target = cache.add(WIDGET.object({"metadata": {"name": "v", "namespace": "ns"}, "spec": {"size": 1}}))
        cache.edit(WIDGET, "ns/v", {"spec": {"size": 2}})
        patch = Change.merge({"metadata": {"labels": {"a": "b"}}})
        with pytest.raises(Conflict):
            apply(Patch(target=target, patch=patch, same_generation=True))
        apply(Patch(target=target, patch=patch))
        found = cache.get(WIDGET, "ns/v")
        assert found is not None
        assert found.metadata.labels == {"a": "b"}

    def test_a_json_patch_keeps_its_own_tests(self, cache: FakeCache, apply: Apply) -> None:
        cache.add(config())
        change = Change.json(
            [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "replace", "path": "/data/a", "value": "2"}]
        )
        apply(Patch(target=live(cache), patch=change))
        assert live(cache).data == {"a": "2"}

    def test_a_json_patch_that_does_not_fit_is_a_failure(self, cache: FakeCache, apply: Apply) -> None:
        cache.add(config())
        effect = Patch(target=live(cache), patch=Change.json([{"op": "remove", "path": "/data/none"}]))
        assert apply(effect).failure is not None

    def test_the_status_of_others_is_not_patched(self, cache: FakeCache, apply: Apply) -> None:
        target = cache.add(WIDGET.object({"metadata": {"name": "v", "namespace": "ns"}}))
        effect = Patch(target=target, patch=Change.merge({"status": {"state": "x"}}))
        error = apply(effect).error(effect)
        assert isinstance(error, InvalidObject)
        assert error.path == "status"

    FAILED = Event(type="Warning", reason="Failed", note="it did not work")

    def test_its_failure_can_be_told_with_the_text_of_the_error(self, cache: FakeCache, apply: Apply) -> None:
        cache.add(config())
        cache.faults.fail(Forbidden("no right"), "patch", CONFIG_MAP)
        report = apply(Patch(target=live(cache), patch=self.merge, event=EVENT, failed=self.FAILED))
        assert report.failure is not None
        assert [(event.reason, event.note) for _, event in cache.events] == [("Failed", "it did not work: no right")]

    def test_so_is_a_conflict(self, cache: FakeCache, apply: Apply) -> None:
        target = cache.add(config())
        cache.delete(CONFIG_MAP, "ns/c")
        with pytest.raises(Conflict):
            apply(Patch(target=target, patch=self.merge, event=EVENT, failed=self.FAILED))
        assert [event.reason for _, event in cache.events] == ["Failed"]

    def test_a_success_tells_no_failure(self, cache: FakeCache, apply: Apply) -> None:
        cache.add(config())
        apply(Patch(target=live(cache), patch=self.merge, event=EVENT, failed=self.FAILED))
        assert [event.reason for _, event in cache.events] == ["Done"]


class TestPatchPrimary:
    def test_the_report_has_the_newest_primary_and_later_patches_follow_it(
        self, cache: FakeCache, apply: Apply
    ) -> None:
        one = PatchPrimary(patch=Change.merge({"metadata": {"annotations": {"a": "1"}}}))
        two = PatchPrimary(patch=Change.merge({"metadata": {"annotations": {"b": "2"}}}))
        report = apply(one, two, EnsureFinalizer(name="example.com/f"))
        assert report.primary.metadata.annotations == {"a": "1", "b": "2"}
        assert report.primary.metadata.finalizers == ("example.com/f",)
        assert report.wrote == 3

    def test_somebody_elses_write_in_between_is_a_conflict(self, cache: FakeCache, apply: Apply) -> None:
        cache.edit(WIDGET, "ns/w", {"metadata": {"annotations": {"a": "0"}}})
        cache.faults.interleave(lambda: cache.edit(WIDGET, "ns/w", {"spec": {"size": 9}}), "patch", WIDGET)
        with pytest.raises(Conflict):
            apply(PatchPrimary(patch=Change.merge({"metadata": {"annotations": {"a": "1"}}})))
        assert primary(cache).metadata.annotations == {"a": "0"}

    def test_status_has_no_way_in_here(self, apply: Apply) -> None:
        effect = PatchPrimary(patch=Change.merge({"status": {"state": "mine"}}))
        assert isinstance(apply(effect).error(effect), InvalidObject)


class TestDelete:
    def test_what_is_gone_stays_gone(self, cache: FakeCache, apply: Apply) -> None:
        target = owned_config(cache)
        apply(Delete(target=target, event=EVENT))
        report = apply(Delete(target=target, event=EVENT))
        assert report.failure is None
        assert (len(cache.writes), len(cache.events)) == (1, 1)

    def test_another_object_of_that_name_is_left_alone(self, cache: FakeCache, apply: Apply) -> None:
        target = owned_config(cache)
        cache.delete(CONFIG_MAP, "ns/c")
        owned_config(cache)
        report = apply(Delete(target=target))
        assert (report.failure, report.wrote) == (None, 0)
        assert cache.get(CONFIG_MAP, "ns/c") is not None

    def test_one_that_changed_since_it_was_read_is_a_conflict_before_anything_is_sent(
        self, cache: FakeCache, apply: Apply
    ) -> None:
        target = owned_config(cache)
        cache.edit(CONFIG_MAP, "ns/c", {"data": {"wanted": "again"}})
        with pytest.raises(Conflict):
            apply(Delete(target=target))
        assert not cache.writes

    def test_one_that_vanishes_meanwhile_is_success_without_an_event(self, cache: FakeCache, apply: Apply) -> None:
        target = owned_config(cache)
        cache.faults.interleave(lambda: cache.delete(CONFIG_MAP, "ns/c"), "delete")
        report = apply(Delete(target=target, event=EVENT))
        assert (report.failure, report.wrote, cache.events) == (None, 0, [])

    def test_somebody_elses_object_is_refused(self, cache: FakeCache, apply: Apply) -> None:
        target = cache.add(config())
        effect = Delete(target=target)
        assert isinstance(apply(effect).error(effect), OwnershipConflict)
        apply(Delete(target=target, owned=False))
        assert cache.get(CONFIG_MAP, "ns/c") is None

    def test_one_that_is_being_deleted_already_is_not_deleted_again(self, cache: FakeCache, apply: Apply) -> None:
        owned_config(cache)
        cache.edit(CONFIG_MAP, "ns/c", {"metadata": {"finalizers": ["example.com/f"]}})
        effect = Delete(target=live(cache))
        found = apply(effect).live(effect)
        assert found is not None
        assert found.metadata.deletion_timestamp is not None
        apply(Delete(target=live(cache)))
        assert len(cache.writes) == 1


class TestScale:
    @pytest.fixture
    def scaled(self, cache: FakeCache) -> Deployment:
        spec = {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i"}]}},
        }
        return cache.add(DEPLOYMENT.object({"metadata": {"name": "d", "namespace": "ns"}, "spec": spec}))

    @pytest.mark.parametrize(("replicas", "writes"), [(0, 1), (1, 0), (5, 1)])
    def test_it_writes_the_scale_if_it_differs(
        self, cache: FakeCache, apply: Apply, scaled: Deployment, replicas: int, writes: int
    ) -> None:
        effect = Scale(kind=DEPLOYMENT, key=scaled.key, replicas=replicas)
        found = apply(effect).live(effect)
        assert isinstance(found, Deployment)
        assert found.spec.replicas == replicas
        assert [write.subresource for write in cache.writes] == ["scale"] * writes

    def test_a_missing_object_is_left_alone(self, cache: FakeCache, apply: Apply) -> None:
        effect = Scale(kind=DEPLOYMENT, key=primary(cache).key, replicas=2)
        assert apply(effect).failure is None
        assert not cache.writes

    def test_another_object_of_that_name_is_a_conflict(
        self, cache: FakeCache, apply: Apply, scaled: Deployment
    ) -> None:
        def replaced() -> None:
            cache.delete(DEPLOYMENT, "ns/d")
            cache.add(scaled)

        cache.faults.interleave(replaced, "patch", DEPLOYMENT)
        with pytest.raises(Conflict):
            apply(Scale(kind=DEPLOYMENT, key=scaled.key, replicas=4))


class TestFinalizers:
    def test_they_are_added_beside_those_of_others_and_removed_alone(self, cache: FakeCache, apply: Apply) -> None:
        cache.edit(WIDGET, "ns/w", {"metadata": {"finalizers": ["theirs/f"]}})
        apply(EnsureFinalizer(name="mine/f"))
        assert primary(cache).metadata.finalizers == ("theirs/f", "mine/f")
        apply(EnsureFinalizer(name="mine/f"))
        apply(RemoveFinalizer(name="theirs/f"))
        assert primary(cache).metadata.finalizers == ("mine/f",)
        apply(RemoveFinalizer(name="theirs/f"))
        assert len(cache.writes) == 2

    def test_with_the_last_one_the_object_goes_and_that_is_a_write(self, cache: FakeCache, apply: Apply) -> None:
        cache.edit(WIDGET, "ns/w", {"metadata": {"finalizers": ["mine/f"]}})
        cache.delete(WIDGET, "ns/w")
        assert apply(RemoveFinalizer(name="mine/f")).wrote == 1
        assert cache.get(WIDGET, "ns/w") is None

    @pytest.mark.parametrize("before", [[], ["theirs/f"]])
    def test_nobodys_entry_is_lost(self, cache: FakeCache, apply: Apply, before: list[str]) -> None:
        cache.edit(WIDGET, "ns/w", {"metadata": {"finalizers": before}})
        both = {"metadata": {"finalizers": [*before, "third/f"]}}
        cache.faults.interleave(lambda: cache.edit(WIDGET, "ns/w", both), "patch", WIDGET)
        with pytest.raises(Conflict):
            apply(EnsureFinalizer(name="mine/f"))
        assert primary(cache).metadata.finalizers == (*before, "third/f")

    def test_the_entry_of_another_is_not_removed_when_the_list_moves(self, cache: FakeCache, apply: Apply) -> None:
        cache.edit(WIDGET, "ns/w", {"metadata": {"finalizers": ["theirs/f", "mine/f"]}})
        moved = {"metadata": {"finalizers": ["mine/f", "third/f"]}}
        cache.faults.interleave(lambda: cache.edit(WIDGET, "ns/w", moved), "patch", WIDGET)
        with pytest.raises(Conflict):
            apply(RemoveFinalizer(name="mine/f"))
        assert primary(cache).metadata.finalizers == ("mine/f", "third/f")

    def test_an_attempt_does_not_go_on_with_a_spec_that_it_has_not_seen(self, cache: FakeCache, apply: Apply) -> None:
        cache.edit(WIDGET, "ns/w", {"metadata": {"finalizers": ["theirs/f"]}})
        cache.faults.interleave(lambda: cache.edit(WIDGET, "ns/w", {"spec": {"size": 9}}), "patch", WIDGET)
        with pytest.raises(Conflict):
            apply(EnsureFinalizer(name="mine/f"), Create(object=config()))
        assert cache.get(CONFIG_MAP, "ns/c") is None

    def test_an_annotation_of_somebody_else_in_between_does_not_disturb(self, cache: FakeCache, apply: Apply) -> None:
        cache.edit(WIDGET, "ns/w", {"metadata": {"finalizers": ["theirs/f"]}})
        note = {"metadata": {"annotations": {"a": "b"}}}
        cache.faults.interleave(lambda: cache.edit(WIDGET, "ns/w", note), "patch", WIDGET)
        report = apply(EnsureFinalizer(name="mine/f"), Create(object=config()))
        assert report.primary.metadata.annotations == {"a": "b"}
        assert cache.get(CONFIG_MAP, "ns/c") is not None


class TestRefuse:
    def test_it_fails_with_its_own_error_or_with_one_that_says_its_message(self, apply: Apply) -> None:
        cause = OSError("disk")
        first, second = Refuse(message="plain"), Refuse(message="because", error=cause, retry=Retry.NEVER)
        error = apply(first).error(first)
        assert isinstance(error, Refusal)
        assert str(error) == "plain"
        report = apply(second)
        assert report.error(second) is cause
        assert report.failure is not None
        assert (report.failure.message, report.failure.retry) == ("because", Retry.NEVER)


def test_a_write_that_the_server_answers_without_a_change_is_none_and_tells_no_event(
    cache: FakeCache, apply: Apply
) -> None:
    cache.add(config())
    ignored = Change.merge({"metadata": {"generation": 77}})
    effect = Patch(target=live(cache), patch=ignored, event=EVENT)
    report = apply(effect)
    assert report.live(effect) is not None
    assert len(cache.writes) == 1
    assert (report.wrote, cache.events) == (0, [])
