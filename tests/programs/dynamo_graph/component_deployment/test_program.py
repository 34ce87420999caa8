"""G 3.9: one component deployment becomes a Deployment and a Service, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.controller.answer import DONE
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import SECRET, SERVICE, SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.networking import INGRESS
from dynamo_ctrl.objects.conditions import find
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.config import Discovery, OperatorConfig
from dynamo_graph.component_deployment.devices import RESOURCE_CLAIM_TEMPLATE
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.render.model_service import render_model_service
from dynamo_graph.testing import GraphWorld, component

ETCD = OperatorConfig(discovery=Discovery(backend="etcd"))
LABELS = {"nvidia.com/dynamo-namespace": "ns-g"}


def deployment(spec: dict[str, Any], *, name: str = "g-w") -> DynamoComponentDeployment:
    return DCD.object({"metadata": {"name": name, "namespace": "ns", "labels": LABELS}, "spec": spec})


def condition(world: GraphWorld, type_: str, name: str = "g-w") -> tuple[str, str, str] | None:
    found = find(world.deployment(name).status.conditions, type_)
    return (found.status, found.reason, found.message) if found is not None else None


WORKER = component("w", "worker", replicas=2, main={"resources": {"limits": {"nvidia.com/gpu": 4}}})


@pytest.mark.parametrize("spec", [pytest.param(WORKER, id="T-DCD-01")])
def test_the_first_status_holds_both_conditions_and_comes_after_the_workload(spec: dict[str, Any]) -> None:
    """There is no separate write of Unknown conditions: the first status tells what is known already."""
    world = GraphWorld(deployment(spec))
    assert world.pass_over_deployment("g-w") == DONE
    assert world.wrote()[:2] == [
        "patch DynamoComponentDeployment ns/g-w metadata.finalizers",
        "create Deployment ns/g-w",
    ]
    assert world.wrote()[-1].startswith("patch DynamoComponentDeployment ns/g-w/status")
    assert condition(world, "Available") == ("False", "DeploymentNotReady", "Deployment is not ready")
    assert condition(world, "DynamoComponentReady") == (
        "False",
        "ComponentNotReady",
        "DynamoComponent is not ready",
    )
    assert world.deployment("g-w").status.observed_generation == 1


def test_a_ready_deployment_makes_its_component_ready() -> None:
    world = GraphWorld(deployment(WORKER))
    world.converge()
    world.run_pods()
    assert condition(world, "Available") == ("True", "DeploymentReady", "Deployment is ready")
    assert condition(world, "DynamoComponentReady") == ("True", "ComponentReady", "DynamoComponent is ready")
    status = world.deployment("g-w").status.component
    assert status is not None
    assert status.model_dump(exclude_none=True) == {
        "component_kind": "Deployment",
        "component_names": ("g-w",),
        "replicas": 2,
        "updated_replicas": 2,
        "ready_replicas": 2,
        "available_replicas": 2,
        "runtime_namespace": "ns-g",
        "gpus_per_engine": 4,
        "gpus_per_replica": 4,
    }


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"compilationCache": {"pvcName": "c"}}, id="T-DCD-06"),
        pytest.param({"frontendSidecar": "fe"}, id="a rule of the API"),
    ],
)
def test_what_cannot_be_rendered_is_told_and_not_tried_again(change: dict[str, Any]) -> None:
    world = GraphWorld(deployment(WORKER))
    world.converge()
    world.run_pods()
    world.cache.edit(DCD, "ns/g-w", {"spec": change})
    answer = world.pass_over_deployment("g-w")
    assert answer.terminal
    available = condition(world, "Available")
    assert available is not None
    assert available[:2] == ("False", "Reconciling")
    assert available[2].startswith("Failed to reconcile DynamoComponentDeployment: ")
    status = world.deployment("g-w").status
    assert status.observed_generation == 1
    assert status.component is not None
    assert status.component.ready_replicas == 2
    assert status.component.gpus_per_engine is None
    assert [event.reason for _, event in world.cache.events] == ["ReconcileError"]
    world.pass_over_deployment("g-w")
    assert len(world.cache.events) == 1


@pytest.mark.parametrize("nodes", [pytest.param(2, id="T-DCD-08")])
def test_several_nodes_without_an_orchestrator_render_one_deployment(nodes: int) -> None:
    spec = {**component("w", "worker", main={"command": ["python3"]}), "multinode": {"nodeCount": nodes}}
    world = GraphWorld(deployment(spec))
    world.converge()
    assert world.cache.get(DEPLOYMENT, "ns/g-w") is not None


@pytest.mark.parametrize("config", [pytest.param(ETCD, id="T-DCD-10")])
def test_a_worker_without_kubernetes_discovery_has_no_service(config: OperatorConfig) -> None:
    world = GraphWorld(deployment(WORKER))
    world.converge()
    assert world.cache.get(SERVICE, "ns/g-w") is not None
    world.programs[2] = ComponentDeploymentProgram(config)
    world.converge()
    assert world.cache.get(SERVICE, "ns/g-w") is None
    assert any(write == "delete Service ns/g-w" for write in world.wrote())


def test_a_foreign_service_that_is_not_wanted_is_left_alone() -> None:
    ports = {"ports": [{"name": "p", "port": 1}]}
    foreign = SERVICE.object({"metadata": {"name": "g-w", "namespace": "ns"}, "spec": ports})
    world = GraphWorld(deployment(WORKER), foreign, config=ETCD)
    world.converge()
    assert world.cache.get(SERVICE, "ns/g-w") is not None
    assert condition(world, "OwnershipConflict") is None


@pytest.mark.parametrize("config", [pytest.param(ETCD, id="T-DCD-11"), OperatorConfig()])
def test_a_frontend_always_has_a_service(config: OperatorConfig) -> None:
    world = GraphWorld(deployment(component("Frontend", "frontend"), name="g-frontend"), config=config)
    world.converge()
    service = world.cache.get(SERVICE, "ns/g-frontend")
    assert service is not None
    (port,) = service.spec.ports
    assert (port.name, port.port, port.target_port) == ("http", 8000, "http")


def test_a_service_bears_what_its_component_says_to_others() -> None:
    """A cloud, a mesh, a monitor read it there (ai-dynamo/dynamo#10813); what speaks to this operator stays with the Pods."""
    template = component("Frontend")["podTemplate"]
    said = {"lb.example.com/scheme": "internal", "nvidia.com/deployment-strategy": "Recreate"}
    template["metadata"] = {"annotations": said}
    world = GraphWorld(deployment(component("Frontend", "frontend", podTemplate=template), name="g-frontend"))
    world.converge()
    world.cache.edit(DCD, "ns/g-frontend", {"metadata": {"labels": {"team": "a"}}})
    said["lb.example.com/scheme"] = "public"
    world.cache.edit(DCD, "ns/g-frontend", {"spec": {"podTemplate": template}})
    world.converge()
    service = world.cache.get(SERVICE, "ns/g-frontend")
    assert service is not None
    assert service.metadata.labels["team"] == "a"
    assert service.metadata.annotations["lb.example.com/scheme"] == "public"
    assert "nvidia.com/deployment-strategy" not in service.metadata.annotations
    written = len(world.wrote())
    world.pass_over_deployment("g-frontend")
    assert len(world.wrote()) == written


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param("Recreate", "Recreate", id="T-DCD-12"),
        pytest.param("recreate", "RollingUpdate", id="T-DCD-12 other"),
    ],
)
def test_only_the_exact_word_recreates(annotation: str, expected: str) -> None:
    template = component("w")["podTemplate"]
    template["metadata"] = {"annotations": {"nvidia.com/deployment-strategy": annotation}}
    world = GraphWorld(deployment(component("w", "worker", podTemplate=template)))
    world.converge()
    found = world.cache.get(DEPLOYMENT, "ns/g-w")
    assert found is not None
    assert found.spec.strategy.type == expected


def test_a_foreign_deployment_is_a_conflict_with_a_condition_and_no_reconcile_error() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    foreign = DEPLOYMENT.object({"metadata": {"name": "g-w", "namespace": "ns"}, "spec": spec})
    world = GraphWorld(deployment(WORKER), foreign)
    answer = world.pass_over_deployment("g-w")
    assert answer.error is not None
    assert not answer.terminal
    available, conflict = condition(world, "Available"), condition(world, "OwnershipConflict")
    assert available is not None
    assert available[:2] == ("False", "OwnershipConflict")
    assert conflict is not None
    assert conflict[:2] == ("True", "OwnershipConflict")
    assert condition(world, "DynamoComponentReady") == ("Unknown", "Reconciling", "")
    assert world.cache.events == []
    world.cache.delete(DEPLOYMENT, "ns/g-w")
    world.converge()
    conflict = condition(world, "OwnershipConflict")
    assert conflict is not None
    assert conflict[:2] == ("False", "OwnershipConflictResolved")


def test_an_error_of_the_server_is_tried_again() -> None:
    world = GraphWorld(deployment(WORKER))
    world.cache.faults.fail(Forbidden("quota"), "create", DEPLOYMENT)
    answer = world.pass_over_deployment("g-w")
    assert isinstance(answer.error, Forbidden)
    assert not answer.terminal
    assert world.deployment("g-w").status.observed_generation == 0
    world.converge()
    assert world.deployment("g-w").status.observed_generation == 1


def test_contradicting_checkpoint_settings_write_nothing_but_the_status() -> None:
    spec = {**WORKER, "experimental": {"checkpoint": {"enabled": True, "checkpointRef": "c", "job": {"a": 1}}}}
    world = GraphWorld(deployment(spec))
    assert world.pass_over_deployment("g-w") == DONE
    available = condition(world, "Available")
    assert available is not None
    assert available[:2] == ("False", "InvalidCheckpointConfiguration")
    assert world.cache.get(DEPLOYMENT, "ns/g-w") is None


AMBIGUOUS = {"resources": {"limits": {"nvidia.com/gpu": 1, "amd.com/gpu": 1}}}


def test_gpus_that_cannot_be_counted_fail_after_the_workload_was_written() -> None:
    world = GraphWorld(deployment(component("w", "worker", main=AMBIGUOUS)))
    answer = world.pass_over_deployment("g-w")
    assert answer.terminal
    assert "multiple scalar GPU resource keys" in str(answer.error)
    assert world.cache.get(DEPLOYMENT, "ns/g-w") is not None


def test_gpus_of_a_claim_are_counted_once_its_template_is_there() -> None:
    claims = {"resources": {"claims": [{"name": "gpus"}]}}
    template = component("w", main=claims)["podTemplate"]
    template["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "four"}]
    world = GraphWorld(deployment(component("w", "worker", podTemplate=template)))
    answer = world.pass_over_deployment("g-w")
    assert answer.error is not None
    assert not answer.terminal
    request = {"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 4}}
    world.cache.add(
        RESOURCE_CLAIM_TEMPLATE.object(
            {"metadata": {"name": "four", "namespace": "ns"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
        )
    )
    world.converge()
    status = world.deployment("g-w").status.component
    assert status is not None
    assert (status.gpus_per_engine, status.gpus_per_replica) == (4, 4)


def test_pods_without_an_account_get_the_labelled_one_and_their_pull_secrets() -> None:
    labels = {"nvidia.com/dynamo-component-pod": "true"}
    account = SERVICE_ACCOUNT.object({"metadata": {"name": "runtime", "namespace": "ns", "labels": labels}})
    docker = "eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlIjp7ImF1dGgiOiJzZWNyZXQifX19"  # {"auths":{"registry.example":...}}
    secret = SECRET.object(
        {
            "metadata": {"name": "pull", "namespace": "ns"},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": docker},
        }
    )
    world = GraphWorld(deployment(WORKER), account, secret, config=ETCD)
    world.converge()
    found = world.cache.get(DEPLOYMENT, "ns/g-w")
    assert found is not None
    pod = found.spec.template["spec"]
    assert pod["serviceAccountName"] == "runtime"
    assert pod["imagePullSecrets"] == [{"name": "pull"}]


def test_a_hand_edit_of_the_deployment_is_brought_back() -> None:
    world = GraphWorld(deployment(WORKER))
    world.converge()
    world.cache.edit(DEPLOYMENT, "ns/g-w", {"spec": {"replicas": 9}})
    world.converge()
    found = world.cache.get(DEPLOYMENT, "ns/g-w")
    assert found is not None
    assert found.spec.replicas == 2


def test_a_deleted_component_deployment_goes_with_its_children() -> None:
    world = GraphWorld(deployment(WORKER))
    world.converge()
    writes = len(world.cache.writes)
    world.cache.delete(DCD, "ns/g-w")
    assert world.pass_over_deployment("g-w") == DONE
    (write,) = world.cache.writes[writes:]
    assert (write.verb, write.ref.kind) == ("patch", DCD)
    assert world.cache.get(DCD, "ns/g-w") is None
    assert world.cache.get(DEPLOYMENT, "ns/g-w") is None


def watch_of(kind: Any) -> Any:
    (watch,) = (watch for watch in ComponentDeploymentProgram.watches.others if watch.kind == kind and not watch.mends)
    assert watch.mapper is not None
    return watch


def child(kind: Any, **metadata: Any) -> Any:
    return kind.object({"metadata": {"name": "g-w", "namespace": "ns", "uid": "u", "generation": 1, **metadata}})


def owner(uid: str, *, controller: bool = False) -> dict[str, Any]:
    found = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment", "name": uid, "uid": uid}
    return {**found, "controller": True} if controller else found


@pytest.mark.parametrize("kind", [DEPLOYMENT, SERVICE, INGRESS], ids=str)
@pytest.mark.parametrize("happens", ["comes", "changes", "goes"])
def test_every_change_of_a_controlled_object_wakes(kind: Any, happens: str) -> None:
    before = child(kind, ownerReferences=[owner("a", controller=True)])
    after = child(kind, ownerReferences=[owner("a", controller=True)], resourceVersion="2")
    change = {"comes": Change(None, before), "changes": Change(before, after), "goes": Change(before, None)}[happens]
    assert watch_of(kind).when(change)


def shared(*owners: str, **changes: Any) -> Any:
    content = render_model_service("llama-3", "ns").content()
    content["metadata"] |= {"uid": "u", "ownerReferences": [owner(each) for each in owners]}
    content["spec"] |= changes
    return SERVICE.object(content)


@pytest.mark.parametrize(
    ("change", "wakes"),
    [
        pytest.param(Change(None, shared("a")), False, id="an owner made it"),
        pytest.param(Change(shared("a"), shared("a", "b")), False, id="another owner joins"),
        pytest.param(Change(shared("a", "b"), shared("b")), False, id="an owner leaves"),
        pytest.param(Change(shared("a"), shared("a", selector={"by": "hand"})), True, id="somebody edits it"),
        pytest.param(Change(shared("a", "b"), None), True, id="somebody deletes it"),
    ],
)
def test_a_shared_service_wakes_its_owners_only_for_what_none_of_them_did(change: Change[Any], wakes: bool) -> None:
    assert watch_of(SERVICE).when(change) is wakes
