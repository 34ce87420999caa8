"""`Request`: everything that a program may look at."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.object import Object

O_co = TypeVar("O_co", bound=Object[Any, Any], covariant=True)


class Request(msgspec.Struct, Generic[O_co], frozen=True, gc=False):
    """One attempt at one primary object.

    Attributes:
        object: the primary, as the cache has it (own writes included).
        view: reads of everything that the program declared.
        now: the time of the attempt; programs have no other clock.
    """

    object: O_co
    view: View
    now: datetime
