"""The steps of a pass over a managed job, S4 to S16 (JOB-13 to JOB-25).

Each either continues (None) or ends the pass. They run in the order of `PASS_STEPS`.
"""

from collections.abc import Callable
from itertools import islice
from typing import Final

from msgspec.structs import replace

from kohort.api.conditions import find
from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.times import parse_duration, to_timedelta
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import drop_reservation
from kohort.engine.lifecycle.conditions import (
    EVICTED,
    FINISHED,
    condition,
    is_admitted,
    is_evicted,
    is_finished,
    is_reserved,
    with_condition,
)
from kohort.engine.lifecycle.eviction import release
from kohort.engine.lifecycle.finishing import finish, job_expiry, without_finalizer
from kohort.engine.lifecycle.pods_ready import report_readiness
from kohort.jobs.contract import Stop, StopReason
from kohort.jobs.effects import CreateWorkload, DeleteObject, record_event
from kohort.jobs.errors import PermanentError, RetryError
from kohort.jobs.keys import MULTIKUEUE_CONTROLLER, QUEUE_NAME_LABEL
from kohort.jobs.objects import annotations, prebuilt_name, queue_name
from kohort.jobs.podset_infos import admitted_infos
from kohort.jobs.priority import resolve_priority, with_priority
from kohort.jobs.reclaimable_pods import update_reclaimable_pods
from kohort.jobs.reconcile_pass import (
    DONE,
    PODS_READY_MANAGER,
    EndPass,
    ReconcilePass,
)
from kohort.jobs.slices import find_slice, is_elastic, new_slice, unfinished_slices
from kohort.jobs.timing import with_gate_removals
from kohort.jobs.validation.templates import template_errors
from kohort.jobs.workload_matching import find_match, find_prebuilt, fresh_workload, name_of
from kohort.kube.options import DeletionOptions

FAILED_TO_START = "FailedToStart"
SUCCEEDED, FAILED = "Succeeded", "Failed"
INVALID_ANNOTATIONS: Final = "InvalidTopologyAnnotations"
MAX_ERRORS: Final = 3
"""Errors of topology annotations that an event has."""
QUEUE_NAME_ANNOTATION = f"The queue is named by annotation {QUEUE_NAME_LABEL}, as older guides do; use a label instead"

PassStep = Callable[[ReconcilePass], EndPass | None]


def find_workload(this: ReconcilePass) -> EndPass | None:
    """S4: find the Workload of the job (JOB-13)."""
    name = prebuilt_name(this.obj, this.reads.gates)
    if name:
        find_prebuilt(this, name)
    elif not is_elastic(this) or not find_slice(this):
        find_match(this)
    return None


def write_conditions(this: ReconcilePass) -> EndPass | None:
    """S5: write conditions of the framework (JOB-14)."""
    workload = this.workload
    if workload is None:
        return None
    changed = workload
    for each in this.framework.conditions(this.obj, workload, this.reads):
        known = find(changed.status.conditions, each.type)
        if known is None or (known.status, known.reason, known.message) != (each.status, each.reason, each.message):
            changed = with_condition(changed, each)
    if changed is workload:
        return None
    this.write_status(workload, changed, this.manager)
    return DONE


def release_finished(this: ReconcilePass) -> EndPass | None:
    """S7: remove the finalizers of a finished Workload and its job (JOB-16)."""
    workload = this.workload
    if workload is None or not is_finished(workload):
        return None
    this.effects.extend(this.framework.finalize(this.obj))
    released = this.write_object(workload, without_finalizer(workload))
    finished = condition(workload, FINISHED)
    # A Workload that finished with its job already has an event; others get theirs here, once.
    if released is not workload and finished is not None and finished.reason not in (SUCCEEDED, FAILED):
        _record_finished(this, workload)
    return DONE


def stop_if_workload_deleted(this: ReconcilePass) -> EndPass | None:
    """S8: stop the job of a Workload that is being deleted; it gets a new one afterwards (JOB-17)."""
    workload = this.workload
    if workload is None or workload.metadata.deletion_timestamp is None:
        return None
    this.stop(Stop(StopReason.WORKLOAD_DELETED, "Workload is deleted"), workload)
    if not this.framework.waits_for_pods(this.obj):
        this.write_object(workload, without_finalizer(workload))
    return DONE


def hold_job(this: ReconcilePass) -> EndPass | None:
    """S9: release the quota of a job that a user must fix first (JOB-18)."""
    if not this.framework.on_hold(this.obj):
        return None
    workload = this.workload
    if workload is not None and is_reserved(workload):
        reads = this.reads
        this.write_status(
            workload, drop_reservation(workload, reasons.ON_HOLD, "Job is on hold", reads.gates, reads.now)
        )
    return DONE


def finish_with_job(this: ReconcilePass) -> EndPass | None:
    """S10: finish all Workloads of a finished job (JOB-19)."""
    ended = this.framework.finished(this.obj)
    if ended is None:
        return None
    reason = SUCCEEDED if ended.success else FAILED
    for each in _unfinished_workloads(this):
        this.write_status(each, finish(each, reason, ended.message, this.reads.now))
        _record_finished(this, each)
    this.effects.extend(this.framework.finalize(this.obj))
    return DONE


def _unfinished_workloads(this: ReconcilePass) -> list[Workload]:
    """The Workload of the job; for an elastic job all unfinished slices, which would keep their quota otherwise."""
    slices = unfinished_slices(this) if is_elastic(this) else []
    latest = this.workload
    others = [each for each in slices if latest is None or each.metadata.name != latest.metadata.name]
    return [*([latest] if latest is not None else []), *others]


def create_workload(this: ReconcilePass) -> EndPass | None:
    """S11: create a missing Workload, once no pod is active (JOB-20, JOB-36)."""
    if this.workload is not None:
        return None
    if prebuilt_name(this.obj, this.reads.gates):
        this.stop(Stop(StopReason.NO_MATCHING_WORKLOAD, "missing workload"), None)
        if not this.framework.is_active(this.obj):
            raise RetryError("prebuilt workload not found")
        return DONE
    if this.framework.is_active(this.obj) and not is_elastic(this):
        return DONE
    workload = _new_workload(this)
    _record_invalid_templates(this)
    this.effects.append(CreateWorkload(workload, this.obj))
    this.record_event("CreatedWorkload", f"Created Workload: {name_of(workload)}")
    if QUEUE_NAME_LABEL in annotations(this.obj):
        this.effects.append(record_event(this.obj, "QueueNameAnnotation", QUEUE_NAME_ANNOTATION, "Warning"))
    return DONE


def _record_invalid_templates(this: ReconcilePass) -> None:
    """Report topology annotations that no webhook has rejected: what can't be read is ignored (JOB-77, JOB-78)."""
    if not this.reads.gates.enabled(Gate.TopologyAwareScheduling):
        return
    errors = [str(error) for error in islice(template_errors(this.framework, this.obj, this.reads), MAX_ERRORS)]
    if errors:
        this.effects.append(record_event(this.obj, INVALID_ANNOTATIONS, "; ".join(errors), "Warning"))


def _new_workload(this: ReconcilePass) -> Workload:
    if this.group is not None:
        built = this.group.build(this.obj, this.reads)
        this.effects.extend(built.effects)
        pod_sets, own_class = this.framework.pod_sets(this.obj, this.reads), this.framework.priority_class(this.obj)
        return with_priority(built.workload, resolve_priority(this.obj, pod_sets, this.reads, own_class))
    return new_slice(this) if is_elastic(this) else fresh_workload(this)


def update_pods_ready(this: ReconcilePass) -> EndPass | None:
    """S13: update PodsReady if waitForPodsReady is configured (JOB-22, JOB-56)."""
    workload = this.workload
    if workload is None or not this.reads.configuration.waits_for_pods_ready(this.reads.gates):
        return None
    ready = is_admitted(workload) and this.framework.pods_ready(this.obj, this.reads)
    changed = report_readiness(workload, ready=ready, now=this.reads.now)
    if changed is workload:
        return None
    this.write_status(workload, changed, PODS_READY_MANAGER)
    return DONE


def stop_evicted(this: ReconcilePass) -> EndPass | None:
    """S14: stop an evicted job, and release its quota when its pods are gone (JOB-23)."""
    workload = this.workload
    evicted = condition(workload, EVICTED) if workload is not None else None
    if workload is None or evicted is None or not is_evicted(workload):
        return None
    this.stop(Stop(StopReason.WORKLOAD_EVICTED, evicted.message, evicted.reason), workload)
    if not this.framework.is_active(this.obj):
        this.write_status(workload, release(workload, this.reads.gates, this.reads.now))
    return _expire(this, workload)


def _expire(this: ReconcilePass, workload: Workload) -> EndPass:
    """Delete a deactivated job after its retention period, if configured (JOB-59)."""
    text = this.reads.configuration.object_retention_policies.workloads.after_deactivated_by_kueue
    keep = None if text is None else to_timedelta(parse_duration(text))
    expiry = job_expiry(workload, keep)
    if expiry is None:
        return DONE
    left = (expiry - this.reads.now).total_seconds()
    if left > 0:
        return EndPass(requeue_after=left)
    this.effects.append(DeleteObject(this.obj, DeletionOptions(propagation="Background")))
    this.record_event("Deleted", "Deleted job: deactivation retention period expired")
    this.effects.extend(this.framework.finalize(this.obj))
    return DONE


def start_admitted(this: ReconcilePass) -> EndPass | None:
    """S15: start a suspended job once it is admitted; until then record pending checks (JOB-24)."""
    workload = this.workload
    if workload is None or not this.framework.is_suspended(this.obj):
        return None
    if is_admitted(workload):
        _start(this, workload)
        return DONE
    if is_reserved(workload):
        _record_checks(this, workload)
    _update_queue(this, workload)
    return DONE


def _start(this: ReconcilePass, workload: Workload) -> None:
    """Start with the admitted infos; if that cannot succeed, finish the Workload (JOB-48)."""
    admission = workload.status.admission
    started = f"Admitted by clusterQueue {admission.cluster_queue if admission else ''}"
    try:
        infos = admitted_infos(workload, this.reads.flavor, this.reads.gates)
        if not (this.framework.gates_pods and _is_dispatched(this, workload)):
            effects = this.framework.run(this.obj, infos, started, this.reads)
            this.effects.extend(with_gate_removals(effects, workload))
    except PermanentError as error:
        this.write_status(workload, finish(workload, FAILED_TO_START, str(error), this.reads.now))


def _is_dispatched(this: ReconcilePass, workload: Workload) -> bool:
    """Whether the pods run in another cluster and stay gated in this one (JOB-48)."""
    checks = (this.reads.check_controller(each.name) for each in workload.status.admission_checks)
    return MULTIKUEUE_CONTROLLER in checks


def _record_checks(this: ReconcilePass, workload: Workload) -> None:
    checks = workload.status.admission_checks
    waiting = [f"{each.name}: {each.message}" for each in checks if each.state == "Pending" and each.message]
    if waiting:
        this.record_event("UpdatedAdmissionCheck", "; ".join(waiting))


def _update_queue(this: ReconcilePass, workload: Workload) -> None:
    """Copy a changed queue name to the Workload (JOB-53)."""
    wanted = queue_name(this.obj) or None
    if not is_reserved(workload) and (workload.spec.queue_name or None) != wanted:
        this.write_object(workload, replace(workload, spec=replace(workload.spec, queue_name=wanted)))


def stop_unadmitted(this: ReconcilePass) -> EndPass | None:
    """S16: stop a job that runs without admission; pods of an elastic job are gated individually (JOB-25).

    A stop in progress is completed first.
    """
    workload = this.workload
    if workload is not None and (this.framework.is_stopping(this.obj) or not _may_run(this, workload)):
        this.stop(Stop(StopReason.NOT_ADMITTED, "Not admitted by cluster queue"), workload)
    return DONE


def _may_run(this: ReconcilePass, workload: Workload) -> bool:
    return is_admitted(workload) or is_elastic(this)


def _record_finished(this: ReconcilePass, workload: Workload) -> None:
    this.record_event("FinishedWorkload", f"Workload '{name_of(workload)}' is declared finished")


PASS_STEPS: tuple[PassStep, ...] = (
    find_workload,
    write_conditions,
    release_finished,
    stop_if_workload_deleted,
    hold_job,
    finish_with_job,
    create_workload,
    update_reclaimable_pods,
    update_pods_ready,
    stop_evicted,
    start_admitted,
    stop_unadmitted,
)
