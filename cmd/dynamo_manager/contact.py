"""The first contact with the server: it may be late, and what it says about us is told at once."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from dynamo_ctrl.engine.errors import EngineError, Forbidden, NotFound, Unauthorized, Untrusted
from dynamo_ctrl.engine.kubernetes.credentials import CredentialsMisconfigured
from dynamo_ctrl.engine.port import Engine
from dynamo_manager.errors import UsageError

CONTACT_TIMEOUT: Final = 30.0
"""Seconds that the server may be unreachable at the start."""

CONTACT_SILENCE: Final = 2.0
"""Seconds after which it is told what is waited for."""

CONTACT_PAUSE: Final = 1.0
"""Seconds between two attempts to reach it."""

_log = structlog.get_logger()


async def contact(engine: Engine, *, limit: float = CONTACT_TIMEOUT, pause: float = CONTACT_PAUSE) -> None:
    """Return when the server answers. A refusal is an answer: what is forbidden is for the sources to say.

    Raises:
        UsageError: it does not within `limit` seconds, it does not know us, we do not trust it, or our credentials cannot be had.
    """
    last: EngineError | None = None

    def tell() -> None:
        _log.warning("waiting for the server", server=str(engine), seconds=limit, error=str(last or "no answer yet"))

    telling = asyncio.get_running_loop().call_later(CONTACT_SILENCE, tell)
    try:
        async with asyncio.timeout(limit):
            while True:
                try:
                    await engine.discover("", "v1")
                except (Forbidden, NotFound):
                    return
                except Unauthorized as error:
                    raise UsageError(
                        f"the server does not accept the credentials ({error}); "
                        "check the user of the kubeconfig, or that its token has not expired"
                    ) from error
                except Untrusted as error:
                    raise UsageError(
                        f"{error}; check certificate-authority in the cluster of the kubeconfig"
                    ) from error
                except CredentialsMisconfigured as error:
                    raise UsageError(f"{error}; check the user of the kubeconfig") from error
                except EngineError as error:
                    last = error
                else:
                    return
                await asyncio.sleep(pause)
    except TimeoutError:
        raise UsageError(
            f"the server cannot be reached, tried for {limit:g} s: {last or 'it does not answer'}; "
            "check that it runs, and the server's address in the kubeconfig"
        ) from last
    finally:
        telling.cancel()
