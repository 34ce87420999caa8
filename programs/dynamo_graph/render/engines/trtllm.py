"""TensorRT-LLM (P 2.5): over several nodes the leader starts MPI ranks on the workers, which run nothing but an SSH server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.render import env
from dynamo_graph.render.command_line import AT, SHELL, as_script
from dynamo_graph.render.context import PodContext
from dynamo_graph.render.deployer import hosts
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.probes import without_probes
from dynamo_graph.render.shell import is_python, joined, single_quoted

VOLUME: Final = "mpi-ssh-keys"
PATH: Final = "/ssh-pk"
MODE: Final = 0o644
PORT: Final = 2222
FULL_NAMES: Final = {"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "1"}

DNS_SECONDS: Final = 300
"""How long the leader waits for the names of all workers."""
DNS_INTERVAL: Final = 2

EXPORTED: Final = frozenset({
    "CPATH", "CUDA_VISIBLE_DEVICES", "HF_DATASETS_CACHE", "HF_ENDPOINT", "HF_HOME", "HF_TOKEN", "HOME",
    "HUGGING_FACE_HUB_TOKEN", "LD_LIBRARY_PATH", "MODEL_PATH", "NCCL_DEBUG", "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "PATH",
    "PYTHONPATH", "TENSORRT_LLM_CACHE_DIR", "TOKENIZERS_PARALLELISM", "TRANSFORMERS_CACHE", "TRITON_PTXAS_PATH",
    "TRTLLM_USE_UCX_KVCACHE", "USER",
})  # fmt: skip
"""Variables that every rank gets from the leader, with those of its container."""

READINESS: Final = {
    "tcpSocket": {"port": PORT},
    "initialDelaySeconds": 20,
    "periodSeconds": 20,
    "timeoutSeconds": 5,
    "failureThreshold": 10,
}
"""A worker is ready when the leader can reach it."""


class TensorRtLlm:
    """The engine TensorRT-LLM."""

    def with_container(self, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """The script of the Pod's part, the keys, and the probe of a worker."""
        if context.role == "main":
            return dict(main)
        gpus = context.gpus
        if not gpus:
            rule = f'TensorRT-LLM multinode component "{context.component.name}" requests no GPUs'
            raise RenderError("podTemplate.spec.containers[main].resources", rule)
        mount = {"name": VOLUME, "mountPath": PATH, "readOnly": True}
        others = [each for each in main.get("volumeMounts") or () if each.get("mountPath") != PATH]
        changed = {
            **main,
            "env": env.append(main.get("env") or (), dict(FULL_NAMES)),
            "volumeMounts": [*others, mount],
        }
        if context.role == "worker":
            probed = {**without_probes(changed), "readinessProbe": dict(READINESS)}
            return as_script(probed, _steps(_worker_steps()), by=SHELL)
        return as_script(changed, _steps(_leader_steps(changed, context, gpus)), by=SHELL)

    def with_pod(self, pod: JsonMap, main: JsonMap, context: PodContext) -> dict[str, Any]:
        """The volume with the keys."""
        del main
        if context.role == "main":
            return dict(pod)
        name = context.config.mpi.ssh_secret_name
        if not name:
            rule = "TensorRT-LLM over several nodes needs mpi.sshSecretName in the operator's configuration"
            raise RenderError("multinode", rule)
        others = [volume for volume in pod.get("volumes") or () if volume.get("name") != VOLUME]
        keys = {"name": VOLUME, "secret": {"secretName": name, "defaultMode": MODE}}
        return {**pod, "volumes": [*others, keys]}

    def warning(self, context: PodContext) -> None:
        """Nothing to say."""
        del context


def _steps(steps: Iterable[str]) -> str:
    return " && ".join(steps)


def _key_steps(*directories: str) -> list[str]:
    """The key pair where SSH looks for it. Everything is below `$HOME`, which may not be what the passwd file says."""
    made = " ".join(f'"$HOME/.ssh{directory}"' for directory in ("", *directories))
    return [
        f"mkdir -p {made}",
        f"ls -la {PATH}",
        f'cp {PATH}/private.key "$HOME/.ssh/id_rsa"',
        f'cp {PATH}/private.key.pub "$HOME/.ssh/id_rsa.pub"',
        f'cp {PATH}/private.key.pub "$HOME/.ssh/authorized_keys"',
        'chmod 600 "$HOME/.ssh/id_rsa" "$HOME/.ssh/authorized_keys"',
        'chmod 644 "$HOME/.ssh/id_rsa.pub"',
    ]


def _leader_steps(main: JsonMap, context: PodContext, gpus: int) -> list[str]:
    leader, *workers = hosts(context.deployer, context.component.name, context.component.nodes)
    client = _written(
        "config",
        "Host *",
        "IdentityFile $HOME/.ssh/id_rsa",
        "StrictHostKeyChecking no",
        "UserKnownHostsFile /dev/null",
        f"Port {PORT}",
    )
    waits = [_dns_wait(workers)] if context.deployer.needs_dns_wait else []
    ranks = context.component.nodes * gpus
    return [*_key_steps(), client, *waits, _mpirun(main, ranks, [leader, *workers])]


def _mpirun(main: JsonMap, ranks: int, reached: Sequence[str]) -> str:
    own = (entry["name"] for entry in main.get("env") or ())
    exported = " ".join(f"-x {name}" for name in sorted({*own, *EXPORTED}))
    launched = single_quoted(f"trtllm-llmapi-launch {_command(main)}")
    remote = f"-p {PORT} -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa"
    return (
        'exec mpirun $([ "$(id -u)" -ne 0 ] || echo --allow-run-as-root) --oversubscribe'
        f' -n {ranks} -H {",".join(reached)} --mca pml ob1 --mca plm_rsh_args "{remote}"'
        f" {exported} bash -c {launched}"
    )


def _command(main: JsonMap) -> str:
    """What the user would run, as a line of a script."""
    command, arguments = list(main.get("command") or ()), list(main.get("args") or ())
    if is_python(command):
        return joined([*command, *arguments])
    line = " ".join(arguments or command)
    if not line.strip():
        raise RenderError(AT, "TensorRT-LLM over several nodes needs a command to launch")
    return line


def _dns_wait(workers: Sequence[str]) -> str:
    """Waits until the name of every worker resolves; one budget for all."""
    named = " ".join(f'"{worker}"' for worker in workers)
    tries = DNS_SECONDS // DNS_INTERVAL
    return (
        f"{{ tries=0; for host in {named}; do"
        ' until getent hosts "$host" > /dev/null; do'
        f" tries=$((tries + 1)); if [ $tries -gt {tries} ]; then"
        f' echo "the name $host did not resolve within {DNS_SECONDS} s" >&2; exit 1; fi;'
        f" sleep {DNS_INTERVAL}; done; done; }}"
    )


def _worker_steps() -> list[str]:
    keys = {kind: f"$HOME/.ssh/host_keys/ssh_host_{kind}_key" for kind in ("rsa", "ecdsa", "ed25519")}
    made = [f'rm -f "{key}" && ssh-keygen -q -t {kind} -N "" -f "{key}"' for kind, key in keys.items()]
    server = _written(
        "sshd_config",
        f"Port {PORT}",
        *(f"HostKey {key}" for key in keys.values()),
        "PidFile $HOME/.ssh/run/sshd.pid",
        "StrictModes no",
        "PermitRootLogin yes",
        "PasswordAuthentication no",
        "PubkeyAuthentication yes",
        "AuthorizedKeysFile $HOME/.ssh/authorized_keys",
    )
    run = 'exec /usr/sbin/sshd -D -f "$HOME/.ssh/sshd_config"'
    return [*_key_steps("/host_keys", "/run"), *made, server, run]


def _written(file: str, *lines: str) -> str:
    """Writes a file below `~/.ssh`."""
    quoted = " ".join(f'"{line}"' for line in lines)
    return f"printf '%s\\n' {quoted} > \"$HOME/.ssh/{file}\""
