"""Leader election on a Lease: of several replicas one leads, and who can't renew in time has stopped leading.

Only local clocks count: a rival's lease ends when it has not changed for its duration since we first saw it so, and
our own right ends `renew_deadline` after the last renewal was sent, before anybody else may take it.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from kohort.api.core.leases import Lease, LeaseSpec
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.api.times import format_micro_time
from kohort.kube.client import Client
from kohort.kube.clock import within
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.patches import MergePatch

log = logging.getLogger(__name__)

_LOOKS: Final = 3
"""How often a lease is looked at to be handed back."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds; each must be longer than the next."""

    duration: float = 15.0
    """How long others wait before they take a lease that is not renewed."""
    renew_deadline: float = 10.0
    """How long the leader may go without a renewal."""
    retry: float = 2.0
    """How long everybody waits between two looks."""

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > self.retry > 0:
            raise ValueError(f"a lease needs duration > renew deadline > retry > 0, not {self}")


USUAL_TIMES = LeaseTimes()


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class LeaderCallbacks:
    """Who wants to know; called in the event loop, so quick."""

    acquired: Callable[[], None] = _nothing
    lost: Callable[[], None] = _nothing


NO_CALLBACKS = LeaderCallbacks()


class LeaderElector:
    """One candidate for one Lease."""

    def __init__(
        self,
        client: Client,
        lease: ObjectKey,
        identity: str,
        callbacks: LeaderCallbacks = NO_CALLBACKS,
        times: LeaseTimes = USUAL_TIMES,
    ) -> None:
        self._client = client
        self._leases = client.of(Lease)
        self._key = lease
        self._identity = identity
        self._callbacks = callbacks
        self._times = times
        self._clock = client.clock
        self._seen: tuple[str, LeaseSpec] | None = None
        self._seen_at = 0.0
        self._leads_until = float("-inf")
        self._leading = False
        self._failing = False

    @property
    def is_leader(self) -> bool:
        """Whether this candidate leads at this very moment, even if its event loop was held up."""
        return self.right > 0

    @property
    def right(self) -> float:
        """Seconds for which this candidate leads if it can't renew again; 0 for one that does not lead."""
        return max(0.0, self._leads_until - self._clock.now()) if self._leading else 0.0

    @property
    def leader(self) -> str:
        """Who held the lease when last seen."""
        return self._seen[1].holder_identity if self._seen else ""

    async def run(self) -> None:
        """Try to lead, and lead, until cancelled; then let go of the lease."""
        try:
            while True:
                await self._turn()
                await self._clock.sleep(self._times.retry * (1 + 0.2 * self._client.random.random()))
        finally:
            await self._let_go()

    async def _turn(self) -> None:
        """One look; bounded by what is left of our right to lead, so that its end is told in time."""
        started = self._clock.now()
        left = self._leads_until - started if self._leading else self._times.renew_deadline
        try:
            await within(self._clock, left, self._try(started))
            self._failing = False
        except (KubeError, ApiError, TimeoutError) as error:
            self._failed(error)
        if self._leading and self._clock.now() >= self._leads_until:
            self._lose("could not renew the lease in time")

    def _failed(self, error: Exception) -> None:
        """Told once until it goes well again."""
        level = logging.DEBUG if self._failing else logging.WARNING
        log.log(level, "lease %s: %s", self._key, str(error) or "no answer in time")
        self._failing = True

    async def _try(self, started: float) -> None:
        """Take or renew the lease if that is ours to do."""
        try:
            current = await self._leases.get(self._key)
        except StatusError as error:
            if not error.is_not_found:
                raise
            await self._write_first(self._leases.create(self._new()), started)
            return
        self._look_at(current)
        if current.spec.holder_identity == self._identity or self._is_free(current):
            await self._write_first(self._write(current, self._claim(current)), started)
        elif self._leading:
            self._lose(f"{current.spec.holder_identity} has taken the lease")

    async def _write_first(self, write: Awaitable[Lease], started: float) -> None:
        try:
            lease = await write
        except StatusError as error:
            if not (error.is_conflict or error.is_already_exists):
                raise
            log.debug("lease %s: somebody else was first", self._key)
        else:
            self._took(lease, started)

    def _took(self, lease: Lease, started: float) -> None:
        self._look_at(lease)
        self._leads_until = started + self._times.renew_deadline
        if not self._leading:
            self._leading = True
            log.info("lease %s: %s leads", self._key, self._identity)
            self._callbacks.acquired()

    def _lose(self, why: str) -> None:
        log.warning("lease %s: %s no longer leads: %s", self._key, self._identity, why)
        self._step_down()

    def _step_down(self) -> None:
        self._leading = False
        self._leads_until = float("-inf")
        self._callbacks.lost()

    def _look_at(self, lease: Lease) -> None:
        seen = (lease.metadata.resource_version, lease.spec)
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock.now()

    def _is_free(self, lease: Lease) -> bool:
        if not lease.spec.holder_identity:
            return True
        duration = lease.spec.lease_duration_seconds or self._times.duration
        return self._clock.now() >= self._seen_at + duration

    async def _let_go(self) -> None:
        """Hand the lease back, so that the next need not wait for it to end; a failure costs only that wait."""
        if not self._leading:
            return
        self._step_down()
        try:
            await within(self._clock, self._times.renew_deadline, self._hand_back())
        except (KubeError, ApiError, TimeoutError) as error:
            log.warning("lease %s: could not be handed back: %s", self._key, str(error) or "no answer in time")

    async def _hand_back(self) -> None:
        """A renewal that was cancelled may still land between the look and the write: then look again."""
        for _ in range(_LOOKS - 1):
            try:
                return await self._hand_back_once()
            except StatusError as error:
                if not error.is_conflict:
                    raise
        return await self._hand_back_once()

    async def _hand_back_once(self) -> None:
        current = await self._leases.get(self._key)
        if current.spec.holder_identity == self._identity:
            await self._write(current, {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._now()})

    async def _write(self, current: Lease, spec: dict[str, Any]) -> Lease:
        """Only if nobody wrote since we looked."""
        version = {"resourceVersion": current.metadata.resource_version}
        return await self._leases.patch(self._key, MergePatch({"metadata": version, "spec": spec}))

    def _claim(self, current: Lease) -> dict[str, Any]:
        spec: dict[str, Any] = {"renewTime": self._now()}
        if current.spec.holder_identity == self._identity:
            return spec
        return spec | self._holding() | {"leaseTransitions": (current.spec.lease_transitions or 0) + 1}

    def _new(self) -> Lease:
        spec = LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=round(self._times.duration),
            acquire_time=self._now(),
            renew_time=self._now(),
            lease_transitions=0,
        )
        return Lease(metadata=ObjectMeta(name=self._key.name, namespace=self._key.namespace), spec=spec)

    def _holding(self) -> dict[str, Any]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": round(self._times.duration),
            "acquireTime": self._now(),
        }

    def _now(self) -> str:
        return format_micro_time(self._clock.wall())
