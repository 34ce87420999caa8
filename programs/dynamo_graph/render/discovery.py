"""Where the runtimes of a component find each other, and what that adds to its objects (P 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from dynamo_ctrl.objects.builtin.core import ServiceAccount
from dynamo_graph.api.config import DiscoveryBackend, OperatorConfig
from dynamo_graph.api.names import Account, Annotation, Label
from dynamo_graph.render import env
from dynamo_graph.render.errors import RenderError

_BACKENDS: Final[Mapping[str, DiscoveryBackend]] = {"kubernetes": "kubernetes", "etcd": "etcd"}
_MODES: Final[Mapping[str, Literal["pod", "container"]]] = {"pod": "pod", "container": "container"}
_PATH: Final = "podTemplate.metadata.annotations"


@dataclass(frozen=True, slots=True)
class Discovery:
    """Backend and mode of one component."""

    backend: DiscoveryBackend
    mode: Literal["pod", "container"] = "pod"

    @property
    def on_kubernetes(self) -> bool:
        """Whether Pods and Services are the registry."""
        return self.backend == "kubernetes"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of Pods and Services that the runtimes look for."""
        if not self.on_kubernetes:
            return {}
        return {Label.DISCOVERY_BACKEND: "kubernetes", Label.DISCOVERY_ENABLED: "true"}

    def env(self, container: str) -> env.Env:
        """Variables of the container that runs the runtime."""
        values = {"DYN_DISCOVERY_BACKEND": "kubernetes"} if self.on_kubernetes else {}
        if self.mode == "container":
            values |= {"CONTAINER_NAME": container, "DYN_KUBE_DISCOVERY_MODE": "container"}
        return env.variables(values)


def discovery(annotations: Mapping[str, str], config: OperatorConfig) -> Discovery:
    """The discovery of a component whose Pods have those annotations; without one the configuration counts.

    Raises:
        RenderError: an annotation with a value that does not exist.
    """
    backend = annotations.get(Annotation.DISCOVERY_BACKEND, config.discovery.backend)
    mode = annotations.get(Annotation.DISCOVERY_MODE, "pod")
    if backend not in _BACKENDS:
        raise RenderError(f"{_PATH}[{Annotation.DISCOVERY_BACKEND}]", "must be one of kubernetes, etcd")
    if mode not in _MODES:
        raise RenderError(f"{_PATH}[{Annotation.DISCOVERY_MODE}]", "must be one of pod, container")
    return Discovery(_BACKENDS[backend], _MODES[mode])


def fallback_account(accounts: Iterable[ServiceAccount]) -> str:
    """The account of Pods that name none: the first one by name that is labelled for it, else `default`."""
    names = sorted(
        account.metadata.name for account in accounts if account.metadata.labels.get(Label.COMPONENT_POD) == "true"
    )
    return names[0] if names else Account.DEFAULT
