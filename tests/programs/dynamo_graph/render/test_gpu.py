"""Counting GPUs: of a container, of its claims, of a replica (P 2.6, 2.7, 10.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.gpu import scalar_gpus
from dynamo_graph.render.gpu_claims import NoDevices
from dynamo_graph.render.gpu_shape import GpuShape, container_gpus, gpu_shape, pod_scalar_gpus

Tree = dict[str, Any]


@dataclass(frozen=True)
class KnownDevices:
    """Devices of a test, each by name."""

    claims: dict[str, Tree]
    templates: dict[str, Tree]
    classes: dict[str, Tree]

    def claim(self, name: str) -> Tree | None:
        return self.claims.get(name)

    def template(self, name: str) -> Tree | None:
        return self.templates.get(name)

    def device_class(self, name: str) -> Tree | None:
        return self.classes.get(name)


def container(limits: Tree | None = None, requests: Tree | None = None, **more: Any) -> Tree:
    return {"name": "main", "resources": {"limits": limits or {}, "requests": requests or {}}, **more}


def gpus(number: int, **more: Any) -> Tree:
    return container({"nvidia.com/gpu": number}, **more)


@pytest.mark.parametrize(
    ("limits", "requests", "expected"),
    [
        pytest.param({"nvidia.com/gpu": 8}, {}, 8, id="T-POD-60"),
        pytest.param({}, {"amd.com/gpu": 4}, 4, id="T-POD-61"),
        pytest.param({"nvidia.com/mig-3g.20gb": 2}, {}, 2, id="T-POD-62"),
        pytest.param({"gpu.intel.com/i915": 1}, {}, 1, id="T-POD-63"),
        pytest.param({"nvidia.com/gpu": 8}, {"nvidia.com/gpu": 4}, 8, id="T-POD-65"),
        pytest.param({"cpu": "4"}, {}, 0, id="T-POD-67"),
        pytest.param({"NVIDIA.com/GPU": "2"}, {}, 2, id="upper case"),
    ],
)
def test_scalar_gpus_are_counted(limits: Tree, requests: Tree, expected: int) -> None:
    assert scalar_gpus(container(limits, requests), "c") == expected


@pytest.mark.parametrize(
    ("limits", "requests", "rule"),
    [
        pytest.param(
            {"nvidia.com/gpu": 1},
            {"amd.com/gpu": 1},
            "multiple scalar GPU resource keys [amd.com/gpu nvidia.com/gpu] are ambiguous; specify exactly one per container",
            id="T-POD-64",
        ),
        pytest.param(
            {"nvidia.com/gpu": "500m"},
            {},
            'GPU resource "nvidia.com/gpu" quantity "500m" must be a whole number',
            id="T-POD-66",
        ),
    ],
)
def test_gpus_that_cannot_be_counted_are_an_error(limits: Tree, requests: Tree, rule: str) -> None:
    with pytest.raises(RenderError) as raised:
        scalar_gpus(container(limits, requests), "c")
    assert (raised.value.path, raised.value.rule) == ("c.resources", rule)


POD = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}


def devices(*requests: Tree, device_class: Tree | None = None, name: str = "gpu.nvidia.com") -> KnownDevices:
    spec = {"devices": {"requests": list(requests)}}
    return KnownDevices({"c": spec}, {"t": {"spec": spec}}, {name: device_class or {}})


def request(name: str = "r", **exactly: Any) -> Tree:
    return {"name": name, "exactly": {"deviceClassName": "gpu.nvidia.com", **exactly}}


def claiming(*references: Tree) -> Tree:
    return {"name": "main", "resources": {"claims": list(references) or [{"name": "gpu"}]}}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(devices(request(count=4)), 4, id="T-POD-68"),
        pytest.param(devices(request()), 1, id="no count is one"),
        pytest.param(devices(request(deviceClassName="nic")), 0, id="not a GPU by its class"),
        pytest.param(
            devices(request(count=2, selectors=[{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}])),
            2,
            id="by the driver of the request",
        ),
        pytest.param(
            devices(
                request(deviceClassName="x", count=2),
                name="x",
                device_class={"extendedResourceName": "a/gpu", "selectors": [{"cel": {"expression": "true"}}]},
            ),
            2,
            id="by the extended resource of the class",
        ),
        pytest.param(
            devices({"name": "r", "firstAvailable": [request(count=2)["exactly"], request(count=2)["exactly"]]}),
            2,
            id="equal alternatives",
        ),
    ],
)
def test_gpus_of_a_claim_are_counted(known: KnownDevices, expected: int) -> None:
    assert container_gpus(claiming(), POD, known, "c") == expected


@pytest.mark.parametrize("reference", [pytest.param({"name": "gpu", "request": "r"}, id="T-POD-70")])
def test_a_request_that_is_named_twice_counts_once(reference: Tree) -> None:
    both = claiming(reference, dict(reference))
    assert container_gpus(both, POD, devices(request(count=4)), "c") == 4


@pytest.mark.parametrize(
    ("asking", "known", "rule"),
    [
        pytest.param(claiming(), devices(request(allocationMode="All")), "asks for all devices", id="T-POD-69"),
        pytest.param(
            claiming(),
            devices(request(), device_class={"selectors": [{"cel": {"expression": "device.attributes['a'] == 1"}}]}),
            "cannot be decided",
            id="T-POD-71",
        ),
        pytest.param(
            claiming(),
            devices(
                request(),
                device_class={"selectors": [{"cel": {"expression": 'device.driver == "gpu.x" || true'}}]},
            ),
            "cannot be decided",
            id="an alternative driver decides nothing",
        ),
        pytest.param(
            claiming({"name": "other"}),
            devices(request()),
            'container ResourceClaim "other" has no matching pod resourceClaim',
            id="no such claim",
        ),
        pytest.param(
            claiming({"name": "gpu", "request": "x"}),
            devices(request()),
            'device request "x" was not found',
            id="no such request",
        ),
        pytest.param(claiming(), NoDevices(), 'ResourceClaimTemplate "t" was not found', id="no such template"),
        pytest.param(
            claiming(),
            devices({"name": "r", "firstAvailable": [request(count=1)["exactly"], request(count=2)["exactly"]]}),
            "alternatives with different numbers",
            id="unequal alternatives",
        ),
    ],
)
def test_claims_that_cannot_be_counted_are_an_error(asking: Tree, known: Any, rule: str) -> None:
    with pytest.raises(RenderError, match=rule) as raised:
        container_gpus(asking, POD, known, "c")
    assert raised.value.path == "c.resources.claims"


@pytest.mark.parametrize("nodes", [pytest.param(2, id="T-POD-72")])
def test_leader_and_worker_pods_add_up(nodes: int) -> None:
    main = gpus(8)
    pod = {"containers": [main, gpus(1, name="sidecar")]}
    assert gpu_shape(main, [(pod, nodes)], nodes=nodes, devices=NoDevices()) == GpuShape(16, 18)


@pytest.mark.parametrize("pods", [pytest.param(2, id="T-POD-73")])
def test_a_claim_that_pods_share_counts_once(pods: int) -> None:
    main = claiming()
    pod = {"containers": [main], "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}
    shape = gpu_shape(main, [(pod, pods)], nodes=pods, devices=devices(request(count=4)))
    assert shape is not None
    assert shape.per_replica == 4


def test_a_claim_template_counts_for_every_pod() -> None:
    main = claiming()
    shape = gpu_shape(main, [({"containers": [main], **POD}, 2)], nodes=2, devices=devices(request(count=4)))
    assert shape == GpuShape(8, 8)


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        pytest.param([gpus(1, restartPolicy="Always"), gpus(2)], 3, id="T-POD-74"),
        pytest.param([gpus(2), gpus(1, restartPolicy="Always")], 2, id="sidecar after the init container"),
        pytest.param([gpus(5)], 5, id="init peak"),
    ],
)
def test_a_pod_costs_its_worst_moment(init: list[Tree], expected: int) -> None:
    assert pod_scalar_gpus({"initContainers": init, "containers": [gpus(1)]}) == expected


@pytest.mark.parametrize("number", [pytest.param(2, id="T-POD-75")])
def test_replicas_of_a_plain_clique_do_not_multiply(number: int) -> None:
    main = gpus(number)
    assert gpu_shape(main, [({"containers": [main]}, 1)], nodes=1, devices=NoDevices()) == GpuShape(2, 2)


def test_a_replica_without_gpus_has_no_shape() -> None:
    assert gpu_shape({}, [({"containers": [{}]}, 1)], nodes=1, devices=NoDevices()) is None
