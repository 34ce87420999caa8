"""A controller-runtime for Python: an informer cache, an indexer and a work queue that drive pure reconcilers.

The public face is what this page exports, and, by their own names, because not everybody needs them or can import them:

- `dynamo_ctrl.objects.builtin` has the built-in kinds, `dynamo_ctrl.objects.schema` makes definitions of models, and
  `dynamo_ctrl.objects.readiness` says whether an object is ready;
- `dynamo_ctrl.controller.predicate` and `dynamo_ctrl.controller.mapper` say which changes wake whom, and
  `dynamo_ctrl.controller.context` which reconcile a log line belongs to;
- `dynamo_ctrl.engine.errors` are the answers of a server, `dynamo_ctrl.engine.memory` is one in the process, and
  `dynamo_ctrl.engine.kubernetes` works beside a client that is there;
- `dynamo_ctrl.program.registry` finds installed programs, `dynamo_ctrl.plan` tells what would be written, and
  `dynamo_ctrl.testing` is the test kit.

Everything else may change.
"""

__version__ = "0.1.0"

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.clock import Clock, ManualClock, SystemClock
from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.mapper import by_label, to_controller, to_self
from dynamo_ctrl.engine.apply import NotEstablished, apply
from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.manager.errors import LeadershipLost
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions
from dynamo_ctrl.manager.signals import install_signals
from dynamo_ctrl.objects.conditions import Condition, with_condition
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import FrozenDict, FrozenList
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import (
    Create,
    CreateOnce,
    Delete,
    EnsureFinalizer,
    Event,
    Patch,
    PatchPrimary,
    Refuse,
    RemoveFinalizer,
    Retry,
    Scale,
    Sync,
    SyncPolicy,
)
from dynamo_ctrl.program.program import Program
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Note, Result, Step

__all__ = [
    "Change",
    "Clock",
    "Condition",
    "Create",
    "CreateOnce",
    "Delete",
    "Engine",
    "EngineConfig",
    "EngineError",
    "EnsureFinalizer",
    "Event",
    "FrozenDict",
    "FrozenList",
    "Index",
    "InvalidObject",
    "Key",
    "Kind",
    "LeaderElectionOptions",
    "LeadershipLost",
    "Manager",
    "ManagerOptions",
    "ManualClock",
    "NotEstablished",
    "Note",
    "Object",
    "Patch",
    "PatchPrimary",
    "Program",
    "Refuse",
    "RemoveFinalizer",
    "Report",
    "Request",
    "Result",
    "Retry",
    "Scale",
    "SourceUnavailable",
    "Step",
    "Sync",
    "SyncPolicy",
    "SystemClock",
    "View",
    "Watches",
    "apply",
    "by_label",
    "install_signals",
    "open_engine",
    "to_controller",
    "to_self",
    "watching",
    "with_condition",
]
