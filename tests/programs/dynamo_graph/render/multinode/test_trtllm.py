"""TensorRT-LLM over several nodes (P 2.5, 10.3). Its scripts run in a real shell, beside programs that only write down."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.render.engines.trtllm import DNS_INTERVAL, DNS_SECONDS, EXPORTED
from dynamo_graph.render.errors import RenderError
from tests.programs.dynamo_graph.render.multinode.kit import HG, ORCHESTRATOR, after, argv, py, sh

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.multinode.kit import Node, Rig

OWN = py("-m", "dynamo.trtllm", g=4)
PROBES = {"livenessProbe", "readinessProbe", "startupProbe"}
RUN_BASH = "if '-c' in sys.argv: os.execvp('bash', sys.argv[sys.argv.index('bash'):])"
LAUNCH = "os.execvp(sys.argv[1], sys.argv[1:])"


@pytest.fixture
def keys(node: Node) -> str:
    """Where the keys are, and programs that MPI and SSH need."""
    directory = node.home / "keys"
    directory.mkdir()
    (directory / "private.key").write_text("private")
    (directory / "private.key.pub").write_text("public")
    node.program("mpirun", RUN_BASH)
    node.program("trtllm-llmapi-launch", LAUNCH)
    node.program("getent")
    node.program("ssh-keygen", "open(sys.argv[sys.argv.index('-f') + 1], 'x').close()")
    node.program("sshd")
    return str(directory)


def ran(node: Node, keys: str, main: dict[str, Any], by: str, **variables: str) -> list[list[str]]:
    replaced = {"/ssh-pk": keys, "/usr/sbin/sshd": "sshd"}
    return node.run(main, {**ORCHESTRATOR[by], **variables}, replaced=replaced)


@pytest.mark.parametrize("nodes", [pytest.param(2, id="T-POD-51")])
def test_a_leader_on_grove_starts_ranks_everywhere(rig: Rig, node: Node, keys: str, nodes: int) -> None:
    main = rig.main(OWN, by="V", nodes=nodes)
    assert main["command"] == ["/bin/sh", "-c"]
    assert set(main) >= PROBES
    (script,) = main["args"]
    assert f"-H {HG},{HG.replace('ldr-0', 'wkr-0')} " in script
    assert "getent" not in script
    called = argv(ran(node, keys, main, "V"), "mpirun")
    assert after(called, "-n") == "8"
    host = "g-0-decode-3-decode-{}-0.g-0.ns.svc"
    assert after(called, "-H") == f"{host.format('ldr')},{host.format('wkr')}"
    assert (node.home / ".ssh/id_rsa").read_text() == "private"
    assert (node.home / ".ssh/authorized_keys").read_text() == "public"
    assert (node.home / ".ssh/id_rsa").stat().st_mode & 0o777 == 0o600
    assert (node.home / ".ssh/id_rsa.pub").stat().st_mode & 0o777 == 0o644
    config = (node.home / ".ssh/config").read_text()
    assert f"IdentityFile {node.home}/.ssh/id_rsa\n" in config
    assert "StrictHostKeyChecking no\n" in config
    assert "Port 2222\n" in config


@pytest.mark.parametrize("nodes", [pytest.param(2, id="T-POD-52")])
def test_a_leader_in_a_group_waits_for_names_first(rig: Rig, node: Node, keys: str, nodes: int) -> None:
    main = rig.main(OWN, nodes=nodes)
    worker = "${LWS_LEADER_ADDRESS%%.*}-1.${LWS_LEADER_ADDRESS#*.}"
    assert f"-H $(LWS_LEADER_ADDRESS),{worker} " in main["args"][0]
    calls = ran(node, keys, main, "L")
    assert [call[0] for call in calls][:2] == ["getent", "mpirun"]
    assert argv(calls, "getent") == ["hosts", "a-0-0-1.a-0.ns"]
    assert after(argv(calls, "mpirun"), "-H") == "a-0-0.a-0.ns,a-0-0-1.a-0.ns"


def test_a_leader_gives_up_on_a_name_that_never_resolves(rig: Rig, node: Node, keys: str) -> None:
    node.program("getent", "sys.exit(2)")
    node.program("sleep")
    main = rig.main(OWN, nodes=3)
    limit = f"-gt {DNS_SECONDS // DNS_INTERVAL} "
    assert limit in main["args"][0]
    assert DNS_SECONDS == 300
    calls = node.run(main, ORCHESTRATOR["L"], code=1, replaced={"/ssh-pk": keys, limit: "-gt 3 "})
    assert {call[0] for call in calls} == {"getent", "sleep"}
    assert {call[1] for call in calls if call[0] == "sleep"} == {str(DNS_INTERVAL)}
    assert sum(call[0] == "sleep" for call in calls) == 3


def test_a_step_that_fails_ends_the_leader(rig: Rig, node: Node, keys: str) -> None:
    calls = node.run(
        rig.main(OWN), ORCHESTRATOR["L"], code=1, replaced={"/ssh-pk/private.key.pub": "/missing", "/ssh-pk": keys}
    )
    assert calls == []


@pytest.mark.parametrize("role", [pytest.param("worker", id="T-POD-53")])
def test_a_worker_serves_ssh_and_nothing_else(rig: Rig, node: Node, keys: str, role: Any) -> None:
    main = rig.main(OWN, role=role)
    assert PROBES & set(main) == {"readinessProbe"}
    assert main["readinessProbe"] == {
        "tcpSocket": {"port": 2222},
        "initialDelaySeconds": 20,
        "periodSeconds": 20,
        "timeoutSeconds": 5,
        "failureThreshold": 10,
    }
    calls = ran(node, keys, main, "L")
    assert [after(call, "-t") for call in calls if call[0] == "ssh-keygen"] == ["rsa", "ecdsa", "ed25519"]
    assert argv(calls, "sshd") == ["-D", "-f", f"{node.home}/.ssh/sshd_config"]
    assert not [call for call in calls if call[0] == "python3"]
    lines = (node.home / ".ssh/sshd_config").read_text().splitlines()
    for kind in ("rsa", "ecdsa", "ed25519"):
        assert f"HostKey {node.home}/.ssh/host_keys/ssh_host_{kind}_key" in lines
    assert {"Port 2222", "StrictModes no", "PermitRootLogin yes", "PasswordAuthentication no"} <= set(lines)
    assert f"AuthorizedKeysFile {node.home}/.ssh/authorized_keys" in lines
    assert ran(node, keys, main, "L")[-1][0] == "sshd", "it starts again in the same home"


@pytest.mark.parametrize("role", [pytest.param("leader", id="T-POD-54 leader"), pytest.param("worker", id="T-POD-54")])
def test_both_have_the_keys_and_full_names(rig: Rig, role: Any) -> None:
    pod = rig.pod(OWN, role=role)
    main = pod["containers"][0]
    assert main["env"][-1] == {"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "1"}
    assert {"name": "mpi-ssh-keys", "mountPath": "/ssh-pk", "readOnly": True} in main["volumeMounts"]
    keys = {"name": "mpi-ssh-keys", "secret": {"secretName": "keys", "defaultMode": 0o644}}
    assert [volume for volume in pod["volumes"] if volume["name"] == "mpi-ssh-keys"] == [keys]


@pytest.mark.parametrize("names", [pytest.param(["A", "HOME"], id="T-POD-55")])
def test_ranks_get_the_variables_of_the_leader(rig: Rig, node: Node, keys: str, names: list[str]) -> None:
    main = rig.main({**OWN, "env": [{"name": name, "value": "v"} for name in names]})
    called = argv(ran(node, keys, main, "L"), "mpirun")
    exported = [value for flag, value in pairwise(called) if flag == "-x"]
    assert exported == sorted(set(exported))
    assert {"A", "HOME", "OMPI_MCA_orte_keep_fqdn_hostnames", *EXPORTED} <= set(exported)
    assert len(EXPORTED) == 21


@pytest.mark.parametrize(
    ("uid", "allowed"), [pytest.param(0, True, id="T-POD-56 0"), pytest.param(1000, False, id="T-POD-56 1000")]
)
def test_mpi_is_told_when_it_runs_as_root(rig: Rig, node: Node, keys: str, uid: int, allowed: bool) -> None:
    node.program("id", f"print({uid})")
    called = argv(ran(node, keys, rig.main(OWN), "L"), "mpirun")
    assert ("--allow-run-as-root" in called) is allowed
    first = ["--allow-run-as-root"] if allowed else []
    assert called[: len(first) + 1] == [*first, "--oversubscribe"]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param(
            sh("python3 -m dynamo.trtllm --o '{\"a\":1}'", g=4),
            ["-m", "dynamo.trtllm", "--o", '{"a":1}'],
            id="T-POD-57",
        ),
        pytest.param(
            py("-m", "dynamo.trtllm", "--o", '{"a":"it\'s"}', "$(MODEL)", g=4),
            ["-m", "dynamo.trtllm", "--o", '{"a":"it\'s"}', 'Q "1"'],
            id="python form",
        ),
    ],
)
def test_the_engine_gets_the_arguments_that_it_had(
    rig: Rig, node: Node, keys: str, own: Any, expected: list[str]
) -> None:
    calls = ran(node, keys, rig.main(own), "L", MODEL='Q "1"')
    assert argv(calls, "python3") == expected
    assert argv(calls, "trtllm-llmapi-launch") == ["python3", *expected]


@pytest.mark.parametrize("own", [pytest.param(py("-m", "dynamo.trtllm", g=0), id="T-POD-58")])
@pytest.mark.parametrize("role", ["leader", "worker"])
def test_without_gpus_there_are_no_ranks(rig: Rig, own: Any, role: Any) -> None:
    with pytest.raises(RenderError) as raised:
        rig.pod(own, role=role)
    assert raised.value.rule.endswith('TensorRT-LLM multinode component "Decode" requests no GPUs')


@pytest.mark.parametrize("nodes", [pytest.param(1, id="T-POD-59 multinode rig")])
def test_on_one_node_nothing_changes(rig: Rig, nodes: int) -> None:
    pod = rig.pod(OWN, nodes=nodes)
    assert pod["containers"][0]["args"] == OWN["args"]
    assert "mpi-ssh-keys" not in {volume["name"] for volume in pod["volumes"]}


def test_an_installation_without_a_key_pair_is_told_so(rig: Rig) -> None:
    rig.config = OperatorConfig()
    with pytest.raises(RenderError, match=r"needs mpi.sshSecretName in the operator's configuration"):
        rig.pod(OWN)


def test_options_stand_in_their_order(rig: Rig, node: Node, keys: str) -> None:
    called = argv(ran(node, keys, rig.main(OWN), "L"), "mpirun")
    flags = ("--oversubscribe", "-n", "-H", "--mca", "plm_rsh_args", "-x", "bash")
    places = [called.index(flag) for flag in flags]
    assert places == sorted(places)
    assert after(called, "plm_rsh_args") == f"-p 2222 -o StrictHostKeyChecking=no -i {node.home}/.ssh/id_rsa"
    assert called[-3:-1] == ["bash", "-c"]
