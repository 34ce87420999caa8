"""Projections: what is kept of an object before it enters the cache.

A projection is a pure, idempotent function on the object's content. It must keep apiVersion, kind, and name, namespace, uid,
resourceVersion, generation, labels, owners, finalizers and deletion state of the metadata. An object read through a projection
must never be written back in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dynamo_ctrl.objects.frozen import JsonMap

Projection: TypeAlias = Callable[[JsonMap], dict[str, Any]]
"""Content in, kept content out. Compared by identity: declare it once, at module level."""
