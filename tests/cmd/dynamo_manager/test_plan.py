"""`dynamo-manager plan`: what it prints, how it ends, and that a cluster is only read."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_ctrl.engine.registry import EngineConfig
from dynamo_ctrl.objects.builtin.core import SECRET
from dynamo_ctrl.plan.scratch import Scratch
from dynamo_ctrl.plan.text import Line, Tone
from dynamo_ctrl.program.definition import custom_resources
from dynamo_ctrl.program.registry import load_programs
from dynamo_ctrl.testing import RecordingEngine
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from dynamo_manager import colours

Command = Callable[..., Any]
Write = Callable[..., Path]


def documents(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_a_plan_of_a_new_graph_shows_everything_down_to_services(command: Command, graph: Path) -> None:
    done = command("plan", "-f", graph)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("You apply:\n+ DynamoGraphDeployment default/g will be created\n")
    for kind in ("DynamoComponentDeployment", "Deployment", "Service"):
        assert f"\n+ {kind} default/g-frontend will be created\n" in done.out
    assert "    +           image: registry.example/frontend:1\n" in done.out
    assert (
        "    by dynamo-component-deployment for DynamoComponentDeployment default/g-frontend, step workload\n"
        in done.out
    )
    assert done.out.splitlines()[-1].startswith("Plan: 8 to create, 1 to update, 0 to delete, 2 statuses to write")


def test_it_is_the_same_plan_every_time(command: Command, graph: Path) -> None:
    assert command("plan", "-f", graph) == command("plan", "-f", graph)


def test_a_brief_plan_is_one_line_for_each_object(command: Command, graph: Path) -> None:
    out = command("plan", "-f", graph, "--brief").out
    assert "+ Deployment default/g-frontend will be created\n" in out
    assert "image" not in out


def test_a_plan_as_json(command: Command, graph: Path) -> None:
    done = command("plan", "-f", graph, "--output", "json")
    plan = json.loads(done.out)
    assert plan["settled"] is True
    assert plan["counts"] == {"create": 8, "update": 1, "delete": 0}
    assert [each["object"]["kind"] for each in plan["applied"]] == ["DynamoGraphDeployment"]
    (deployment,) = (each for each in plan["writes"] if each["object"]["kind"] == "Deployment")
    assert deployment["object"] == {
        "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "g-frontend",
    }  # fmt: skip
    assert deployment["authors"][0]["step"] == "workload"
    assert deployment["content"]["spec"]["replicas"] == 1
    assert plan["statuses"][-1]["status"]["state"] == "pending"


def test_the_namespace_is_that_of_manifests_that_name_none(command: Command, graph: Path) -> None:
    assert "+ Deployment mine/g-frontend" in command("plan", "-f", graph, "--namespace", "mine", "--brief").out


def test_a_graph_that_is_refused_ends_with_1_and_says_why(command: Command, graph: Path, write: Write) -> None:
    content = documents(graph)
    content["metadata"]["annotations"] = {"nvidia.com/workload-provider": "nobody"}
    done = command("plan", "-f", write("refused.yaml", yaml.safe_dump(content)))
    assert done.code == 1
    assert "Refused or failed:\n! dynamo-graph for DynamoGraphDeployment default/g, step serve-provider" in done.out
    assert "nobody" in done.out
    assert "trying again would not help" in done.out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda spec: spec.update(components="none"), ("spec.components",)),
        (lambda spec: spec["components"][0].update(replicas=-1), ("spec.components[0].replicas",)),
        (lambda spec: spec["components"][0].update(replicas="many"), ("spec.components[0].replicas",)),
        (lambda spec: spec["components"][0].pop("name"), ("spec.components[0].name", "Required")),
    ],
)
def test_a_manifest_that_its_schema_refuses_names_the_field(
    command: Command, graph: Path, write: Write, change: Callable[[Any], Any], words: tuple[str, ...]
) -> None:
    content = documents(graph)
    change(content["spec"])
    path = write("bad.yaml", yaml.safe_dump(content))
    done = command("plan", "-f", path)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"dynamo-manager: {path}")
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("plan",), ("-f: needs a manifest",)),
        (("plan", "--cluster"), ("--namespace",)),
        (("plan", "-f", "/gone.yaml"), ("cannot read /gone.yaml",)),
        (("plan", "-f", "/gone.yaml", "--output", "xml"), ("--output", "xml")),
        (("plan", "-f", "/gone.yaml", "--passes", "0"), ("--passes",)),
        (("plan", "-f", "/gone.yaml", "--horizon", "soon"), ("--horizon", "soon")),
        (("plan", "-f", "/gone.yaml", "--programs", "nope"), ("unknown program 'nope'",)),
        (("plan", "--kubeconfig", "/gone", "--namespace", "a"), ("there is no file /gone",)),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input_is_one_line(command: Command, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    for word in words:
        assert word in line


def test_a_kind_that_nobody_knows_is_refused(command: Command, write: Write, plain: Any) -> None:
    done = command("plan", "-f", write("frob.yaml", yaml.safe_dump(plain("example.com/v1", "Frob", "a"))))
    assert done.code == 2
    assert "the server knows no Frob in example.com/v1" in done.err


def test_secrets_of_the_files_are_shown_by_hashes(command: Command, graph: Path, write: Write, plain: Any) -> None:
    secret = plain("v1", "Secret", "s", stringData={"password": "t0p-s3cret"}, data={"other": "dDBwLXMzY3JldA=="})
    files = ("-f", graph, write("secret.yaml", yaml.safe_dump(secret)))
    for output in ("text", "json"):
        out = command("plan", *files, "--output", output).out
        assert "t0p-s3cret" not in out
        assert base64.b64encode(b"t0p-s3cret").decode() not in out
    assert "sha256:" in out


# --- with a cluster


class Real:
    """A cluster in this process that the command line believes to be the real one."""

    def __init__(self) -> None:
        self.scratch = Scratch(seed=7)
        self.scratch.define(custom_resources(loaded.program for loaded in load_programs()))
        self.scratch.namespace("default")
        self.engine = RecordingEngine(self.scratch.engine)
        self.asked: list[EngineConfig] = []

    @asynccontextmanager
    async def open(self, name: str, config: EngineConfig) -> AsyncIterator[RecordingEngine]:
        assert name == "kubernetes"
        self.asked.append(config)
        yield self.engine


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Real:
    real = Real()
    monkeypatch.setattr("dynamo_manager.plan.open_engine", real.open)
    return real


def test_a_plan_with_a_cluster_shows_what_changes_and_writes_nothing(
    command: Command, graph: Path, write: Write, real: Real
) -> None:
    live = documents(graph)
    live["metadata"]["namespace"] = "default"
    added = real.scratch.add(DYNAMO_GRAPH_DEPLOYMENT.object(live))
    before = real.scratch.core.version
    live["spec"]["components"][0]["replicas"] = 3
    live["metadata"] |= {"resourceVersion": "1", "uid": added.metadata.uid, "generation": 1}
    done = command("plan", "-f", write("new.yaml", yaml.safe_dump(live)), "--cluster")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        "You apply:\n~ DynamoGraphDeployment default/g will be changed\n    ~ spec.components[0].replicas: 1 -> 3\n"
    )
    assert "    +   replicas: 3\n" in done.out
    assert f"    +       uid: {added.metadata.uid}\n" in done.out
    assert real.engine.writes == []
    assert real.scratch.core.version == before


def test_without_a_manifest_the_plan_is_what_is_left_to_do(command: Command, graph: Path, real: Real) -> None:
    live = documents(graph)
    live["metadata"]["namespace"] = "default"
    real.scratch.add(DYNAMO_GRAPH_DEPLOYMENT.object(live))
    done = command("plan", "--cluster", "--namespace", "default", "--brief")
    assert "You apply" not in done.out
    assert "+ Deployment default/g-frontend will be created" in done.out
    assert (
        command("plan", "--cluster", "--namespace", "kube-system").out == "Nothing to do: nothing would be written.\n"
    )


def test_what_no_program_looks_at_is_compared_with_the_cluster_too(
    command: Command, write: Write, plain: Any, real: Real
) -> None:
    manifest = plain("v1", "LimitRange", "l", spec={"limits": [{"type": "Pod"}]})
    path = write("limit.yaml", yaml.safe_dump(manifest))
    assert "+ LimitRange default/l will be created" in command("plan", "-f", path, "--cluster").out


def test_a_namespace_that_the_cluster_lacks_is_bad_input(command: Command, graph: Path, real: Real) -> None:
    done = command("plan", "-f", graph, "--namespace", "gone", "--cluster")
    assert done.code == 2
    assert 'namespaces "gone" not found' in done.err


def test_the_flags_say_which_cluster(command: Command, graph: Path, real: Real, tmp_path: Path) -> None:
    command("plan", "-f", graph, "--kubeconfig", tmp_path / "k", "--context", "c")
    (config,) = real.asked
    assert (config.kubeconfig, config.context, config.user_agent) == (tmp_path / "k", "c", "dynamo-manager-plan")


def test_a_changed_secret_in_the_cluster_is_shown_by_hashes(
    command: Command, write: Write, plain: Any, real: Real
) -> None:
    old = {**plain("v1", "Secret", "s", data={"a": base64.b64encode(b"0ld-s3cret").decode()}), "type": "Opaque"}
    old["metadata"]["namespace"] = "default"
    real.scratch.add(SECRET.object(old))
    new = plain("v1", "Secret", "s", stringData={"a": "n3w-s3cret"})
    out = command("plan", "-f", write("s.yaml", yaml.safe_dump(new)), "--cluster").out
    assert "~ Secret default/s will be changed" in out
    for secret in (b"0ld-s3cret", b"n3w-s3cret"):
        assert secret.decode() not in out
        assert base64.b64encode(secret).decode() not in out
    assert out.count("sha256:") == 2


# --- colours


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("to", "environment", "expected"),
    [
        (Terminal(), {}, "\x1b[32m+ a\x1b[0m\nb\n"),
        (Terminal(), {"NO_COLOR": "1"}, "+ a\nb\n"),
        (Terminal(), {"TERM": "dumb"}, "+ a\nb\n"),
        (io.StringIO(), {}, "+ a\nb\n"),
    ],
)
def test_colours_are_for_terminals(to: io.StringIO, environment: dict[str, str], expected: str) -> None:
    colours.write([Line(Tone.ADDED, "+ a"), Line(Tone.PLAIN, "b")], to, environment)
    assert to.getvalue() == expected
