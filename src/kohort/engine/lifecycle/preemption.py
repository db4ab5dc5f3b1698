"""The conditions that a preemption writes to its victim, and its events (SCH-650 to SCH-652)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import PREEMPTED, condition_true, new_condition, with_condition
from kohort.engine.lifecycle.events import WorkloadChange, WorkloadEvent, normal
from kohort.engine.lifecycle.eviction import EvictionCause, evict

PreemptionReason = Literal[
    "InClusterQueue", "InCohortReclamation", "InCohortFairSharing", "InCohortReclaimWhileBorrowing"
]

WHY: dict[PreemptionReason, str] = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}
UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class PreemptionParty:
    """One of the two Workloads of a preemption."""

    uid: str = ""
    job_uid: str = ""
    path: str = ""
    """`/root/…/parent/cq` of its ClusterQueue."""
    priority: int = 0
    boost: int = 0

    @property
    def priorities(self) -> str:
        """The effective priority and its parts."""
        return f"{self.priority + self.boost} (base: {self.priority}, boost: {self.boost})"


@dataclass(frozen=True, slots=True)
class PreemptionRecord:
    """The preemptor, the victim and the reason of a preemption."""

    reason: PreemptionReason
    preemptor: PreemptionParty
    victim: PreemptionParty

    @property
    def message(self) -> str:
        """The message of both conditions of the victim (SCH-651)."""
        uid, job_uid = self.preemptor.uid or UNKNOWN, self.preemptor.job_uid or UNKNOWN
        paths = self.preemptor.path or UNKNOWN, self.victim.path or UNKNOWN
        return (
            f"Preempted to accommodate a workload (UID: {uid}, JobUID: {job_uid}) due to {WHY[self.reason]}; "
            f"preemptor path: {paths[0]}; preemptee path: {paths[1]}"
        )

    @property
    def priorities(self) -> str:
        """The end of the notes of both events (SCH-652)."""
        return (
            f"; preemptor effective priority: {self.preemptor.priorities}"
            f"; preemptee effective priority: {self.victim.priorities}"
        )


def preempt(victim: Workload, preemption: PreemptionRecord, now: datetime) -> WorkloadChange:
    """Evict the victim; an evicted one is unchanged (SCH-650, SCH-651)."""
    change = evict(victim, EvictionCause(reasons.PREEMPTED, preemption.message), now)
    if change.workload is victim:
        return change
    # The only condition without an observed generation (API-7).
    condition = new_condition(PREEMPTED, condition_true(preemption.reason, preemption.message), None, now)
    preempted = with_condition(change.workload, condition)
    event = normal("Preempted", preemption.message + preemption.priorities)
    return WorkloadChange(preempted, (*change.events, event))


def preemptor_event(victim: Workload, preemption: PreemptionRecord, cluster_queue: str) -> WorkloadEvent:
    """The event on the preemptor for a victim that was admitted in that ClusterQueue (SCH-652)."""
    name = f"{victim.metadata.namespace}/{victim.metadata.name}"
    what = f"Preempted workload {name} (UID: {victim.metadata.uid}) in ClusterQueue {cluster_queue}"
    return normal("PreemptedWorkload", what + preemption.priorities)
