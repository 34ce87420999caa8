"""Accounts of planners and endpoint pickers, and the discovery account of a graph (P 6.1-6.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING, RoleBinding
from dynamo_graph.api.config import NamespaceSettings, OperatorConfig, Rbac
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.cluster_accounts import graphs_of
from dynamo_graph.component.discovery import RULES
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.testing import GraphWorld, component, graph

FRONTEND = component("Frontend", "frontend")
PICKER = component("epp", "epp")
RESTRICTED = OperatorConfig(namespace=NamespaceSettings(restricted="ns"))
INSTALLED = Path(__file__).parents[4] / "config/rbac/graph_roles.yaml"
PLANNER, EPP = "planner-serviceaccount", "epp-serviceaccount"


def world_of(*components: Any, config: OperatorConfig | None = None, objects: Any = ()) -> GraphWorld:
    world = GraphWorld(graph(*components), *objects, config=config)
    world.pass_over_graph()
    return world


def binding(world: GraphWorld, account: str) -> RoleBinding:
    found = world.cache.get(ROLE_BINDING, f"ns/{account}-binding")
    assert found is not None
    return found


def role_of(world: GraphWorld, account: str) -> str:
    name: str = binding(world, account).content()["roleRef"]["name"]
    return name


def bound(account: str, role: str, *subjects: str) -> RoleBinding:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    listed = [{"kind": "ServiceAccount", "name": name, "namespace": "ns"} for name in subjects]
    metadata = {"name": f"{account}-binding", "namespace": "ns"}
    return ROLE_BINDING.object({"metadata": metadata, "subjects": listed, "roleRef": reference})


@pytest.mark.parametrize("components", [pytest.param((FRONTEND,), id="T-POD-131")])
def test_every_graph_of_a_cluster_has_the_account_of_planners(components: Any) -> None:
    world = world_of(*components)
    account = world.cache.get(SERVICE_ACCOUNT, f"ns/{PLANNER}")
    assert account is not None
    for each in (account, binding(world, PLANNER)):
        assert each.metadata.owner_references == ()
        assert each.metadata.labels == {
            "app.kubernetes.io/managed-by": "dynamo-operator",
            "app.kubernetes.io/component": "rbac",
            "app.kubernetes.io/name": PLANNER,
        }
    content = binding(world, PLANNER).content()
    assert content["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "dynamo-planner",
    }
    assert content["subjects"] == [{"kind": "ServiceAccount", "name": PLANNER, "namespace": "ns"}]
    assert world.cache.get(SERVICE_ACCOUNT, f"ns/{EPP}") is None


def test_an_endpoint_picker_brings_its_account() -> None:
    world = world_of(PICKER)
    assert world.cache.get(SERVICE_ACCOUNT, f"ns/{EPP}") is not None
    assert role_of(world, EPP) == "dynamo-epp"


@pytest.mark.parametrize("config", [pytest.param(RESTRICTED, id="T-POD-132")])
def test_a_restricted_operator_makes_neither(config: OperatorConfig) -> None:
    world = world_of(FRONTEND, PICKER, config=config)
    names = {each.metadata.name for kind in (SERVICE_ACCOUNT, ROLE_BINDING) for each in world.cache.list(kind)}
    assert names == {"g-k8s-service-discovery", "g-k8s-service-discovery-binding"}


@pytest.mark.parametrize("old", [pytest.param(bound(PLANNER, "old", PLANNER), id="T-POD-133")])
def test_a_binding_to_another_role_is_made_anew(old: RoleBinding) -> None:
    world = world_of(FRONTEND, objects=[old])
    writes = [write for write in world.wrote() if PLANNER in write and "RoleBinding" in write]
    assert writes == [f"delete RoleBinding ns/{PLANNER}-binding", f"create RoleBinding ns/{PLANNER}-binding"]
    assert role_of(world, PLANNER) == "dynamo-planner"


@pytest.mark.parametrize("subjects", [pytest.param((PLANNER, "other"), id="T-POD-134"), ("other",), ()])
def test_wrong_subjects_are_replaced_in_place(subjects: tuple[str, ...]) -> None:
    world = world_of(FRONTEND, objects=[bound(PLANNER, "dynamo-planner", *subjects)])
    (write,) = [write for write in world.wrote() if PLANNER in write and "RoleBinding" in write]
    assert write.startswith(f"patch RoleBinding ns/{PLANNER}-binding subjects")
    assert [each["name"] for each in binding(world, PLANNER).content()["subjects"]] == [PLANNER]


@pytest.mark.parametrize(
    ("rbac", "message"),
    [
        pytest.param(
            Rbac(epp_cluster_role_name=""),
            "failed to ensure EPP RBAC: EPP ClusterRole name is required in cluster-wide mode when EPP service is present",
            id="T-POD-135",
        ),
        pytest.param(
            Rbac(planner_cluster_role_name=""),
            "failed to ensure planner RBAC: planner ClusterRole name is required in cluster-wide mode",
            id="planner",
        ),
    ],
)
def test_a_role_without_a_name_fails_the_graph(rbac: Rbac, message: str) -> None:
    world = GraphWorld(graph(FRONTEND, PICKER), config=OperatorConfig(rbac=rbac))
    assert world.pass_over_graph().terminal
    assert world.ready() == ("False", "failed_to_reconcile_the_resources", message)
    assert world.deployments() == []


def test_accounts_that_are_there_are_never_changed() -> None:
    foreign = {"metadata": {"name": PLANNER, "namespace": "ns", "labels": {"a": "b"}}}
    world = world_of(FRONTEND, objects=[SERVICE_ACCOUNT.object(foreign)])
    found = world.cache.get(SERVICE_ACCOUNT, f"ns/{PLANNER}")
    assert found is not None
    assert found.metadata.labels == {"a": "b"}


def test_a_binding_that_goes_comes_back_and_wakes_every_graph_of_its_namespace() -> None:
    world = GraphWorld(graph(FRONTEND), graph(FRONTEND, name="h"))
    world.converge()
    gone = binding(world, PLANNER)
    (watch,) = (watch for watch in ComponentProgram.watches.others if watch.kind == ROLE_BINDING)
    assert watch.when(Change(gone, None))
    assert not watch.when(Change(None, gone))
    assert sorted(map(str, graphs_of(gone, world.cache))) == ["ns/g", "ns/h"]
    own = world.cache.get(ROLE_BINDING, "ns/g-k8s-service-discovery-binding")
    assert own is not None
    assert list(map(str, graphs_of(own, world.cache))) == ["ns/g"]
    world.cache.delete(ROLE_BINDING, gone.key)
    world.converge()
    assert role_of(world, PLANNER) == "dynamo-planner"


def test_they_stay_when_the_graph_goes() -> None:
    world = GraphWorld(graph(FRONTEND))
    world.converge()
    world.cache.delete(DGD, "ns/g")
    world.converge()
    assert [each.metadata.name for each in world.cache.list(SERVICE_ACCOUNT)] == [PLANNER]
    assert [each.metadata.name for each in world.cache.list(ROLE_BINDING)] == [f"{PLANNER}-binding"]


@pytest.mark.parametrize("name", [pytest.param("g", id="T-POD-136")])
def test_a_graph_has_the_account_by_which_its_pods_find_each_other(name: str) -> None:
    own = component("own", "worker")
    own["podTemplate"]["spec"]["serviceAccountName"] = "mine"
    world = GraphWorld(graph(FRONTEND, own, name=name))
    world.pass_over_graph(name)
    account = f"{name}-k8s-service-discovery"
    found: list[Any] = [
        world.cache.get(SERVICE_ACCOUNT, f"ns/{account}"),
        world.cache.get(ROLE, f"ns/{account}-role"),
        world.cache.get(ROLE_BINDING, f"ns/{account}-binding"),
    ]
    for each in found:
        assert each is not None
        assert [reference.uid for reference in each.metadata.owner_references] == [world.graph(name).metadata.uid]
    rules = found[1].content()["rules"]
    assert [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in rules] == [
        ([""], ["endpoints"], ["get", "list", "watch"]),
        ([""], ["pods"], ["get", "list", "watch"]),
        (["discovery.k8s.io"], ["endpointslices"], ["get", "list", "watch"]),
        (
            ["nvidia.com"],
            ["dynamoworkermetadatas"],
            ["create", "get", "list", "watch", "update", "patch", "delete"],
        ),
    ]
    binding = found[2].content()
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": f"{account}-role",
    }
    assert [(each["kind"], each["name"], each["namespace"]) for each in binding["subjects"]] == [
        ("ServiceAccount", account, "ns"),
        ("ServiceAccount", "mine", "ns"),
    ]


# --- what an installation brings for them


def rights(rules: Any) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_installation_has_the_roles_that_are_bound_by_default_and_permits_just_those() -> None:
    roles = {each["metadata"]["name"]: each for each in yaml.safe_load_all(INSTALLED.read_text()) if "rules" in each}
    default = Rbac()
    names = {default.planner_cluster_role_name, default.epp_cluster_role_name}
    assert roles.keys() == {*names, "dynamo-manager-binds"}
    (binds,) = roles["dynamo-manager-binds"]["rules"]
    assert (binds["resources"], set(binds["resourceNames"]), binds["verbs"]) == (["clusterroles"], names, ["bind"])
    for name in names:
        assert rights(RULES) <= rights(roles[name]["rules"])
