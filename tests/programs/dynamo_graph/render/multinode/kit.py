"""A rig that renders one Pod of an engine over several nodes, and runs its command as a kubelet and a shell would."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.render.context import PodContext, Surroundings
from dynamo_graph.render.deployer import GROVE, LEADER_WORKER_SET, Role
from dynamo_graph.render.pod import pod_spec

Tree = dict[str, Any]

DEPLOYERS = {"V": GROVE, "L": LEADER_WORKER_SET}
HG = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-decode-ldr-0.$(GROVE_HEADLESS_SERVICE)"
HL = "$(LWS_LEADER_ADDRESS)"
RG = "$((GROVE_PCLQ_POD_INDEX + 1))"
MP = {"nvidia.com/vllm-distributed-executor-backend": "mp"}
RAY = {"nvidia.com/vllm-distributed-executor-backend": "ray"}
ORIGIN = "nvidia.com/dynamo-operator-origin-version"
GROVE_VARIABLES = {
    "GROVE_PCSG_NAME": "g-0-decode",
    "GROVE_PCSG_INDEX": "3",
    "GROVE_PCLQ_POD_INDEX": "0",
    "GROVE_HEADLESS_SERVICE": "g-0.ns.svc",
}
LWS_VARIABLES = {"LWS_LEADER_ADDRESS": "a-0-0.a-0.ns", "LWS_GROUP_SIZE": "2", "LWS_WORKER_INDEX": "1"}
ORCHESTRATOR = {"V": GROVE_VARIABLES, "L": LWS_VARIABLES}


def gpus(number: int) -> Tree:
    return {"resources": {"limits": {"nvidia.com/gpu": number}}}


def py(*arguments: str, g: int = 8, **more: Any) -> Tree:
    """A container in Python form."""
    return {"command": ["python3"], "args": list(arguments), **(gpus(g) if g else {}), **more}


def sh(*scripts: str, g: int = 8, **more: Any) -> Tree:
    """A container in shell form."""
    return {"command": ["/bin/sh", "-c"], "args": list(scripts), **(gpus(g) if g else {}), **more}


class Rig:
    """Renders component `Decode` of graph `g`."""

    def __init__(self) -> None:
        self.config = OperatorConfig.model_validate({"mpi": {"sshSecretName": "keys", "sshSecretNamespace": "op"}})

    def context(
        self,
        main: Tree,
        *,
        role: Role = "leader",
        by: str = "L",
        nodes: int = 2,
        annotations: Mapping[str, str] | None = None,
        graph: str = "g",
        name: str = "Decode",
        **fields: Any,
    ) -> PodContext:
        containers = [{"name": "main", "image": "img:1.5.0", **main}, *fields.pop("others", ())]
        template = {"metadata": {"annotations": dict(annotations or {})}, "spec": {"containers": containers}}
        template["spec"] |= fields.pop("pod", {})
        spec = {"name": name, "type": "decode", "podTemplate": template, **fields}
        if nodes > 1:
            spec["multinode"] = {"nodeCount": nodes}
        metadata: Tree = {"name": "g-decode-abcd1234", "namespace": "ns", "uid": "u"}
        if graph:
            owner = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": graph, "uid": "g"}
            metadata["ownerReferences"] = [{**owner, "controller": True}]
        deployment = DYNAMO_COMPONENT_DEPLOYMENT.object({"metadata": metadata, "spec": spec})
        context = PodContext.of(deployment, Surroundings(config=self.config))
        return replace(context, role=role if nodes > 1 else "main", deployer=DEPLOYERS[by])

    def pod(self, main: Tree, **fields: Any) -> Tree:
        return pod_spec(self.context(main, **fields))

    def main(self, main: Tree, **fields: Any) -> Tree:
        container: Tree = self.pod(main, **fields)["containers"][0]
        return container


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """What the kubelet makes of one command or argument."""
    out, at = "", 0
    while at < len(text):
        rest = text[at:]
        if rest.startswith("$$"):
            out, at = f"{out}$", at + 2
        elif rest.startswith("$(") and ")" in rest:
            end = rest.index(")")
            name = rest[2:end]
            out, at = out + variables.get(name, rest[: end + 1]), at + end + 1
        else:
            out, at = out + rest[0], at + 1
    return out


RECORDER = """#!{python}
import json, os, sys
with open({log!r}, "a") as file:
    file.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
{behaviour}
"""


class Node:
    """Runs the command of a container where every program only writes down how it was called.

    Attributes:
        home: the home directory of the container.
    """

    def __init__(self, directory: Path) -> None:
        self._bin, self._log = directory / "bin", directory / "calls"
        self.home = directory / "home"
        for each in (self._bin, self.home):
            each.mkdir()
        self.program("python3")

    def program(self, name: str, behaviour: str = "") -> None:
        """There is a program of that name; `behaviour` is what it does besides, in Python."""
        file = self._bin / name
        file.write_text(RECORDER.format(python=sys.executable, log=str(self._log), behaviour=behaviour))
        file.chmod(0o755)

    def run(
        self,
        container: Mapping[str, Any],
        variables: Mapping[str, str],
        *,
        code: int = 0,
        replaced: Mapping[str, str] | None = None,
    ) -> list[list[str]]:
        """The programs that are called, with their arguments.

        Args:
            container: as rendered.
            variables: of the orchestrator and of the container.
            code: the exit code that is expected.
            replaced: texts of the script to replace, as absolute paths.
        """
        self._log.unlink(missing_ok=True)
        command = [*container["command"], *container["args"]]
        words = [substituted(word, variables) for word in command]
        for old, new in (replaced or {}).items():
            words = [word.replace(old, new) for word in words]
        shell = {"HOME": str(self.home), "PATH": f"{self._bin}:/usr/bin:/bin", **variables}
        done = subprocess.run(
            words, env=shell, capture_output=True, text=True, check=False, timeout=120, executable=self._found(words[0])
        )
        assert done.returncode == code, done.stderr
        return self.calls()

    def calls(self) -> list[list[str]]:
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def _found(self, program: str) -> str:
        own = self._bin / program
        return str(own) if own.exists() else program


def argv(calls: Sequence[Sequence[str]], program: str) -> list[str]:
    """The arguments of the one call of a program."""
    (found,) = [call for call in calls if call[0] == program]
    return list(found[1:])


def after(arguments: Sequence[str], flag: str) -> str:
    """The value of a flag."""
    return arguments[list(arguments).index(flag) + 1]
