"""The pass step that writes reclaimable pods, whose quota is released before their job finishes."""

from msgspec.structs import replace

from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import ReclaimablePod
from kohort.api.kueue.validation.workload_update import scaled_down_pod_sets
from kohort.engine.lifecycle.conditions import is_reserved, with_status
from kohort.jobs.reconcile_pass import DONE, RECLAIMABLE_MANAGER, EndPass, ReconcilePass


def update_reclaimable_pods(this: ReconcilePass) -> EndPass | None:
    """S12: update reclaimable pods (JOB-21, JOB-57)."""
    workload = this.workload
    if workload is None or not this.reads.gates.enabled(Gate.ReclaimablePods):
        return None
    reported = this.framework.reclaimable(this.obj, this.reads)
    if reported is None:
        return None
    assigned = _capped(workload, reported, this.reads.gates)
    present = {each.name: each.count for each in workload.status.reclaimable_pods}
    if assigned == present:
        return None
    entries = tuple(ReclaimablePod(name=name, count=count) for name, count in assigned.items())
    this.write_status(
        workload, with_status(workload, replace(workload.status, reclaimable_pods=entries)), RECLAIMABLE_MANAGER
    )
    return DONE


def _capped(workload: Workload, reported: dict[str, int], gates: FeatureGates) -> dict[str, int]:
    """At most all pods of a set, and never fewer than before with reserved quota, unless the set shrank (API-67)."""
    fixed = workload.status.reclaimable_pods if is_reserved(workload) else ()
    shrunk = scaled_down_pod_sets(workload, gates)
    kept = {each.name: each.count for each in fixed if each.name not in shrunk}
    assigned: dict[str, int] = {}
    for each in workload.spec.pod_sets:
        count = max(reported.get(each.name, 0), kept.get(each.name, 0))
        if each.name in reported or each.name in kept:
            assigned[each.name] = min(count, each.count)
    return assigned
