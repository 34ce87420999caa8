"""The summary of a run: time, reconciles, requests, writes for each object, and what further passes wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynamo_ctrl.objects.key import Key
from dynamo_manager.counting import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run came to.

    Attributes:
        stages: seconds until everything was ready, for each stage.
        reconciles: of all controllers until then.
        requests: of the programs and their caches, by verb.
        writes: write requests of the programs by target.
        passes: how many further passes were forced afterwards.
        pass_reconciles: how many reconciles those were.
        pass_writes: what they wrote; nothing, if the world had converged.
    """

    stages: Sequence[float]
    reconciles: int
    requests: Counter[str]
    writes: Counter[Target]
    passes: int
    pass_reconciles: int
    pass_writes: Counter[Target]

    @property
    def code(self) -> int:
        """The exit code: 1 if the further passes wrote."""
        return 1 if self.pass_writes else 0

    def lines(self) -> Iterator[str]:
        """The summary as text."""
        took = ", then ".join(f"{seconds:.1f} s" for seconds in self.stages)
        requests = ", ".join(f"{count} {verb}" for verb, count in sorted(self.requests.items()))
        yield f"ready after {took}"
        yield f"{self.reconciles} reconciles, {self.requests.total()} requests ({requests})"
        objects = _by_object(self.writes)
        yield f"{self.writes.total()} writes to {len(objects)} objects:"
        width = max((len(name) for name in objects), default=0)
        for name, parts in objects.items():
            yield f"  {name:{width}}  {_parts(parts)}"
        forced = f"{self.passes} further passes ({self.pass_reconciles} reconciles)"
        if not self.pass_writes:
            yield f"{forced} wrote nothing"
            return
        yield f"{forced} wrote {self.pass_writes.total()} times, although nothing had changed:"
        for target, count in sorted(self.pass_writes.items()):
            yield f"  {count} {_name(target.kind, target.key)} {target.subresource}".rstrip()


def _by_object(writes: Counter[Target]) -> dict[str, Counter[str]]:
    """For each object, in order, its writes by subresource; "" for the object itself."""
    found: dict[str, Counter[str]] = {}
    for target, count in sorted(writes.items()):
        found.setdefault(_name(target.kind, target.key), Counter())[target.subresource] += count
    return found


def _parts(parts: Counter[str]) -> str:
    """`3 + 14 status`: the object itself first."""
    further = (f" + {count} {name}" for name, count in sorted(parts.items()) if name)
    return f"{parts['']:3}{''.join(further)}"


def _name(kind: str, key: Key) -> str:
    return f"{kind} {key}"
