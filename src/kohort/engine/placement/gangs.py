"""Gangs of one pod set, prepared once: Workloads with equal specs share their pod sets (`request_cache`)."""

from typing import Final

from kohort.api.core.pods import QuotaPodSpec
from kohort.api.meta import Toleration
from kohort.engine.placement.groups import GangPlacement, PodsToPlace, placement_request
from kohort.engine.records import PodSetResources
from kohort.engine.topology import FlavorDomains, TopologyStore

MAX_GANGS: Final = 1024

GangKey = tuple[str, int, int, int]
"""The flavor, the pod set and its spec by identity, and the number of pods."""


def gang_of(topology: FlavorDomains, members: list[PodsToPlace], tolerations: tuple[Toleration, ...]) -> GangPlacement:
    """The gang of one pod set, or of workers and a leader."""
    request = placement_request(members, tolerations)
    return GangPlacement(topology, request, topology.prepared(request))


class GangCache:
    """Gangs of pod sets alone, while no TAS flavor changes."""

    def __init__(self, topologies: TopologyStore) -> None:
        self._topologies = topologies
        self._generation = -1
        self._gangs: dict[GangKey, tuple[PodSetResources, QuotaPodSpec, GangPlacement]] = {}
        """With what the key has by identity, so that no other object gets that identity."""

    def gang(self, topology: FlavorDomains, pods: PodsToPlace, tolerations: tuple[Toleration, ...]) -> GangPlacement:
        """The gang of a pod set alone."""
        if self._generation != self._topologies.generation or len(self._gangs) >= MAX_GANGS:
            self._generation = self._topologies.generation
            self._gangs.clear()
        key = topology.name, id(pods.pod_set), id(pods.spec), pods.count
        known = self._gangs.get(key)
        if known is None:
            known = self._gangs[key] = pods.pod_set, pods.spec, gang_of(topology, [pods], tolerations)
        return known[2]
