"""What an inference engine changes in the container of a single-node worker (P 2.3.5, 2.4, 2.5).

SGLang and TensorRT-LLM change nothing on one node; vLLM is told where its compilation cache is.
"""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.component import BackendFramework, Component
from dynamo_graph.render import env
from dynamo_graph.render.compilation_cache import mount_path

VLLM_CACHE_ROOT: Final = "VLLM_CACHE_ROOT"


def with_engine(container: JsonMap, component: Component, framework: BackendFramework | None) -> dict[str, Any]:
    """The container with what its engine adds. Variables of the engine win over the user's, at the end of the list."""
    changed = dict(container)
    if framework == "vllm" and component.compilation_cache is not None:
        root = {"name": VLLM_CACHE_ROOT, "value": mount_path(component.compilation_cache, framework)}
        changed["env"] = env.append(changed.get("env") or (), root)
    return changed
