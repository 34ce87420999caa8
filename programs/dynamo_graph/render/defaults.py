"""The container `main` and the Pod spec that each component type starts from, before the user's values (P 3.1)."""

from __future__ import annotations

from typing import Any, Final

from dynamo_graph.api.names import MAIN, Account, Port, PortName, endpoint_picker_config, inference_pool
from dynamo_graph.render import env, probes, standard_env
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.gpu import requests_gpu
from dynamo_graph.render.runtime_version import RuntimeVersion

SHELL: Final = ("/bin/sh", "-c")
GRACE_SECONDS: Final = 60
EPP_GRACE_SECONDS: Final = 130
EPP_CONFIG_FILE: Final = "epp-config-dynamo.yaml"
_EPP_CONFIG: Final = "epp-config"
_HF_CACHE: Final = "hf-cache"


def base_container(context: PodContext) -> dict[str, Any]:
    """The default container of a component, environment of the operator's configuration included."""
    version = context.version
    match context.component.type:
        case "frontend":
            return frontend_container(context, MAIN, version, gpus=requests_gpu(context.main))
        case "worker" | "prefill" | "decode":
            own: dict[str, Any] = {
                "command": SHELL,
                "ports": [_port(PortName.SYSTEM, Port.SYSTEM), _port(PortName.NIXL, Port.NIXL)],
                **probes.worker(version),
            }
            extra = standard_env.worker(version, context.worker_suffix)
        case "planner":
            ports = [_port(PortName.METRICS, Port.PLANNER_METRICS), _port(PortName.SYSTEM, Port.SYSTEM)]
            own = {"command": SHELL, "ports": ports, **probes.planner()}
            extra = standard_env.planner()
        case "epp":
            own = _endpoint_picker(context)
            native = context.component.epp_config is None
            extra = standard_env.endpoint_picker(context.dynamo_namespace, version, native=native)
        case _:
            own, extra = {"command": SHELL}, []
    return _container(context, MAIN, context.component.type or "", own, extra)


def frontend_container(context: PodContext, name: str, version: RuntimeVersion | None, *, gpus: bool) -> dict[str, Any]:
    """The default container of a frontend: `main` of its own component, or a sidecar called `name`."""
    own = {
        "command": ["python3"],
        "args": ["-m", "dynamo.frontend"],
        "ports": [_port(PortName.HTTP, Port.HTTP)],
        **probes.frontend(version),
    }
    return _container(
        context, name, "frontend", own, standard_env.frontend(context.dynamo_namespace, version, gpus=gpus)
    )


def base_pod(context: PodContext) -> dict[str, Any]:
    """The default Pod spec of a component, without containers."""
    pod: dict[str, Any] = {"restartPolicy": "Always", "terminationGracePeriodSeconds": GRACE_SECONDS}
    match context.component.type:
        case "planner":
            pod["serviceAccountName"] = Account.PLANNER
        case "epp":
            pod["serviceAccountName"] = Account.EPP
            pod["terminationGracePeriodSeconds"] = EPP_GRACE_SECONDS
            pod["volumes"] = [_endpoint_picker_volume(context)]
    return pod


def _container(context: PodContext, name: str, component: str, own: dict[str, Any], extra: env.Env) -> dict[str, Any]:
    common = standard_env.common(context, component=component, container=name)
    return {"name": name, **own, "env": env.merge(common, extra, standard_env.infrastructure(context.config))}


def _endpoint_picker(context: PodContext) -> dict[str, Any]:
    ports = [
        _port(PortName.EPP_GRPC, Port.EPP_GRPC),
        _port(PortName.EPP_HEALTH, Port.EPP_HEALTH),
        _port(PortName.METRICS, Port.SYSTEM),
    ]
    container: dict[str, Any] = {"ports": ports, **probes.endpoint_picker()}
    if context.component.epp_config is None:
        return {**container, "volumeMounts": [{"name": _HF_CACHE, "mountPath": "/home/dynamo/.cache"}]}
    flags = {
        "--pool-name": inference_pool(context.parent),
        "--pool-namespace": context.namespace,
        "--pool-group": "inference.networking.k8s.io",
        "-v": "4",
        "--zap-encoder": "json",
        "--grpc-port": str(Port.EPP_GRPC),
        "--grpc-health-port": str(Port.EPP_HEALTH),
        "--config-file": f"/etc/epp/{EPP_CONFIG_FILE}",
    }
    arguments = [word for flag, value in flags.items() for word in (flag, value)]
    mount = {"name": _EPP_CONFIG, "mountPath": "/etc/epp", "readOnly": True}
    return {**container, "args": arguments, "volumeMounts": [mount]}


def _endpoint_picker_volume(context: PodContext) -> dict[str, Any]:
    config = context.component.epp_config
    if config is None:
        return {"name": _HF_CACHE, "emptyDir": {}}
    if config.config_map_ref is None:
        return {"name": _EPP_CONFIG, "configMap": {"name": endpoint_picker_config(context.parent)}}
    item = {"key": config.config_map_ref.key or EPP_CONFIG_FILE, "path": EPP_CONFIG_FILE}
    return {"name": _EPP_CONFIG, "configMap": {"name": config.config_map_ref.name, "items": [item]}}


def _port(name: str, number: int) -> dict[str, Any]:
    return {"name": name, "containerPort": number, "protocol": "TCP"}
