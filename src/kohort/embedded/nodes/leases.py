"""Renews the leases of many nodes with a bounded rate of writes."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from kohort.api.core.leases import Lease
from kohort.api.errors import ApiError
from kohort.embedded.nodes.agent_nodes import AgentNode
from kohort.embedded.nodes.manifests import LEASE_NAMESPACE, lease, renewal
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.indexer import Indexer
from kohort.kube.patches import MergePatch

log = logging.getLogger(__name__)

_MIN_LEASE_SECONDS = 40
_RENEWALS_PER_LEASE = 4
_MAX_CONCURRENT = 8


@dataclass(frozen=True, slots=True)
class LeasePace:
    """How often leases are renewed."""

    per_second: float = 100.0
    """Renewals per second of all nodes together, unless `longest` requires more."""
    min_interval: float = 10.0
    """Minimum seconds between two renewals of a node, as in the kubelet."""
    max_interval: float = 30.0
    """Maximum seconds between two renewals: kube-controller-manager marks a node Unknown after 50 s."""

    def interval(self, nodes: int) -> float:
        """Seconds between two renewals of each node."""
        return min(self.max_interval, max(self.min_interval, nodes / self.per_second))

    def duration(self, nodes: int) -> int:
        """leaseDurationSeconds."""
        return max(_MIN_LEASE_SECONDS, ceil(_RENEWALS_PER_LEASE * self.interval(nodes)))


PATIENT = LeasePace(per_second=50.0, max_interval=600.0)
"""For servers whose node controller respects the lease duration, as the embedded one does."""


class Leases:
    """Maintains the leases of all nodes of an agent."""

    def __init__(self, client: Client, names: Sequence[str], nodes: Indexer[AgentNode], pace: LeasePace) -> None:
        self._leases = client.of(Lease.resource)
        self._clock = client.clock
        self._names = names
        self._nodes = nodes
        self._pace = pace
        self._next = 0
        self._failing = False

    async def run(self) -> None:
        """Renews leases forever, in batches."""
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
        for start in range(0, len(names), _MAX_CONCURRENT):
            await asyncio.gather(*map(self._try_renew, names[start : start + _MAX_CONCURRENT]))

    async def _try_renew(self, name: str) -> None:
        """Logs a failure once until a renewal succeeds; the next round retries."""
        try:
            await self._renew(name)
            self._failing = False
        except (KubeError, ApiError) as error:
            level = logging.DEBUG if self._failing else logging.WARNING
            log.log(level, "renewing lease of node %s failed: %s", name, error)
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
        """Creates the lease of a node or takes over that of a previous agent."""
        body = lease(node, self._pace.duration(len(self._names)), self._clock.wall())
        try:
            await self._leases.create(body)
        except StatusError as error:
            if not error.is_already_exists:
                raise
            await self._leases.patch((LEASE_NAMESPACE, node.key.name), MergePatch(body))
