"""The status subresource and scale: each side writes its own part."""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, POD
from dynamo_ctrl.objects.patch import Patch
from tests.conformance.kinds import GADGET, PLANET, WIDGET, body, stored, widget
from tests.conformance.outcome import about, invalid, not_found, refused
from tests.conformance.world import World

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
NO_RESOURCE = "the server could not find the requested resource"


def made(world: World, **content: Any) -> None:
    world.create(WIDGET, body(WIDGET, "a", **{"spec": {}, **content}))


def test_a_new_object_has_no_status(world: World) -> None:
    assert world.create(WIDGET, body(WIDGET, "a", spec={}, status={"size": 3})).object == widget("a")


def test_the_object_is_written_without_its_status(world: World) -> None:
    made(world)
    world.merge(WIDGET, "a", {"status": {"size": 3}}, subresource="status")
    before = world.get(WIDGET, "a").raw
    found = world.update(WIDGET, "a", {**before, "spec": {"size": 2}, "status": {"size": 9}})
    assert found.object == widget("a", generation=2, spec={"size": 2}, status={"size": 3})


def test_the_status_is_kept_when_an_update_leaves_it_out(world: World) -> None:
    made(world)
    before = world.merge(WIDGET, "a", {"status": {"size": 3}}, subresource="status").raw
    del before["status"]
    assert world.update(WIDGET, "a", before).object == widget("a", status={"size": 3})


def test_a_status_patch_writes_nothing_else(world: World) -> None:
    made(world)
    patch = {
        "metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}, "finalizers": ["x.y/z"]},
        "spec": {"size": 7},
        "status": {"size": 3},
    }
    assert world.merge(WIDGET, "a", patch, subresource="status").object == widget("a", status={"size": 3})


def test_a_status_write_leaves_the_generation(world: World) -> None:
    made(world)
    found = world.merge(WIDGET, "a", {"status": {"size": 3}}, subresource="status")
    assert found.object["metadata"]["generation"] == 1


def test_a_status_is_replaced(world: World) -> None:
    made(world)
    before = world.merge(WIDGET, "a", {"status": {"size": 3, "note": "x"}}, subresource="status").raw
    found = world.update(WIDGET, "a", {**before, "status": {"size": 4}, "spec": {"size": 7}}, subresource="status")
    assert found.object == widget("a", status={"size": 4})


def test_a_status_can_be_taken_away(world: World) -> None:
    made(world)
    world.merge(WIDGET, "a", {"status": {"size": 3}}, subresource="status")
    assert world.merge(WIDGET, "a", {"status": None}, subresource="status").object == widget("a")


def test_an_equal_status_keeps_the_version(world: World) -> None:
    made(world)
    first = world.merge(WIDGET, "a", {"status": {"size": 3}}, subresource="status")
    again = world.merge(WIDGET, "a", {"status": {"size": 3}}, subresource="status")
    assert again.raw == first.raw


def test_a_status_is_pruned(world: World) -> None:
    made(world)
    found = world.merge(WIDGET, "a", {"status": {"size": 3, "unknown": 1}}, subresource="status")
    assert found.object == widget("a", status={"size": 3})


def test_a_status_is_validated(world: World) -> None:
    made(world)
    found = world.merge(WIDGET, "a", {"status": {"note": "0123456789x"}}, subresource="status")
    rule = "Too long: may not be more than 10 bytes"
    assert found == invalid(WIDGET, "a", ("status.note", "TooLong", rule))


def test_a_status_of_a_wrong_type_is_told_relative_to_the_status(world: World) -> None:
    made(world)
    found = world.merge(WIDGET, "a", {"status": {"note": 5}}, subresource="status")
    rule = 'Invalid value: "integer": note in body must be of type string: "integer"'
    assert found == invalid(WIDGET, "a", ("status.note", "TypeInvalid", rule))


def test_an_old_version_is_a_conflict(world: World) -> None:
    made(world)
    before = world.get(WIDGET, "a").raw
    world.merge(WIDGET, "a", {"spec": {"size": 2}})
    found = world.update(WIDGET, "a", {**before, "status": {"size": 3}}, subresource="status")
    assert found == refused(
        409, "Conflict", f'Operation cannot be fulfilled on widgets.conformance.dynamo.dev "a": {MODIFIED}',
        **about(WIDGET, "a"),
    )  # fmt: skip


def test_a_custom_status_may_not_be_replaced_without_a_version(world: World) -> None:
    made(world)
    found = world.update(WIDGET, "a", body(WIDGET, "a", status={"size": 3}), subresource="status")
    assert (found.code, found.reason) == (422, "Invalid")


def test_the_status_of_an_absent_object_is_not_found(world: World) -> None:
    assert world.merge(WIDGET, "x", {"status": {}}, subresource="status") == not_found(WIDGET, "x")
    assert world.get(WIDGET, "x", subresource="status") == not_found(WIDGET, "x")


def test_the_status_can_be_read(world: World) -> None:
    made(world)
    assert world.get(WIDGET, "a", subresource="status") == world.get(WIDGET, "a")


def test_a_kind_without_status_has_no_such_resource(world: World) -> None:
    world.create(GADGET, body(GADGET, "a"))
    world.create(CONFIG_MAP, body(CONFIG_MAP, "a"))
    assert world.merge(GADGET, "a", {"status": {}}, subresource="status") == not_found(GADGET, "a")
    assert world.merge(CONFIG_MAP, "a", {"status": {}}, subresource="status") == refused(404, "NotFound", NO_RESOURCE)


def test_an_object_of_cluster_scope_has_a_status(world: World) -> None:
    name = world.name("earth")
    world.create(PLANET, body(PLANET, name, spec={"mass": 1}))
    found = world.merge(PLANET, name, {"spec": {"mass": 2}, "status": {"x": 1}}, subresource="status")
    assert found.object == body(PLANET, "earth-TOKEN", metadata={"generation": 1}, spec={"mass": 1})
    world.delete(PLANET, name)


def test_a_built_in_status_write_takes_metadata_along(world: World) -> None:
    pod = {
        "metadata": {"name": "a"},
        "spec": {"serviceAccountName": "default", "containers": [{"name": "c", "image": "i"}]},
    }
    world.accepted(lambda: world.create(POD, pod))
    patch = {"metadata": {"labels": {"l": "1"}}, "spec": {"restartPolicy": "Never"}, "status": {"message": "m"}}
    found = world.merge(POD, "a", patch, subresource="status").object
    assert found["metadata"]["labels"] == {"l": "1"}
    assert found["spec"]["restartPolicy"] == "Always"
    assert found["status"]["message"] == "m"
    world.delete(POD, "a", grace=0)


def test_the_status_of_a_deployment_leaves_its_labels(world: World) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "paused": True, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    world.create(DEPLOYMENT, body(DEPLOYMENT, "a", spec=spec))
    patch = {"metadata": {"labels": {"l": "1"}, "annotations": {"n": "1"}}, "spec": {"replicas": 7}, "status": {}}
    found = world.merge(DEPLOYMENT, "a", patch, subresource="status").object
    assert "labels" not in found["metadata"]
    assert found["metadata"]["annotations"]["n"] == "1"
    assert found["spec"]["replicas"] == 0


def test_the_phase_of_a_namespace_is_status(world: World) -> None:
    assert world.merge(NAMESPACE, world.namespace, {"status": {"phase": "Terminating"}}).object["status"] == {
        "phase": "Active"
    }


def scale(size: int, *, status: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a", "namespace": "NS"},
        "spec": {"replicas": size} if size else {},
        "status": {"replicas": status, **more},
    }


def test_a_scale_is_read_from_its_paths(world: World) -> None:
    made(world, spec={"size": 3})
    world.merge(WIDGET, "a", {"status": {"size": 2, "selector": "x=y"}}, subresource="status")
    assert world.get(WIDGET, "a", subresource="scale").object == scale(3, status=2, selector="x=y")


def test_a_scale_is_patched(world: World) -> None:
    made(world)
    assert world.merge(WIDGET, "a", {"spec": {"replicas": 5}}, subresource="scale").object == scale(5)
    assert world.get(WIDGET, "a").object == widget("a", generation=2, spec={"size": 5})


def test_a_scale_is_patched_as_json(world: World) -> None:
    made(world)
    patch = Patch.json([{"op": "replace", "path": "/spec/replicas", "value": 4}])
    assert world.patch(WIDGET, "a", patch, subresource="scale").object == scale(4)


def test_a_scale_is_replaced_without_a_version(world: World) -> None:
    made(world)
    sent = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}}
    assert world.update(WIDGET, "a", sent, subresource="scale").object == scale(2)


def test_a_scale_with_an_old_version_is_a_conflict(world: World) -> None:
    made(world)
    before = world.get(WIDGET, "a", subresource="scale").raw
    world.merge(WIDGET, "a", {"spec": {"size": 2}})
    found = world.update(WIDGET, "a", {**before, "spec": {"replicas": 9}}, subresource="scale")
    assert found == refused(
        409, "Conflict", f'Operation cannot be fulfilled on widgets.conformance.dynamo.dev "a": {MODIFIED}',
        **about(WIDGET, "a"),
    )  # fmt: skip


def test_an_equal_scale_keeps_the_version(world: World) -> None:
    made(world, spec={"size": 3})
    first = world.merge(WIDGET, "a", {"spec": {"replicas": 4}}, subresource="scale")
    assert world.merge(WIDGET, "a", {"spec": {"replicas": 4}}, subresource="scale").raw == first.raw


def test_a_scale_obeys_the_schema(world: World) -> None:
    made(world)
    found = world.merge(WIDGET, "a", {"spec": {"replicas": -5}}, subresource="scale")
    assert found == invalid(
        WIDGET, "a",
        ("spec.size", "Invalid", "Invalid value: -5: spec.size in body should be greater than or equal to 0"),
        (".spec.size", "Invalid", "Invalid value: -5: should be a non-negative integer"),
    )  # fmt: skip


def test_a_scale_of_an_absent_object_is_not_found(world: World) -> None:
    assert world.get(WIDGET, "x", subresource="scale") == not_found(WIDGET, "x")


def test_a_scale_names_its_object(world: World) -> None:
    made(world)
    sent = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {}, "spec": {"replicas": 2}}
    assert world.update(WIDGET, "a", sent, subresource="scale") == refused(
        400, "BadRequest", "the name of the object (a based on URL) was undeterminable: name must be provided"
    )


def test_a_kind_without_scale_has_no_such_resource(world: World) -> None:
    world.create(GADGET, body(GADGET, "a"))
    assert world.get(GADGET, "a", subresource="scale") == not_found(GADGET, "a")
    world.create(CONFIG_MAP, body(CONFIG_MAP, "a"))
    assert world.get(CONFIG_MAP, "a", subresource="scale") == refused(404, "NotFound", NO_RESOURCE)


def test_a_deployment_is_scaled(world: World) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "paused": True, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    world.create(DEPLOYMENT, body(DEPLOYMENT, "a", spec=spec))
    assert world.get(DEPLOYMENT, "a", subresource="scale").object == scale(0, selector="a=b")
    assert world.merge(DEPLOYMENT, "a", {"spec": {"replicas": 2}}, subresource="scale").object["spec"] == {
        "replicas": 2
    }
    assert world.get(DEPLOYMENT, "a").object["spec"]["replicas"] == 2
    assert stored(DEPLOYMENT, "a")["kind"] == "Deployment"
