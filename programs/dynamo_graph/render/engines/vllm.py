"""vLLM (P 2.3): over several nodes with its own processes, with Ray, or as data-parallel ranks; and where its cache is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.names import Annotation
from dynamo_graph.render import env, origin, template
from dynamo_graph.render.command_line import SHELL, as_script, inserted, no_place, with_flags
from dynamo_graph.render.compilation_cache import mount_path
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.engines import wait_for_leader
from dynamo_graph.render.engines.flags import DATA, ELASTIC, PIPELINE, TENSOR, Flags
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.probes import without_probes
from dynamo_graph.render.shell import in_shell, is_python, is_shell, joined
from dynamo_graph.render.warnings import RenderWarning

VLLM_CACHE_ROOT: Final = "VLLM_CACHE_ROOT"
SIDE_CHANNEL_HOST: Final = "VLLM_NIXL_SIDE_CHANNEL_HOST"
MASTER_PORT: Final = 29500
DATA_PARALLEL_PORT: Final = 13445
RAY_PORT: Final = 6379

Executor = Literal["mp", "ray"]
Mode = Literal["mp", "ray", "data-parallel", "none"]


@dataclass(frozen=True, slots=True)
class Span:
    """How an engine spreads over its nodes.

    Attributes:
        mode: who spreads it; `none` leaves the nodes alone.
        world: GPUs of one data-parallel rank.
        gpus: of one node.
        ranks: data-parallel ranks.
    """

    mode: Mode
    world: int
    gpus: int
    ranks: int


def executor(context: PodContext) -> Executor:
    """Who runs an engine on several nodes, by annotation, else by the release that the graph comes from (P 2.3.2)."""
    annotations = template.annotations_of(context.template)
    match annotations.get(Annotation.VLLM_EXECUTOR, "").lower():
        case "mp":
            return "mp"
        case "ray":
            return "ray"
        case _:
            return "mp" if origin.origin_at_least(annotations, origin.EXECUTOR_MP, unknown=False) else "ray"


def span(context: PodContext) -> Span:
    """How a component over several nodes spreads (P 2.3.3). Raises `RenderError`."""
    flags, gpus = Flags.of(context.main), context.gpus
    world, ranks = flags.number(TENSOR) * flags.number(PIPELINE), flags.number(DATA)
    if gpus > 0 and world > gpus:
        return Span(executor(context), world, gpus, ranks)
    if flags.has(ELASTIC):
        rule = f'component "{context.component.name}": {ELASTIC} over several nodes is not supported'
        raise RenderError("multinode", rule)
    return Span("data-parallel" if gpus > 0 and world * ranks > gpus else "none", world, gpus, ranks)


class Vllm:
    """The engine vLLM."""

    def with_container(self, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """Flags or Ray, probes by rank, and variables that win over the user's."""
        component = context.component
        changed = dict(main)
        if context.role != "main":
            changed = _spread(changed, context, span(context))
            if executor(context) == "mp":
                address = env.field_reference(SIDE_CHANNEL_HOST, "status.podIP")
                changed["env"] = env.append(changed.get("env") or (), address)
        if component.compilation_cache is not None:
            root = {"name": VLLM_CACHE_ROOT, "value": mount_path(component.compilation_cache, "vllm")}
            changed["env"] = env.append(changed.get("env") or (), root)
        return without_probes(changed) if context.role == "worker" else changed

    def with_pod(self, pod: JsonMap, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """Workers that would give up, or join a leader that is about to end, wait for theirs first."""
        if context.role != "worker" or not context.graph:
            return dict(pod)
        match span(context).mode:
            case "mp":
                return wait_for_leader.with_mp_wait(pod, main, context, MASTER_PORT)
            case "ray" if _waits_for_ray(context):
                return wait_for_leader.with_ray_wait(pod, main, context, RAY_PORT)
            case _:
                return dict(pod)

    def warning(self, context: PodContext) -> RenderWarning | None:
        """Nodes that would run the same engine independently of each other."""
        if not context.component.is_multinode:
            return None
        found = span(context)
        if found.mode != "none":
            return None
        needs = f"{found.world * found.ranks} GPUs" if found.gpus else "GPUs that main does not request"
        note = (
            f"component {context.component.name}: {context.component.nodes} nodes run independent engines,"
            f" since one of world size {found.world} needs {needs} and a node has {found.gpus}"
        )
        return RenderWarning("MultinodeNotNeeded", note)


def _waits_for_ray(context: PodContext) -> bool:
    return origin.origin_at_least(template.annotations_of(context.template), origin.RAY_WAIT, unknown=True)


def _spread(main: JsonMap, context: PodContext, found: Span) -> dict[str, Any]:
    match found.mode:
        case "mp":
            return _processes(main, context)
        case "data-parallel":
            return _data_parallel(main, context, found)
        case "ray" if context.role == "leader":
            return _ray_leader(main, context)
        case "ray":
            worker = f"ray start --address={context.leader_host}:{RAY_PORT} --block"
            return as_script(main, worker, by=SHELL)
        case _:
            return dict(main)


def _processes(main: JsonMap, context: PodContext) -> dict[str, Any]:
    flags = (
        f"--distributed-executor-backend mp --nnodes {context.component.nodes}"
        f" --master-addr {context.leader_host} --master-port {MASTER_PORT} --node-rank {context.rank}"
    )
    if context.role == "worker":
        flags += " --headless"
    return with_flags(
        main, flags, component=context.component.name, framework="vllm", needs_shell=context.rank_needs_shell
    )


def _data_parallel(main: JsonMap, context: PodContext, found: Span) -> dict[str, Any]:
    local, nodes = found.gpus // found.world, context.component.nodes
    if local * nodes != found.ranks:
        rule = f"{DATA} {found.ranks} does not match {local} ranks per node on {nodes} nodes"
        raise RenderError("multinode", rule)
    worker = context.role == "worker"
    start = f"$(( {local} * {in_shell(context.rank)} ))" if worker else "0"
    flags = (
        f"--data-parallel-hybrid-lb --data-parallel-size-local {local} --data-parallel-start-rank {start}"
        f" --data-parallel-address {context.leader_host} --data-parallel-rpc-port {DATA_PARALLEL_PORT}"
    )
    return with_flags(main, flags, component=context.component.name, framework="vllm", needs_shell=worker)


def _ray_leader(main: JsonMap, context: PodContext) -> dict[str, Any]:
    head, flag = f"ray start --head --port={RAY_PORT} &&", "--distributed-executor-backend ray"
    command, arguments = list(main.get("command") or ()), list(main.get("args") or ())
    if is_python(command):
        return as_script(main, f"{head} {joined([*command, *arguments])} {flag}", by=SHELL)
    if not is_shell(command):
        raise no_place(context.component.name)
    script, *rest = inserted(arguments, flag, component=context.component.name, framework="vllm")
    return {**main, "args": [f"{head} {script}", *rest]}
