"""What the tests of the binary share: a log that is put back, the command line as a function, manifests on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import structlog

from dynamo_manager.__main__ import main

ROOT = Path(__file__).parents[3]

GRAPH = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  backendFramework: vllm
  components:
    - name: Frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers:
            - {name: main, image: "registry.example/frontend:1"}
"""


WIDGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


class Outcome(NamedTuple):
    """What came of a command line."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """The binary configures the log of its process; here the process goes on."""
    root, lastly = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level
    structlog.configure(**lastly)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs a command line in this process."""

    def command(*arguments: str | Path) -> Outcome:
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return command


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file: `write("name.yaml", text)`."""

    def write(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def graph(write: Callable[..., Path]) -> Path:
    """A manifest of a graph with one frontend, that becomes ready."""
    return write("graph.yaml", GRAPH)


@pytest.fixture
def widgets() -> dict[str, Any]:
    """The definition of the widgets of the test kit, as plain JSON data."""
    return WIDGETS


@pytest.fixture
def plain() -> Any:
    """An object as plain JSON data: `plain("v1", "ConfigMap", "a")`."""

    def plain(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}

    return plain
