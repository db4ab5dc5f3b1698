"""Leases of many nodes, renewed a few at a time: the writes per second are bounded, however many nodes there are."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from kohort.api.core.leases import Lease
from kohort.api.errors import ApiError
from kohort.embedded.nodes.manifests import LEASE_NAMESPACE, lease, renewal
from kohort.embedded.nodes.seen_nodes import AgentNode
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.indexer import Indexer
from kohort.kube.patches import MergePatch

log = logging.getLogger(__name__)

_SHORTEST_LEASE = 40
_RENEWALS_PER_LEASE = 4
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class LeasePace:
    """How often leases are renewed."""

    per_second: float = 100.0
    """Renewals of all nodes together, as long as none waits too long."""
    shortest: float = 10.0
    """Seconds between two renewals of a node, as a kubelet does it."""
    longest: float = 30.0
    """Kubernetes' own node controller takes a node for dead after 50 s, whatever its lease says."""

    def interval(self, nodes: int) -> float:
        """Seconds between two renewals of each of so many nodes."""
        return min(self.longest, max(self.shortest, nodes / self.per_second))

    def duration(self, nodes: int) -> int:
        """Seconds that a lease is asked for."""
        return max(_SHORTEST_LEASE, ceil(_RENEWALS_PER_LEASE * self.interval(nodes)))


PATIENT = LeasePace(per_second=50.0, longest=600.0)
"""For servers whose node controller goes by the length of a lease, as the embedded one does."""


class Leases:
    """Keeps the leases of all nodes of an agent."""

    def __init__(self, client: Client, names: Sequence[str], nodes: Indexer[AgentNode], pace: LeasePace) -> None:
        self._leases = client.of(Lease.resource)
        self._clock = client.clock
        self._names = names
        self._nodes = nodes
        self._pace = pace
        self._next = 0
        self._failing = False

    async def run(self) -> None:
        """Renew for ever, a batch at a time, round and round."""
        count = len(self._names)
        interval = self._pace.interval(count)
        tick = max(1.0, interval / count)
        batch = ceil(count * tick / interval)
        due = self._clock.now()
        while True:
            due = max(due + tick, self._clock.now())
            await self._clock.sleep(due - self._clock.now())
            await self._renew_all([self._names[(self._next + step) % count] for step in range(batch)])
            self._next = (self._next + batch) % count

    async def _renew_all(self, names: Sequence[str]) -> None:
        for start in range(0, len(names), _AT_ONCE):
            await asyncio.gather(*map(self._try_renew, names[start : start + _AT_ONCE]))

    async def _try_renew(self, name: str) -> None:
        """A failure is told once until it goes well again; the next round tries again."""
        try:
            await self._renew(name)
            self._failing = False
        except (KubeError, ApiError) as error:
            level = logging.DEBUG if self._failing else logging.WARNING
            log.log(level, "the lease of node %s could not be renewed: %s", name, error)
            self._failing = True

    async def _renew(self, name: str) -> None:
        node = self._nodes.get(("", name))
        if node is None:
            return
        try:
            await self._leases.patch((LEASE_NAMESPACE, name), MergePatch(renewal(self._clock.wall())))
        except StatusError as error:
            if not error.is_not_found:
                raise
            await self.create(node)

    async def create(self, node: AgentNode) -> None:
        """The first lease of a node, or that of a former agent taken over."""
        body = lease(node, self._pace.duration(len(self._names)), self._clock.wall())
        try:
            await self._leases.create(body)
        except StatusError as error:
            if not error.is_already_exists:
                raise
            await self._leases.patch((LEASE_NAMESPACE, node.key.name), MergePatch(body))
