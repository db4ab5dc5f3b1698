"""The state of a requeued workload by requeue reason: the table of SCH-236."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kohort.engine.decisions import RequeueReason


class RequeueRule(NamedTuple):
    """Whether the workload becomes inadmissible, by queueing strategy; if not, it is active again at once."""

    strict: bool
    best_effort: bool


NEVER: Final = RequeueRule(strict=False, best_effort=False)
BEST_EFFORT_ONLY: Final = RequeueRule(strict=False, best_effort=True)
ALWAYS: Final = RequeueRule(strict=True, best_effort=True)

REQUEUE_RULES: Final[Mapping[RequeueReason, RequeueRule]] = MappingProxyType(
    {
        RequeueReason.FAILED_AFTER_NOMINATION: NEVER,
        RequeueReason.PENDING_PREEMPTION: NEVER,
        RequeueReason.PENDING_MIGRATION: NEVER,
        RequeueReason.NAMESPACE_MISMATCH: ALWAYS,
        RequeueReason.NO_FIT: BEST_EFFORT_ONLY,
        RequeueReason.PREEMPTION_NO_CANDIDATES: BEST_EFFORT_ONLY,
        RequeueReason.PREEMPTION_GATED: BEST_EFFORT_ONLY,
        RequeueReason.GENERIC: BEST_EFFORT_ONLY,
    }
)

MAKES_PREEMPTOR: Final = frozenset({RequeueReason.PENDING_PREEMPTION, RequeueReason.PENDING_MIGRATION})
"""Requeue reasons that make the workload the preemptor of its queue (SCH-240)."""

FAILS_EQUIVALENT: Final = frozenset({RequeueReason.NO_FIT, RequeueReason.PREEMPTION_NO_CANDIDATES})
"""Requeue reasons that hold for every equivalent workload (SCH-251)."""
