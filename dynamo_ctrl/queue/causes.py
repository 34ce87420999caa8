"""`Cause`: why a key is in the queue. Every entry carries a bounded list of them.

A cause is made of small values that are there anyway; it is made for every add, and read only when somebody asks.
"""

from __future__ import annotations

from msgspec import Struct

from dynamo_ctrl.objects.key import Key

MAX_CAUSES = 8
"""How many causes an entry keeps; later ones are only counted."""


class Cause(Struct, frozen=True, gc=False):
    """One reason to run.

    Attributes:
        source: the kind whose object changed, as `deployments.apps`; or what in the controller asked: `retry`, `requeue`.
        event: what happened: `created`, `updated`, `deleted`, `initial`, or the state of a source.
        object: the key of the object that changed.
        old: its resourceVersion before, "" where there was none.
        new: its resourceVersion after, "" where it is gone.
    """

    source: str
    event: str
    object: Key | None = None
    old: str = ""
    new: str = ""

    def __str__(self) -> str:
        """One line for people: `deployments.apps ns/web updated 17->18`."""
        words = [self.source, str(self.object) if self.object is not None else "", self.event]
        if self.old or self.new:
            words.append(f"{self.old or '-'}->{self.new or '-'}")
        return " ".join(word for word in words if word)


RETRY = Cause("retry", "failed")
CONFLICT = Cause("retry", "conflict")
PROGRESS = Cause("requeue", "progress")
REQUEUE = Cause("requeue", "after")
