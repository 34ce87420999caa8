"""Discovery: what a group version serves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.kinds import GROUP
from tests.conformance.outcome import refused
from tests.conformance.world import World

VERBS = {"create", "delete", "get", "list", "patch", "update", "watch"}


def served(world: World, group: str, version: str = "v1") -> dict[str, Any]:
    return {resource.plural: resource for resource in world.discover(group, version)}


def test_custom_resources_are_discovered(world: World) -> None:
    found = served(world, GROUP)
    assert {plural: (each.kind, each.namespaced, set(each.subresources)) for plural, each in found.items()} == {
        "widgets": ("Widget", True, {"status", "scale"}),
        "gadgets": ("Gadget", True, set()),
        "planets": ("Planet", False, {"status"}),
        "shapes": ("Shape", True, set()),
    }


@pytest.mark.parametrize("plural", ["widgets", "gadgets", "planets"])
def test_a_custom_resource_has_the_usual_verbs(world: World, plural: str) -> None:
    assert set(served(world, GROUP)[plural].verbs) >= VERBS


@pytest.mark.parametrize(
    ("group", "version", "plural", "kind", "namespaced", "subresources"),
    [
        ("", "v1", "pods", "Pod", True, {"status"}),
        ("", "v1", "namespaces", "Namespace", False, {"status"}),
        ("", "v1", "configmaps", "ConfigMap", True, set()),
        ("apps", "v1", "deployments", "Deployment", True, {"status", "scale"}),
        ("apps", "v1", "replicasets", "ReplicaSet", True, {"status", "scale"}),
        ("batch", "v1", "jobs", "Job", True, {"status"}),
        ("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", False, set()),
        ("coordination.k8s.io", "v1", "leases", "Lease", True, set()),
        ("events.k8s.io", "v1", "events", "Event", True, set()),
        ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", True, {"status"}),
        ("networking.k8s.io", "v1", "ingresses", "Ingress", True, {"status"}),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False, {"status"}),
    ],
)
def test_built_in_resources_are_discovered(
    world: World, group: str, version: str, plural: str, kind: str, namespaced: bool, subresources: set[str]
) -> None:
    found = served(world, group, version)[plural]
    assert (found.group, found.version, found.kind, found.namespaced) == (group, version, kind, namespaced)
    assert set(found.subresources) >= subresources
    assert set(found.verbs) >= VERBS


def test_an_unknown_group_is_not_found(world: World) -> None:
    found = world.discover("nothing.dynamo.dev", "v1")
    assert found == refused(404, "NotFound", "404 page not found")


def test_an_unknown_version_is_not_found(world: World) -> None:
    assert world.discover(GROUP, "v9").code == 404
