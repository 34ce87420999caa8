"""What can go wrong with a manager itself."""

from __future__ import annotations

from collections.abc import Sequence


class ManagerError(Exception):
    """Something that the user of a manager did, or that keeps it from starting or stopping."""


class AlreadyStarted(ManagerError):
    """Asked of a manager that runs (or ran) what can only be done before."""


class Stopping(ManagerError):
    """Something was added to a manager that stops or has stopped."""


class StopOverrun(ManagerError):
    """Tasks that did not end within the stop budget.

    Attributes:
        hanging: for each of them its name and where it hangs.
    """

    def __init__(self, budget: float, hanging: Sequence[str]) -> None:
        self.hanging = tuple(hanging)
        super().__init__(f"not everything ended within the stop budget of {budget:g} s:\n" + "\n".join(self.hanging))


class RunnableAborted(ManagerError):
    """A runnable ended by an exception that only the end of its task or generator explains, though nobody had ended it.

    Attributes:
        who: which one, or at least which group.
    """

    def __init__(self, who: str, error: BaseException) -> None:
        self.who = who
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        super().__init__(f"{who} ended by {type(error).__name__}, though nobody had ended it")


class LeadershipLost(ManagerError):
    """The lease is no longer ours: writes have ended, and the process is to exit.

    Attributes:
        lease: the Lease, as namespace/name.
        reason: how it was lost.
        hanging: what had not ended when `run` raised; nothing is waited for.
    """

    def __init__(self, lease: str, reason: str) -> None:
        self.lease = lease
        self.reason = reason
        self.hanging: tuple[str, ...] = ()
        super().__init__(f"leader election lost: lease {lease}: {reason}")


class CannotListen(ManagerError):
    """An address that a server of the manager cannot listen on.

    Attributes:
        option: the option that holds the address.
        address: the address.
        cause: what the system says.
    """

    def __init__(self, option: str, address: str, cause: str) -> None:
        self.option = option
        self.address = address
        self.cause = cause
        super().__init__(f"{option}: cannot listen on {address}: {cause}")


class InvalidOption(ManagerError):
    """An option that does not exist or that breaks a rule.

    Attributes:
        field: the option's name.
        rule: what it has to fulfil.
    """

    def __init__(self, field: str, rule: str) -> None:
        self.field = field
        self.rule = rule
        super().__init__(f"{field}: {rule}")


def cause(error: Exception) -> Exception:
    """The first error inside of groups of errors."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def raise_failures(error: Exception | None, hanging: tuple[str, ...], budget: float) -> None:
    """Raise what ended a manager, and what did not end: one of them, or both in a group; nothing if there is neither.

    Who does not wait (a lost lease, a budget of 0) cannot complain of what has not ended.
    """
    if isinstance(error, LeadershipLost):
        error.hanging = hanging
        raise error
    overrun = StopOverrun(budget, hanging) if hanging and budget > 0 else None
    if error is not None and overrun is not None:
        raise ExceptionGroup("the manager failed and did not stop in time", [error, overrun])
    if error is not None:
        raise error
    if overrun is not None:
        raise overrun
