"""Whether a decision still applies to a changed Workload, and whether its write succeeded despite a lost response."""

from kohort.api.gates import FeatureGates
from kohort.api.kueue.v1beta2 import Workload
from kohort.controllers.scheduling.pending_writes import EndSlice, PendingWrite
from kohort.engine import record_builders
from kohort.engine.decisions import KeepPending, Reserve
from kohort.engine.lifecycle.conditions import EVICTED, condition, is_evicted, is_finished, is_reserved


def still_applies(pending: PendingWrite, workload: Workload | None, gates: FeatureGates) -> bool:
    """Whether the decision is still to be written, given the newest known Workload."""
    if workload is None or workload.metadata.uid != pending.seen.metadata.uid or is_finished(workload):
        return False
    match pending.decision:
        case Reserve():
            return workload is pending.seen or _is_as_decided(pending.seen, workload, gates)
        case KeepPending():
            return workload.spec.active and not is_reserved(workload)
        case EndSlice():
            return True
        case _:
            return is_reserved(workload) and not is_evicted(workload)


def _is_as_decided(seen: Workload, workload: Workload, gates: FeatureGates) -> bool:
    """Whether nothing has changed that the admission depends on; in a second pass the Workload already has quota."""
    conditions = record_builders.conditions_of(workload)
    if record_builders.is_rewritten(seen, workload) or record_builders.status_matters(seen, workload, conditions):
        return False
    if is_reserved(seen):
        return is_reserved(workload) and workload.status.admission == seen.status.admission
    return record_builders.is_admissible(workload, conditions, gates)


def was_written(pending: PendingWrite, workload: Workload | None, wanted: Workload) -> bool:
    """Whether a write with a lost response was performed; `wanted` is its result."""
    if workload is None or workload.metadata.uid != pending.seen.metadata.uid:
        return False
    if isinstance(pending.decision, Reserve):
        return is_reserved(workload) and workload.status.admission == pending.decision.admission
    evicted, meant = condition(workload, EVICTED), condition(wanted, EVICTED)
    return evicted is not None and meant is not None and evicted.message == meant.message
