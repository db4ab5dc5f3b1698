"""Topology-aware scheduling: the domains of nodes, their capacity and usage, and where gangs of pods go.

Pure as the rest of the engine (docs/spec/topology.md).
"""

from kohort.engine.topology.domain_lists import merged
from kohort.engine.topology.elastic import added_pods, kept_pods
from kohort.engine.topology.flavor_domains import FlavorDomains
from kohort.engine.topology.matcher import MATCHES_ALL, Exclusion, ExclusionCause, NodeMatcher, node_matcher
from kohort.engine.topology.prepared import PreparedRequest
from kohort.engine.topology.replacement import FailedNode, NodeReplacement, replace_node
from kohort.engine.topology.request import CapacityMode, PlacementRequest, SliceLayer
from kohort.engine.topology.result import GroupPlacement, LayerFit, PlacementFailure, TopologyDomains
from kohort.engine.topology.settings import PlacementSettings
from kohort.engine.topology.store import TopologyStore
from kohort.engine.topology.usage import NOTHING_ASSUMED, AssumedUsage, DomainCounter

__all__ = [
    "MATCHES_ALL",
    "NOTHING_ASSUMED",
    "AssumedUsage",
    "CapacityMode",
    "DomainCounter",
    "Exclusion",
    "ExclusionCause",
    "FailedNode",
    "FlavorDomains",
    "GroupPlacement",
    "LayerFit",
    "NodeMatcher",
    "NodeReplacement",
    "PlacementFailure",
    "PlacementRequest",
    "PlacementSettings",
    "PreparedRequest",
    "SliceLayer",
    "TopologyDomains",
    "TopologyStore",
    "added_pods",
    "kept_pods",
    "merged",
    "node_matcher",
    "replace_node",
]
