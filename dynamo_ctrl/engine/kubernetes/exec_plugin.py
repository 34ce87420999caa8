"""Credential plug-ins (`client.authentication.k8s.io`): one short run of a command, bounded in time and output.

kubernetes_asyncio has a runner too. Ours differs where that one breaks: both outputs are read at once (a plug-in that
fills stderr does not hang), the run has a time-out and its whole process group ends with it, stdin is empty,
`interactiveMode` and `provideClusterInfo` are honoured, and a missing command is answered with its install hint.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.kubernetes.credentials import (
    CredentialsMisconfigured,
    CredentialsUnavailable,
    KeyPair,
    Renewing,
    Token,
)

EXEC_TIMEOUT: Final = 60.0
"""Seconds that a plug-in may take."""

MAX_OUTPUT: Final = 1 << 20
"""Bytes that a plug-in may print on each of its outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecCommand:
    """A plug-in, as `users[].user.exec` describes it.

    Attributes:
        command: the program; found on PATH, or a path.
        arguments: its arguments.
        environment: the whole environment of the process.
        api_version: the version of the protocol that both sides speak.
        install_hint: what to tell a user who has no such program.
        cluster: the cluster section for plug-ins that ask for it, else `None`.
    """

    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    expiration_timestamp: datetime | None = None
    client_certificate_data: str = ""
    client_key_data: str = ""


class _Credential(msgspec.Struct, rename="camel"):
    kind: str
    api_version: str
    status: _Status | None = None


class ExecPlugin(Renewing):
    """Credentials from a plug-in: run when there are none, shortly before they end, and once after a 401."""

    def __init__(self, command: ExecCommand, clock: Clock, *, timeout: float = EXEC_TIMEOUT) -> None:
        super().__init__(clock)
        self._command = command
        self._timeout = timeout

    async def fetch(self) -> Token:
        """Run the plug-in once."""
        return parse_credential(await run(self._command, self._timeout), self._command)


async def run(command: ExecCommand, timeout: float) -> bytes:  # noqa: ASYNC109  (the process has to be ended as well)
    """What the plug-in prints. Raises `CredentialsUnavailable`; on cancellation the process is gone before it passes."""
    spec: dict[str, Any] = {"interactive": False}
    if command.cluster is not None:
        spec["cluster"] = command.cluster
    info = {"apiVersion": command.api_version, "kind": "ExecCredential", "spec": spec}
    environment = {**command.environment, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
    try:
        process = await asyncio.create_subprocess_exec(
            command.command,
            *command.arguments,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        hint = f"; {command.install_hint}" if command.install_hint else ""
        raise CredentialsMisconfigured(
            f"exec: cannot run {command.command!r}: {error.strerror or error}{hint}"
        ) from error
    ended = False
    try:
        async with asyncio.timeout(timeout):
            output, complaint = await asyncio.gather(_read(process.stdout), _read(process.stderr))
            code = await process.wait()
        ended = True
    except TimeoutError as error:
        raise CredentialsUnavailable(f"exec: {command.command!r} did not end within {timeout:g} s") from error
    finally:
        if not ended:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if code != 0:
        text = complaint[-512:].decode(errors="replace").strip()
        raise CredentialsUnavailable(f"exec: {command.command!r} ended with code {code}{': ' if text else ''}{text}")
    return output


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """All of the stream; what is over the bound is read and dropped, so that the plug-in is not held up."""
    kept = bytearray()
    while stream is not None and (piece := await stream.read(1 << 16)):
        kept += piece[: MAX_OUTPUT - len(kept)]
    return bytes(kept)


def parse_credential(output: bytes, command: ExecCommand) -> Token:
    """The token in an `ExecCredential`. The output itself never appears in an error: it holds a secret.

    Raises:
        CredentialsMisconfigured: not an ExecCredential, of another version, or with neither token nor certificate.
    """
    name = repr(command.command)
    try:
        credential = msgspec.json.decode(output, type=_Credential)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CredentialsMisconfigured(f"exec: {name} printed no ExecCredential") from error
    if credential.api_version != command.api_version:
        raise CredentialsMisconfigured(
            f"exec: {name} answered in {credential.api_version!r}, the kubeconfig asks for {command.api_version!r}"
        )
    status = credential.status or _Status()
    certificate, key = status.client_certificate_data, status.client_key_data
    if bool(certificate) != bool(key):
        raise CredentialsMisconfigured(f"exec: {name} gave only one of clientCertificateData and clientKeyData")
    if not status.token and not certificate:
        raise CredentialsMisconfigured(f"exec: {name} gave neither a token nor a client certificate")
    pair = KeyPair(certificate.encode(), key.encode()) if certificate else None
    return Token(f"Bearer {status.token}" if status.token else "", status.expiration_timestamp, pair)
