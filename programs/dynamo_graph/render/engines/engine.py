"""The seam between the rendering of a Pod and the engine that runs in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.component import BackendFramework
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.engines.sglang import Sglang
from dynamo_graph.render.engines.trtllm import TensorRtLlm
from dynamo_graph.render.engines.vllm import Vllm
from dynamo_graph.render.warnings import RenderWarning


class Engine(Protocol):
    """An inference engine. Both methods leave what they are given alone and may raise `RenderError`."""

    def with_container(self, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """The container `main` as the engine needs it at that Pod's place."""

    def with_pod(self, pod: JsonMap, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """The Pod spec as the engine needs it; `main` is the rendered container."""

    def warning(self, context: PodContext) -> RenderWarning | None:
        """What hardly does what its author meant."""


class NoEngine:
    """An engine that nobody knows: nothing is changed."""

    def with_container(self, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """The container."""
        del context
        return dict(main)

    def with_pod(self, pod: JsonMap, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """The Pod spec."""
        del main, context
        return dict(pod)

    def warning(self, context: PodContext) -> None:
        """Nothing."""
        del context


_ENGINES: Final[Mapping[str, Engine]] = {"vllm": Vllm(), "sglang": Sglang(), "trtllm": TensorRtLlm()}
_UNKNOWN: Final = NoEngine()


def engine_of(framework: BackendFramework | None) -> Engine:
    """The engine of that name; without one, an engine that changes nothing."""
    return _UNKNOWN if framework is None else _ENGINES[framework]
