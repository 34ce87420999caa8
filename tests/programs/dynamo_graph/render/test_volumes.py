"""Shared memory, compilation cache, claims and the frontend sidecar (P 5.1-5.4, 10.7)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.render.context import Surroundings

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench

Tree = dict[str, Any]
SHM = {"name": "shared-memory", "mountPath": "/dev/shm"}


def mount(name: str, path: str, **more: Any) -> Tree:
    return {"name": name, "mountPath": path, **more}


def claim(name: str, of: str | None = None) -> Tree:
    return {"name": name, "persistentVolumeClaim": {"claimName": of or name}}


@pytest.mark.parametrize(
    ("size", "limit"),
    [
        pytest.param(None, "8Gi", id="T-POD-102 T-REND-14 absent"),
        pytest.param("16Gi", "16Gi", id="T-POD-102 16Gi"),
        pytest.param("2Gi", "2Gi", id="T-REND-14 2Gi"),
        pytest.param("0", None, id="T-POD-102 T-REND-14 0"),
        pytest.param("0Gi", None, id="0Gi"),
    ],
)
def test_shared_memory_has_the_size_that_is_asked_for(bench: Bench, size: str | None, limit: str | None) -> None:
    pod = bench.pod("worker", **({"sharedMemorySize": size} if size else {}))
    if limit is None:
        assert "volumes" not in pod
        assert "volumeMounts" not in pod["containers"][0]
        return
    assert pod["volumes"] == [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": limit}}]
    assert pod["containers"][0]["volumeMounts"] == [SHM]


@pytest.mark.parametrize("own", [pytest.param(mount("my", "/dev/shm"), id="T-POD-103")])
def test_a_mount_of_the_user_at_dev_shm_gives_way(bench: Bench, own: Tree) -> None:
    pod = bench.pod("worker", {"volumeMounts": [own]}, pod={"volumes": [{"name": "my", "emptyDir": {}}]})
    assert pod["containers"][0]["volumeMounts"] == [SHM]
    assert [volume["name"] for volume in pod["volumes"]] == ["shared-memory", "my"]


@pytest.mark.parametrize("size", [pytest.param("0", id="T-POD-104")])
def test_without_shared_memory_the_mount_of_the_user_stays(bench: Bench, size: str) -> None:
    own = mount("my", "/dev/shm")
    pod = bench.pod(
        "worker", {"volumeMounts": [own]}, pod={"volumes": [{"name": "my", "emptyDir": {}}]}, sharedMemorySize=size
    )
    assert pod["containers"][0]["volumeMounts"] == [own]


CACHE = {"pvcName": "c", "mountPath": "/cache"}


@pytest.mark.parametrize(
    ("mounts", "volumes", "rule"),
    [
        pytest.param(
            [mount("other", "/cache")],
            [],
            'compilationCache.mountPath "/cache" is already used by volume "other"',
            id="T-POD-105",
        ),
        pytest.param(
            [mount("c", "/cache", readOnly=True)],
            [],
            'compilation cache volume "c" at "/cache" must be writable',
            id="T-POD-106",
        ),
        pytest.param([], [{"name": "c", "emptyDir": {}}], 'must reference PVC "c"', id="T-POD-107"),
        pytest.param([], [claim("c", "d")], 'references PVC "d" instead of "c"', id="another claim"),
        pytest.param([], [claim("c"), claim("c")], "is defined more than once", id="twice"),
    ],
)
def test_what_is_at_the_place_of_the_cache_must_be_the_cache(
    bench: Bench, mounts: list[Tree], volumes: list[Tree], rule: str
) -> None:
    with pytest.raises(InvalidObject, match=re.escape(rule)):
        bench.pod("worker", {"volumeMounts": mounts}, pod={"volumes": volumes}, compilationCache=CACHE)


def test_a_read_only_claim_cannot_be_a_cache(bench: Bench) -> None:
    volume = {"name": "c", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}}
    with pytest.raises(InvalidObject, match='compilation cache PVC "c" must be writable'):
        bench.pod("worker", pod={"volumes": [volume]}, compilationCache=CACHE)


@pytest.mark.parametrize("mounts", [pytest.param([mount("c", "/cache"), mount("c", "/cache")], id="T-POD-108")])
def test_two_mounts_of_the_cache_collapse(bench: Bench, mounts: list[Tree]) -> None:
    pod = bench.pod("worker", {"volumeMounts": mounts}, compilationCache=CACHE)
    assert pod["containers"][0]["volumeMounts"] == [mount("c", "/cache"), SHM]
    assert pod["volumes"][0] == claim("c")


def test_a_mount_of_the_cache_without_a_path_gets_it(bench: Bench) -> None:
    pod = bench.pod("worker", {"volumeMounts": [{"name": "c"}]}, compilationCache=CACHE)
    assert pod["containers"][0]["volumeMounts"][0] == mount("c", "/cache")


def test_the_claim_of_a_cache_must_be_able_to_name_a_volume(bench: Bench) -> None:
    with pytest.raises(InvalidObject, match="must be a DNS label") as raised:
        bench.pod("worker", compilationCache={"pvcName": "a.b", "mountPath": "/cache"})
    assert raised.value.path == "spec.compilationCache.pvcName"


@pytest.mark.parametrize("mounts", [pytest.param([mount("a", "/a"), mount("b", "/b")], id="T-POD-109")])
def test_volumes_follow_the_mounts_of_main(bench: Bench, mounts: list[Tree]) -> None:
    pod = bench.pod(
        "worker",
        {"volumeMounts": mounts},
        pod={"volumes": [{"name": "b", "emptyDir": {}}, {"name": "z", "emptyDir": {}}]},
    )
    assert [volume["name"] for volume in pod["volumes"]] == ["a", "b", "shared-memory", "z"]
    assert pod["volumes"][0] == claim("a")


def test_a_mount_that_can_be_no_claim_is_an_error(bench: Bench) -> None:
    with pytest.raises(InvalidObject, match='"A_b" has no volume'):
        bench.pod("worker", {"volumeMounts": [mount("A_b", "/a")]})


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        pytest.param({"name": "m"}, "volumeMount.mountPath is required for m", id="T-POD-110"),
        pytest.param({"mountPath": "/m"}, "volumeMount.name is required", id="no name"),
    ],
)
def test_a_mount_needs_name_and_path(bench: Bench, broken: Tree, rule: str) -> None:
    with pytest.raises(InvalidObject, match=rule):
        bench.pod("worker", {"volumeMounts": [broken]})


@pytest.mark.parametrize("name", [pytest.param("fe", id="T-POD-111 T-REND-15")])
def test_a_frontend_sidecar_that_is_not_there_is_an_error(bench: Bench, name: str) -> None:
    with pytest.raises(InvalidObject, match='frontendSidecar "fe" does not match any podTemplate container') as raised:
        bench.pod("worker", frontendSidecar=name)
    assert raised.value.path == "spec.frontendSidecar"


def sidecar(bench: Bench, own: Tree | None = None, **fields: Any) -> Tree:
    pod = bench.pod("worker", others=[{"name": "fe", "image": "img", **(own or {})}], frontendSidecar="fe", **fields)
    found: Tree = pod["containers"][1]
    return found


@pytest.mark.parametrize("mounts", [pytest.param([mount("m", "/m")], id="T-POD-112")])
def test_a_frontend_sidecar_shares_the_mounts_of_main_but_not_its_memory(bench: Bench, mounts: list[Tree]) -> None:
    found = sidecar(bench, main={"volumeMounts": mounts})
    assert found["volumeMounts"] == mounts
    assert bench.values(found)["DYN_COMPONENT"] == "frontend"
    assert found["command"] == ["python3"]
    assert [entry["containerPort"] for entry in found["ports"]] == [8000]
    assert "DYN_NAMESPACE_WORKER_SUFFIX" not in bench.values(found)


def test_a_mount_that_the_sidecar_has_itself_stays(bench: Bench) -> None:
    found = sidecar(bench, {"volumeMounts": [mount("m", "/own")]}, main={"volumeMounts": [mount("m", "/m")]})
    assert found["volumeMounts"] == [mount("m", "/own")]


def test_a_place_that_the_sidecar_uses_is_not_mounted_over(bench: Bench) -> None:
    """A path is mounted once in a container, or the server refuses the Pod (ai-dynamo/dynamo#8707)."""
    found = sidecar(
        bench, {"volumeMounts": [mount("own", "/m")]}, main={"volumeMounts": [mount("m", "/m"), mount("n", "/n")]}
    )
    assert found["volumeMounts"] == [mount("own", "/m"), mount("n", "/n")]


def test_one_claim_may_be_mounted_in_several_places(bench: Bench) -> None:
    """There is one volume for all of them (ai-dynamo/dynamo#10822)."""
    mounts = [mount("m", "/models", subPath="models"), mount("m", "/cache", subPath="cache")]
    pod = bench.pod("worker", {"volumeMounts": mounts}, sharedMemorySize="0")
    assert pod["containers"][0]["volumeMounts"] == mounts
    assert pod["volumes"] == [claim("m")]


@pytest.mark.parametrize("probe", [pytest.param({"exec": {"command": ["true"]}}, id="T-POD-113")])
def test_a_probe_of_the_sidecar_is_replaced_not_merged(bench: Bench, probe: Tree) -> None:
    found = sidecar(bench, {"readinessProbe": probe})
    assert found["readinessProbe"] == {"exec": {"command": ["true"]}}


def test_the_sidecar_is_told_the_addresses_of_the_configuration(bench: Bench) -> None:
    """It talks to the same infrastructure as its engine (ai-dynamo/dynamo#8264)."""
    config = bench.config(infrastructure={"natsAddress": "nats://n", "etcdAddress": "http://e"})
    found = bench.values(sidecar(bench, around=Surroundings(config=config)))
    assert (found["NATS_SERVER"], found["ETCD_ENDPOINTS"]) == ("nats://n", "http://e")


@pytest.mark.parametrize("mode", [pytest.param("container", id="T-POD-114")])
def test_in_container_mode_each_runtime_knows_its_container(bench: Bench, mode: str) -> None:
    template = {"metadata": {"annotations": {"nvidia.com/dynamo-kube-discovery-mode": mode}}}
    pod = bench.pod("worker", others=[{"name": "fe", "image": "img"}], frontendSidecar="fe", template=template)
    main, frontend = (bench.values(container) for container in pod["containers"])
    assert (main["CONTAINER_NAME"], frontend["CONTAINER_NAME"]) == ("main", "fe")
    assert main["DYN_KUBE_DISCOVERY_MODE"] == frontend["DYN_KUBE_DISCOVERY_MODE"] == "container"
