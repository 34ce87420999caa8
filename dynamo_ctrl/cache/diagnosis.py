"""`Diagnosis`: what a failure of a source means, and in which state the source is then."""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.cache import state
from dynamo_ctrl.cache.options import Remedy
from dynamo_ctrl.cache.state import SourceState
from dynamo_ctrl.engine.errors import EngineError, Forbidden, NotFound, Unavailable, UnsupportedKind
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.kind import Kind


class Diagnosis:
    """Reads the failures of one scope of one kind.

    Args:
        engine: where discovery is asked.
        kind: what is followed.
        scope: the namespace, "" for all.
        remedy: what to do about a kind that is not served.
        beyond: the kind lies outside of the namespaces to which the cache keeps.
    """

    def __init__(self, engine: Engine, kind: Kind[Any], scope: str, remedy: Remedy, *, beyond: bool = False) -> None:
        self._engine = engine
        self._kind = kind
        self._scope = scope
        self._remedy = remedy
        self._beyond = beyond

    async def review(self, error: Exception) -> Exception:
        """What a 403 or 404 means, asked of discovery; every other error is what it is.

        A server refuses an API that it does not have as well (403 comes before 404); and one that has just started may answer
        404 for an API that it will serve, which must not empty the cache.
        """
        if not isinstance(error, Forbidden | NotFound | UnsupportedKind):
            return error
        kind = self._kind
        try:
            resources = await self._engine.discover(kind.group, kind.version)
        except (NotFound, UnsupportedKind):
            served = False
        except EngineError:
            return error
        else:
            served = any(resource.plural == kind.plural for resource in resources)
        if not served:
            return UnsupportedKind(str(error))
        return error if isinstance(error, Forbidden) else Unavailable(f"{error} (discovery tells that it is served)")

    def state(self, error: Exception, *, complete: bool) -> SourceState:
        """The state that a reviewed error leads to. `complete`: there is a content that can be read meanwhile."""
        match error:
            case Forbidden():
                return state.forbidden(self._kind, self._scope, error, beyond=self._beyond)
            case NotFound() | UnsupportedKind():
                return state.absent(self._kind, self._remedy(self._kind))
            case _ if complete:
                return state.stale(self._kind, error)
            case _:
                return state.syncing(self._kind, error)
