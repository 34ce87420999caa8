"""Where the Pods of a graph may be spread (G 1.2, 1.4). Only Grove acts on it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_graph.api.model import Model

DomainName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
"""A level of a topology: zone, rack, host."""


class GraphTopology(Model):
    """Where the Pods of the graph may be spread."""

    cluster_topology_name: Annotated[str, Field(min_length=1, max_length=253)]
    """Cluster topology that names the domains."""
    pack_domain: DomainName | None = None
    """Domain that holds all Pods."""


class ComponentTopology(Model):
    """Where the Pods of one engine may be spread."""

    pack_domain: DomainName
    """Domain that holds all Pods of an engine."""
