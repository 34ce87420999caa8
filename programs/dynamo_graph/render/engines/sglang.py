"""SGLang (P 2.4): over several nodes every Pod is told where the first one is, how many there are, and which one it is."""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.render.command_line import AT, with_flags
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.engines.flags import Flags
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.probes import without_probes

PORT: Final = 29500
RANK: Final = "--node-rank"


class Sglang:
    """The engine SGLang."""

    def with_container(self, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """Flags that the user has not given, and no probes of workers."""
        if context.role == "main":
            return dict(main)
        given, component = Flags.of(context.main), context.component
        if given.has(RANK):
            rule = f'component "{component.name}": {RANK} differs from Pod to Pod and is set by the operator'
            raise RenderError(AT, rule)
        wanted = {"--dist-init-addr": f"{context.leader_host}:{PORT}", "--nnodes": component.nodes, RANK: context.rank}
        flags = " ".join(f"{flag} {value}" for flag, value in wanted.items() if not given.has(flag))
        changed = with_flags(
            main, flags, component=component.name, framework="sglang", needs_shell=context.rank_needs_shell
        )
        return without_probes(changed) if context.role == "worker" else changed

    def with_pod(self, pod: JsonMap, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """Nothing changes."""
        del main, context
        return dict(pod)

    def warning(self, context: PodContext) -> None:
        """Nothing to say."""
        del context
