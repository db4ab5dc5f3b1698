"""Whether a decision still holds for a Workload that changed since, and whether its write has arrived after all."""

from kohort.api.gates import FeatureGates
from kohort.api.kueue.v1beta2 import Workload
from kohort.controllers.scheduling.pending_writes import EndSlice, PendingWrite
from kohort.engine import record_builders
from kohort.engine.decisions import KeepPending, Reserve
from kohort.engine.lifecycle.conditions import EVICTED, condition, is_evicted, is_finished, is_reserved


def still_applies(intent: PendingWrite, workload: Workload | None, gates: FeatureGates) -> bool:
    """Whether the decision is still to be written, on the Workload as it is known now."""
    if workload is None or workload.metadata.uid != intent.seen.metadata.uid or is_finished(workload):
        return False
    match intent.decision:
        case Reserve():
            return workload is intent.seen or _is_as_decided(intent.seen, workload, gates)
        case KeepPending():
            return workload.spec.active and not is_reserved(workload)
        case EndSlice():
            return True
        case _:
            return is_reserved(workload) and not is_evicted(workload)


def _is_as_decided(seen: Workload, workload: Workload, gates: FeatureGates) -> bool:
    """Whether nothing differs that an admission is decided by; a second pass is for one that has its quota."""
    conditions = record_builders.conditions_of(workload)
    if record_builders.is_rewritten(seen, workload) or record_builders.status_matters(seen, workload, conditions):
        return False
    if is_reserved(seen):
        return is_reserved(workload) and workload.status.admission == seen.status.admission
    return record_builders.is_admissible(workload, conditions, gates)


def was_written(intent: PendingWrite, workload: Workload | None, wanted: Workload) -> bool:
    """Whether a write whose answer got lost was carried out; `wanted` is what it would have made of the Workload."""
    if workload is None or workload.metadata.uid != intent.seen.metadata.uid:
        return False
    if isinstance(intent.decision, Reserve):
        return is_reserved(workload) and workload.status.admission == intent.decision.admission
    evicted, meant = condition(workload, EVICTED), condition(wanted, EVICTED)
    return evicted is not None and meant is not None and evicted.message == meant.message
