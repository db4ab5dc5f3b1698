"""Whether this replica leads, and who waits for that to change (configuration `leaderElection`)."""

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
    """The standing of one replica; without an election it always leads."""

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
        """Whether this replica leads at this very moment."""
        return self._election is None or self._election.is_leader

    def right(self) -> float:
        """Seconds for which it leads even if it hears nothing more; without an election for ever."""
        return float("inf") if self._election is None else self._election.right

    def role(self) -> str:
        """What metrics call it (API-143)."""
        if self._election is None:
            return "standalone"
        return "leader" if self._election.is_leader else "follower"

    async def acquired(self) -> None:
        """Return as soon as this replica leads."""
        await self._acquired.wait()

    async def lost(self) -> None:
        """Return as soon as it does not."""
        await self._lost.wait()

    @asynccontextmanager
    async def standing(self) -> AsyncIterator[None]:
        """Stand for election for as long as the block lasts; then let go of the lease."""
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
