"""`predicted`: the report of an attempt that nobody makes."""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.ledger import Ledger
from dynamo_ctrl.program.outcome import Creation, Deletion, Lookup, Refused, Unchanged, Update, outcome
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.result import Result


def predicted(result: Result[Any], view: Lookup, *, primary: Object[Any, Any]) -> Report:
    """The report that `result` would lead to if the server took every write; nothing is sent.

    What only a server knows (uids, versions, defaults) is missing in the objects that it holds. A conflict, which in
    a real attempt ends everything quietly, is an ordinary failure here.

    Raises:
        ProgramFault: the steps contradict each other, or the effects of one that writes.
    """
    ledger = Ledger(primary, view)
    for effect in ledger.walk(result.steps):
        try:
            decided = outcome(effect, ledger.primary, ledger)
        except SourceUnavailable as unavailable:
            ledger.failed(effect, unavailable)
            continue
        if isinstance(decided, Creation | Update | Deletion):
            ledger.check_sole()
        match decided:
            case Unchanged(live):
                ledger.unchanged(effect, live)
            case Creation(body):
                ledger.wrote(effect, body)
            case Update():
                ledger.wrote(effect, decided.predicted())
            case Deletion(live):
                ledger.deleted(effect, live)
            case Refused(error, retry):
                ledger.failed(effect, error, retry)
    return ledger.report()
