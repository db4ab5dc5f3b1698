"""Leader election on a Lease: one of several replicas leads, and loses leadership unless it renews in time.

Only local clocks count: another candidate's lease expires when it has not changed for its duration since it was
first observed; leadership ends `renew_deadline` after the last renewal was sent, before the lease expires for others.
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

_RELEASE_ATTEMPTS: Final = 3
"""Attempts to release a lease."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Timing of the election in seconds; each must be longer than the next."""

    duration: float = 15.0
    """How long other candidates wait before they take a lease that is not renewed."""
    renew_deadline: float = 10.0
    """How long the leader retries to renew before it loses leadership."""
    retry: float = 2.0
    """How long candidates wait between two attempts."""

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > self.retry > 0:
            raise ValueError(f"lease times must satisfy duration > renew deadline > retry > 0, got {self}")


DEFAULT_LEASE_TIMES = LeaseTimes()


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class LeaderCallbacks:
    """Callbacks of an election; they run in the event loop and must not block."""

    acquired: Callable[[], None] = _nothing
    lost: Callable[[], None] = _nothing


NO_CALLBACKS = LeaderCallbacks()


class LeaderElector:
    """A candidate for one Lease."""

    def __init__(
        self,
        client: Client,
        lease: ObjectKey,
        identity: str,
        callbacks: LeaderCallbacks = NO_CALLBACKS,
        times: LeaseTimes = DEFAULT_LEASE_TIMES,
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
        """Whether this candidate leads now, even if its event loop was blocked."""
        return self.right > 0

    @property
    def right(self) -> float:
        """Seconds until leadership ends without another renewal; 0 for a candidate that does not lead."""
        return max(0.0, self._leads_until - self._clock.now()) if self._leading else 0.0

    @property
    def leader(self) -> str:
        """The holder of the lease when last observed."""
        return self._seen[1].holder_identity if self._seen else ""

    async def run(self) -> None:
        """Acquire and renew the lease until cancelled; then release it."""
        try:
            while True:
                await self._attempt()
                await self._clock.sleep(self._times.retry * (1 + 0.2 * self._client.random.random()))
        finally:
            await self._release()

    async def _attempt(self) -> None:
        """One attempt; bounded by the remaining leadership time, so that its end is reported in time."""
        started = self._clock.now()
        left = self._leads_until - started if self._leading else self._times.renew_deadline
        try:
            await within(self._clock, left, self._try(started))
            self._failing = False
        except (KubeError, ApiError, TimeoutError) as error:
            self._failed(error)
        if self._leading and self._clock.now() >= self._leads_until:
            self._lose("renew deadline exceeded")

    def _failed(self, error: Exception) -> None:
        """Log a failure; repeated ones at debug level."""
        level = logging.DEBUG if self._failing else logging.WARNING
        log.log(level, "lease %s: %s", self._key, str(error) or "request timed out")
        self._failing = True

    async def _try(self, started: float) -> None:
        """Acquire or renew the lease if possible."""
        try:
            current = await self._leases.get(self._key)
        except StatusError as error:
            if not error.is_not_found:
                raise
            await self._write_first(self._leases.create(self._new()), started)
            return
        self._observe(current)
        if current.spec.holder_identity == self._identity or self._is_free(current):
            await self._write_first(self._write(current, self._renewed_spec(current)), started)
        elif self._leading:
            self._lose(f"lease taken by {current.spec.holder_identity}")

    async def _write_first(self, write: Awaitable[Lease], started: float) -> None:
        try:
            lease = await write
        except StatusError as error:
            if not (error.is_conflict or error.is_already_exists):
                raise
            log.debug("lease %s: held by another candidate", self._key)
        else:
            self._acquired(lease, started)

    def _acquired(self, lease: Lease, started: float) -> None:
        self._observe(lease)
        self._leads_until = started + self._times.renew_deadline
        if not self._leading:
            self._leading = True
            log.info("lease %s: %s became leader", self._key, self._identity)
            self._callbacks.acquired()

    def _lose(self, why: str) -> None:
        log.warning("lease %s: %s lost leadership: %s", self._key, self._identity, why)
        self._step_down()

    def _step_down(self) -> None:
        self._leading = False
        self._leads_until = float("-inf")
        self._callbacks.lost()

    def _observe(self, lease: Lease) -> None:
        seen = (lease.metadata.resource_version, lease.spec)
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock.now()

    def _is_free(self, lease: Lease) -> bool:
        if not lease.spec.holder_identity:
            return True
        duration = lease.spec.lease_duration_seconds or self._times.duration
        return self._clock.now() >= self._seen_at + duration

    async def _release(self) -> None:
        """Release the lease, so that the next leader need not wait for it to expire."""
        if not self._leading:
            return
        self._step_down()
        try:
            await within(self._clock, self._times.renew_deadline, self._release_with_retries())
        except (KubeError, ApiError, TimeoutError) as error:
            log.warning("lease %s: release failed: %s", self._key, str(error) or "request timed out")

    async def _release_with_retries(self) -> None:
        """Release the lease; retries if a cancelled renewal is still processed between the read and the write."""
        for _ in range(_RELEASE_ATTEMPTS - 1):
            try:
                return await self._release_once()
            except StatusError as error:
                if not error.is_conflict:
                    raise
        return await self._release_once()

    async def _release_once(self) -> None:
        current = await self._leases.get(self._key)
        if current.spec.holder_identity == self._identity:
            await self._write(current, {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._now()})

    async def _write(self, current: Lease, spec: dict[str, Any]) -> Lease:
        """Update the lease with the resourceVersion of the last read."""
        version = {"resourceVersion": current.metadata.resource_version}
        return await self._leases.patch(self._key, MergePatch({"metadata": version, "spec": spec}))

    def _renewed_spec(self, current: Lease) -> dict[str, Any]:
        spec: dict[str, Any] = {"renewTime": self._now()}
        if current.spec.holder_identity == self._identity:
            return spec
        return spec | self._held_spec() | {"leaseTransitions": (current.spec.lease_transitions or 0) + 1}

    def _new(self) -> Lease:
        spec = LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=round(self._times.duration),
            acquire_time=self._now(),
            renew_time=self._now(),
            lease_transitions=0,
        )
        return Lease(metadata=ObjectMeta(name=self._key.name, namespace=self._key.namespace), spec=spec)

    def _held_spec(self) -> dict[str, Any]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": round(self._times.duration),
            "acquireTime": self._now(),
        }

    def _now(self) -> str:
        return format_micro_time(self._clock.wall())
