"""Whether this replica is the leader, and waiting for a change (configuration `leaderElection`)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kohort.api.config.common import LeaderElection as Settings
from kohort.api.meta import ObjectKey
from kohort.api.times import parse_duration, to_timedelta
from kohort.kube.client import Client
from kohort.kube.leader_election import LeaderCallbacks, LeaderElector, LeaseTimes
from kohort.manager.errors import StartError


class Leadership:
    """The leader election of one replica; without one it always leads."""

    def __init__(self, client: Client, settings: Settings, namespace: str, identity: str) -> None:
        self._acquired, self._lost = asyncio.Event(), asyncio.Event()
        self._election: LeaderElector | None = None
        if settings.leader_elect:
            lease = ObjectKey(settings.resource_namespace or namespace, settings.resource_name)
            callbacks = LeaderCallbacks(self._acquire, self._lose)
            self._election = LeaderElector(client, lease, identity, callbacks, _times(settings))
        else:
            self._acquire()

    def leads(self) -> bool:
        """Whether this replica is the leader now."""
        return self._election is None or self._election.is_leader

    def remaining_lease(self) -> float:
        """Seconds for which the lease is certainly held; infinite without leader election."""
        return float("inf") if self._election is None else self._election.right

    def role(self) -> str:
        """The value of the metrics label `replica_role` (API-143)."""
        if self._election is None:
            return "standalone"
        return "leader" if self._election.is_leader else "follower"

    async def acquired(self) -> None:
        """Return once this replica is the leader."""
        await self._acquired.wait()

    async def lost(self) -> None:
        """Return once this replica is not the leader."""
        await self._lost.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the leader elector until the context exits, then releases the lease."""
        if self._election is None:
            yield
            return
        task = asyncio.create_task(self._election.run(), name="leader election")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _acquire(self) -> None:
        self._lost.clear()
        self._acquired.set()

    def _lose(self) -> None:
        self._acquired.clear()
        self._lost.set()


def _times(settings: Settings) -> LeaseTimes:
    try:
        return LeaseTimes(
            _seconds(settings.lease_duration), _seconds(settings.renew_deadline), _seconds(settings.retry_period)
        )
    except ValueError as error:
        raise StartError(f"leaderElection: {error}") from None


def _seconds(text: str) -> float:
    return to_timedelta(parse_duration(text)).total_seconds()
