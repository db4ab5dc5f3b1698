"""Where a workload goes that was looked at and not admitted: the table of SCH-236 as data."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kohort.engine.decisions import Requeue


class Parks(NamedTuple):
    """Whether the workload goes to the pool, by queueing strategy; if not, it is active again at once."""

    strict: bool
    best_effort: bool


NEVER: Final = Parks(strict=False, best_effort=False)
BEST_EFFORT_ONLY: Final = Parks(strict=False, best_effort=True)
ALWAYS: Final = Parks(strict=True, best_effort=True)

PARKS: Final[Mapping[Requeue, Parks]] = MappingProxyType(
    {
        Requeue.FAILED_AFTER_NOMINATION: NEVER,
        Requeue.PENDING_PREEMPTION: NEVER,
        Requeue.PENDING_MIGRATION: NEVER,
        Requeue.PREEMPTION_FAILED: NEVER,
        Requeue.NAMESPACE_MISMATCH: ALWAYS,
        Requeue.NO_FIT: BEST_EFFORT_ONLY,
        Requeue.PREEMPTION_NO_CANDIDATES: BEST_EFFORT_ONLY,
        Requeue.PREEMPTION_GATED: BEST_EFFORT_ONLY,
        Requeue.GENERIC: BEST_EFFORT_ONLY,
    }
)

MAKES_PREEMPTOR: Final = frozenset({Requeue.PENDING_PREEMPTION, Requeue.PENDING_MIGRATION})
"""After these the queue remembers the workload as its preemptor (SCH-240)."""

SPEAKS_FOR_EQUALS: Final = frozenset({Requeue.NO_FIT, Requeue.PREEMPTION_NO_CANDIDATES})
"""What failed so would fail for every equivalent workload too (SCH-251)."""
