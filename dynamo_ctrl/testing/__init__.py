"""What tests of programs and controllers need: a cluster in a variable, virtual time, faults.

`dynamo_ctrl.testing.plugin` is the pytest plugin.
"""

from dynamo_ctrl.plan.passes import Suspended
from dynamo_ctrl.testing.data_plane import data_plane
from dynamo_ctrl.testing.fake_cache import FakeCache, NotConverged
from dynamo_ctrl.testing.faults import FaultyEngine
from dynamo_ctrl.testing.recording import RecordingEngine, Write
from dynamo_ctrl.testing.virtual_loop import Deadlock, LoopClock, TaskLeak, VirtualLoop, run, settle

__all__ = [
    "Deadlock",
    "FakeCache",
    "FaultyEngine",
    "LoopClock",
    "NotConverged",
    "RecordingEngine",
    "Suspended",
    "TaskLeak",
    "VirtualLoop",
    "Write",
    "data_plane",
    "run",
    "settle",
]
