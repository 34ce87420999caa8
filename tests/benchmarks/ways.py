"""The ways to do each piece of work: ours, and each peer's default and best settings."""

from __future__ import annotations

from typing import Final

from tests.benchmarks.plan import Way
from tests.benchmarks.programs import Library

CR: Final = "controller-runtime"
CR_LIST: Final = "controller-runtime, plain list"
KR: Final = "kube-rs"
KR_STREAMING: Final = "kube-rs, streaming list"
KR_ONE_LIST: Final = "kube-rs, one list"
KOPF: Final = "kopf"
HANDWRITTEN: Final = "kubernetes-asyncio, by hand"

CR_FILLS: Final = (CR, CR_LIST)
KR_FILLS: Final = (KR, KR_STREAMING, KR_ONE_LIST)

PLAIN_LIST: Final = {"KUBE_FEATURE_WatchListClient": "false"}
"""client-go's streaming list, its default, costs a JSON reader more than twice the CPU."""


def ours(measurement: str, *arguments: object) -> Way:
    """Our program for that measurement."""
    return Way("ours", Library.OURS, (f"tests.benchmarks.ours.{measurement}", *map(str, arguments)))


def cr(*arguments: object, name: str = CR) -> Way:
    """controller-runtime with its defaults."""
    return Way(name, Library.CONTROLLER_RUNTIME, tuple(map(str, arguments)))


def cr_list(*arguments: object) -> Way:
    """controller-runtime without the streaming list."""
    return Way(CR_LIST, Library.CONTROLLER_RUNTIME, tuple(map(str, arguments)), PLAIN_LIST)


def kr(*arguments: object, name: str = KR) -> Way:
    """kube-rs with its defaults."""
    return Way(name, Library.KUBE_RS, tuple(map(str, arguments)))


def fills(
    n: int, *, ours_too: tuple[str, ...] = (), cr_too: tuple[str, ...] = (), kr_too: tuple[str, ...] = ()
) -> tuple[Way, ...]:
    """A fill with n objects: ours, and every setting of the peers that could be their best."""
    go, rust = ("fill", "-n", n, *cr_too), ("fill", "--n", n, *kr_too)
    return (
        ours("fill", "--n", n, *ours_too),
        cr(*go),
        cr_list(*go),
        kr(*rust),
        kr(*rust, "--list", "streaming", name=KR_STREAMING),
        kr(*rust, "--list", "any-nopage", name=KR_ONE_LIST),
    )


def handwritten(n: int) -> Way:
    """The reflector of kubernetes-asyncio's users."""
    return Way(HANDWRITTEN, Library.HANDWRITTEN, (str(n),))


def kopf(mode: str, n: int) -> Way:
    """kopf with its defaults."""
    return Way(KOPF, Library.KOPF, (mode, str(n)))
