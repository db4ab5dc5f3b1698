"""Decayed past usage of LocalQueues, for admission fair sharing (docs/spec/scheduling.md §8).

Amounts are whole billionths of a unit: exactly the nine decimals to which the rules round down, so nothing drifts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from math import fsum, inf

from kohort.api.amounts import CPU
from kohort.api.config.common import AdmissionFairSharing
from kohort.api.kueue.v1beta2.queues import AdmissionFairSharingStatus
from kohort.api.markers import ResourceList
from kohort.api.meta import ObjectKey
from kohort.api.quantity import NANO, Quantity
from kohort.api.times import Nanoseconds, from_timedelta, parse_duration, to_timedelta

_Amounts = Mapping[str, int]
"""Amounts per resource in internal units."""
_Nanos = dict[str, int]
"""Amounts per resource in billionths of a unit; of a core for `cpu`."""

_NANOS_PER_MILLI = NANO // 1000


@dataclass(frozen=True, slots=True)
class HistoryRules:
    """Half-life of past usage, sampling interval, and weights of resources."""

    half_life: Nanoseconds = 0
    interval: Nanoseconds = 0
    weights: Mapping[str, float] = field(default_factory=dict)


def rules_of(settings: AdmissionFairSharing) -> HistoryRules:
    """Compile the configuration."""
    half_life = parse_duration(settings.usage_half_life_time)
    return HistoryRules(half_life, parse_duration(settings.usage_sampling_interval), settings.resource_weights)


def decay(elapsed: Nanoseconds, half_life: Nanoseconds) -> float:
    """The fraction of past usage that decays in a time; 0 without a half-life (SCH-801)."""
    return 1.0 - 0.5 ** (elapsed / half_life) if half_life else 0.0


def scaled(amounts: Mapping[str, int], factor: float) -> _Nanos:
    """Products with the factor as it is written in decimals, rounded down to the billionth (SCH-803)."""
    numerator, denominator = Decimal(repr(factor)).as_integer_ratio()
    return {resource: amount * numerator // denominator for resource, amount in amounts.items()}


def to_nanos(amounts: _Amounts) -> _Nanos:
    """Amounts in internal units as billionths; `cpu` is counted in thousandths there (SCH-101)."""
    return {name: amount * (_NANOS_PER_MILLI if name == CPU else NANO) for name, amount in amounts.items()}


def _add(total: _Nanos, amounts: Mapping[str, int], sign: int = 1) -> None:
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + sign * amount


class LocalQueueUsageRecord:
    """The usage history of one LocalQueue (SCH-802)."""

    __slots__ = ("consumed", "owed", "penalties", "updated_at", "usage")

    def __init__(self, consumed: _Nanos, now: datetime) -> None:
        self.consumed = consumed
        self.penalties: dict[ObjectKey, _Nanos] = {}
        """Per workload with a reservation that is not admitted yet."""
        self.owed: _Nanos = {}
        """Sum of the penalties."""
        self.updated_at = now
        self.usage: float | None = None
        """The cached result until a change, without the weight of the LocalQueue."""

    def sample(self, admitted: _Amounts, now: datetime, half_life: Nanoseconds) -> None:
        """Decay past usage and add the present usage (SCH-803)."""
        consumed: _Nanos = {}
        if half_life:
            forgotten = decay(max(0, from_timedelta(now - self.updated_at)), half_life)
            consumed = scaled(self.consumed, 1.0 - forgotten)
            _add(consumed, scaled(to_nanos(admitted), forgotten))
        self.consumed, self.updated_at, self.usage = consumed, now, None

    def charge(self, workload: ObjectKey, penalty: _Nanos) -> None:
        """Record a penalty in place of any former one of the workload (SCH-805)."""
        self.drop(workload)
        self.penalties[workload] = penalty
        _add(self.owed, penalty)
        self.usage = None

    def drop(self, workload: ObjectKey) -> _Nanos | None:
        """Remove the workload's penalty, if there is one."""
        penalty = self.penalties.pop(workload, None)
        if penalty is not None:
            _add(self.owed, penalty, -1)
            self.usage = None
        return penalty

    def weighed(self, weights: Mapping[str, float]) -> float:
        """Consumption and penalties, in units of the resources times their weights (SCH-804)."""
        if self.usage is None:
            total = dict(self.consumed)
            _add(total, self.owed)
            self.usage = fsum(weights.get(name, 1.0) * (amount / NANO) for name, amount in total.items())
        return self.usage


class UsageHistory:
    """The usage histories of all LocalQueues whose ClusterQueues order by past usage."""

    def __init__(self, rules: HistoryRules) -> None:
        self.rules = rules
        self._entry_part = decay(rules.interval, rules.half_life)
        self._records: dict[ObjectKey, LocalQueueUsageRecord] = {}
        self._weights: dict[ObjectKey, float] = {}

    def set_weight(self, local_queue: ObjectKey, weight: float) -> bool:
        """Set `spec.fairSharing.weight` of a LocalQueue, 1 by default; whether it changed (SCH-804)."""
        changes = self._weights.get(local_queue, 1.0) != weight
        self._weights[local_queue] = weight
        return changes

    def seed(self, local_queue: ObjectKey, consumed: ResourceList, now: datetime) -> None:
        """Start a history with the usage in the status, unless there is one (SCH-807)."""
        if local_queue not in self._records:
            nanos = {name: Quantity.parse(quantity).nanos for name, quantity in consumed.items()}
            self._records[local_queue] = LocalQueueUsageRecord(nanos, now)

    def forget(self, local_queue: ObjectKey) -> None:
        """Remove a deleted LocalQueue."""
        self._records.pop(local_queue, None)
        self._weights.pop(local_queue, None)

    def sample(self, local_queue: ObjectKey, admitted: _Amounts, now: datetime) -> bool:
        """Sample usage if the history is new, a sample is due or a penalty is pending; whether it was (SCH-803).

        `admitted` is what the admitted workloads of the LocalQueue use, over all flavors; a resource that is used
        by others in the ClusterQueue only is there with 0.
        """
        is_new = local_queue not in self._records
        record = self._record(local_queue, now)
        is_time = from_timedelta(now - record.updated_at) >= self.rules.interval
        if is_new or is_time or record.penalties:
            record.sample(admitted, now, self.rules.half_life)
            return True
        return False

    def due_at(self, local_queue: ObjectKey) -> datetime | None:
        """Time of the next sample; None without a history (SCH-803)."""
        record = self._records.get(local_queue)
        return None if record is None else record.updated_at + to_timedelta(self.rules.interval)

    def charge(self, local_queue: ObjectKey, workload: ObjectKey, requests: _Amounts, now: datetime) -> None:
        """Add the penalty of a new reservation: what one sampling interval would add (SCH-805)."""
        self._record(local_queue, now).charge(workload, scaled(to_nanos(requests), self._entry_part))

    def settle(self, local_queue: ObjectKey, workload: ObjectKey, admitted: _Amounts, now: datetime) -> bool:
        """The workload was admitted: its penalty becomes consumption; whether there was one (SCH-806)."""
        record = self._record(local_queue, now)
        penalty = record.drop(workload)
        if penalty is None:
            return False
        record.sample(admitted, now, self.rules.half_life)
        _add(record.consumed, penalty)
        return True

    def drop(self, local_queue: ObjectKey, workload: ObjectKey) -> None:
        """The workload's penalty lapses: write failed, deleted, moved, finished or inactive (SCH-806)."""
        record = self._records.get(local_queue)
        if record is not None:
            record.drop(workload)

    def usage_of(self, local_queue: ObjectKey) -> float:
        """The usage by which LocalQueues are ordered (SCH-804)."""
        weight = self._weights.get(local_queue, 1.0)
        if weight <= 0:
            return inf
        record = self._records.get(local_queue)
        return 0.0 if record is None else record.weighed(self.rules.weights) / weight

    def status_of(self, local_queue: ObjectKey) -> AdmissionFairSharingStatus | None:
        """The history as shown in the LocalQueue's status; None without one (SCH-807)."""
        record = self._records.get(local_queue)
        if record is None:
            return None
        consumed: ResourceList = {name: str(Quantity(amount)) for name, amount in sorted(record.consumed.items())}
        return AdmissionFairSharingStatus(consumed_resources=consumed, last_update=record.updated_at)

    def _record(self, local_queue: ObjectKey, now: datetime) -> LocalQueueUsageRecord:
        record = self._records.get(local_queue)
        if record is None:
            record = self._records[local_queue] = LocalQueueUsageRecord({}, now)
        return record
