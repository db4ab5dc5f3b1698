"""Finds the Workload of a job: prebuilt, matching, or updated; others are deleted (JOB-28 to JOB-35)."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey, OwnerReference
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import is_reserved
from kohort.engine.lifecycle.finishing import finish, without_finalizer
from kohort.jobs.contract import Stop, StopReason
from kohort.jobs.effects import DeleteWorkload
from kohort.jobs.equivalence import JobComparison, is_controlled_by, is_equivalent
from kohort.jobs.errors import RetryError, UnretryableError
from kohort.jobs.keys import (
    ADMISSION_GATED_BY_ANNOTATION,
    JOB_UID_LABEL,
    SLICE_REPLACEMENT_ANNOTATION,
)
from kohort.jobs.objects import annotations, metadata, requests_slices, uid
from kohort.jobs.priority import needing_priority_update, resolve_priority, with_priority
from kohort.jobs.reconcile_pass import ReconcilePass
from kohort.jobs.workload_builder import build_workload

OUT_OF_SYNC = "The prebuilt workload is out of sync with its user job"
RESTORED = "No matching Workload; restoring pod templates according to existent Workload"
NOT_RESTORED = "Missing Workload; unable to restore pod templates"


def side_of(this: ReconcilePass) -> JobComparison:
    """The compared parts of the job."""
    return JobComparison(
        this.obj, this.framework.pod_sets(this.obj, this.reads), is_suspended=this.framework.is_suspended(this.obj)
    )


def name_of(workload: Workload) -> str:
    """Namespace and name, for events."""
    return f"{workload.metadata.namespace}/{workload.metadata.name}"


# Prebuilt


def find_prebuilt(this: ReconcilePass, name: str) -> None:
    """Use the prebuilt Workload if it is equivalent to the job (JOB-29)."""
    found = this.reads.workload(ObjectKey(this.key.namespace, name))
    if found is None or _is_foreign(found, this):
        return
    owned = this.write_object(found, _owned(found, this))
    if _is_replacement(this, owned) or _stands_for(this, owned):
        this.workload = owned
        return
    this.write_status(owned, finish(owned, reasons.OUT_OF_SYNC, OUT_OF_SYNC, this.reads.now))


def _is_foreign(workload: Workload, this: ReconcilePass) -> bool:
    """Whether another object controls the Workload."""
    controller = next((each for each in workload.metadata.owner_references if each.controller), None)
    return controller is not None and controller.uid != uid(this.obj)


def _owned(workload: Workload, this: ReconcilePass) -> Workload:
    """The Workload with an owner reference to the job; the members of a group get theirs when it is matched."""
    head = workload.metadata
    if this.group is not None or uid(this.obj) in {owner.uid for owner in head.owner_references}:
        return workload
    labels = {**head.labels, JOB_UID_LABEL: uid(this.obj)}
    owners = (*head.owner_references, _reference(this))
    return replace(workload, metadata=replace(head, owner_references=owners, labels=labels))


def _reference(this: ReconcilePass) -> OwnerReference:
    resource, name = this.framework.resource, metadata(this.obj).get("name", "")
    return OwnerReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=name,
        uid=uid(this.obj),
        controller=True,
        block_owner_deletion=True,
    )


def _is_replacement(this: ReconcilePass, workload: Workload) -> bool:
    """Whether the Workload is a larger slice, to which the job is resized later (JOB-29)."""
    is_elastic = this.framework.is_elastic and requests_slices(this.obj, this.reads.gates)
    return is_elastic and SLICE_REPLACEMENT_ANNOTATION in workload.metadata.annotations


def _stands_for(this: ReconcilePass, workload: Workload) -> bool:
    if this.group is not None:
        match = this.group.match(this.obj, [workload], this.reads)
        this.effects.extend(match.effects)
        return match.workload is not None
    return is_equivalent(workload, side_of(this), this.reads.flavor, this.reads.gates)


# Regular


def find_match(this: ReconcilePass) -> None:
    """Use the equivalent Workload, or update one; others are deleted (JOB-31)."""
    match, extra = _divided(this, this.framework.workloads(this.key, this.reads))
    reusable = _reusable(this, extra) if match is None else None
    if reusable is not None:
        extra = [each for each in extra if each is not reusable]
    if match is None and not this.framework.is_suspended(this.obj):
        _stop_unmatched(this, extra)
    _delete(this, extra, "no matching workloads" if match is None else "extra workloads")
    if reusable is not None:
        this.workload = reusable
        _bring_in_line(this, reusable)
    elif match is not None:
        this.workload = match
        _follow_gates(this, match)
        follow_priority(this, [this.workload])


def _divided(this: ReconcilePass, workloads: Sequence[Workload]) -> tuple[Workload | None, list[Workload]]:
    """The first Workload that is equivalent to the job, and all others."""
    if this.group is not None:
        found = this.group.match(this.obj, workloads, this.reads)
        this.effects.extend(found.effects)
        return found.workload, list(found.extra)
    if not workloads:
        return None, []
    fits = partial(is_equivalent, job=side_of(this), flavors=this.reads.flavor, gates=this.reads.gates)
    match = next((each for each in workloads if is_controlled_by(each, this.obj) and fits(each)), None)
    return match, [each for each in workloads if each is not match]


def _reusable(this: ReconcilePass, extra: Sequence[Workload]) -> Workload | None:
    """The Workload to update in place: without quota, of this job, while the job is suspended (DEV-8)."""
    if not extra or this.group is not None or not this.framework.is_suspended(this.obj):
        return None
    first = extra[0]
    return first if not is_reserved(first) and is_controlled_by(first, this.obj) else None


def _stop_unmatched(this: ReconcilePass, extra: Sequence[Workload]) -> None:
    """Stop a job that runs without a Workload, and restore it if its originals are known (JOB-31)."""
    if this.framework.finished(this.obj) is not None:
        return
    only = extra[0] if len(extra) == 1 else None
    message = RESTORED if only is not None else NOT_RESTORED
    this.stop(Stop(StopReason.NO_MATCHING_WORKLOAD, message), only)
    if only is not None and this.framework.waits_for_pods(this.obj):
        raise UnretryableError("pods are active; their templates are restored when they have gone")


def _delete(this: ReconcilePass, extra: Sequence[Workload], why: str) -> None:
    for each in extra:
        released = this.write_object(each, without_finalizer(each))
        this.effects.append(DeleteWorkload(released))
        this.record_event("DeletedWorkload", f"Deleted not matching Workload: {name_of(each)}")
    if extra:
        raise RetryError(f"{why}: deleted {len(extra)} workloads")


def _bring_in_line(this: ReconcilePass, workload: Workload) -> None:
    """Update the Workload's spec from the job; `active` is kept (JOB-31)."""
    fresh = fresh_workload(this)
    spec = replace(fresh.spec, active=workload.spec.active)
    this.write_object(workload, replace(workload, spec=spec))
    this.record_event("UpdatedWorkload", f"Updated not matching Workload for suspended job: {name_of(workload)}")


def fresh_workload(this: ReconcilePass, extra: str = "") -> Workload:
    """A new Workload of the job, with its priority (§6)."""
    framework, reads = this.framework, this.reads
    pod_sets = framework.pod_sets(this.obj, reads)
    built = build_workload(framework, this.obj, pod_sets, reads.configuration, reads.gates, extra)
    return with_priority(built, resolve_priority(this.obj, pod_sets, reads, framework.priority_class(this.obj)))


def _follow_gates(this: ReconcilePass, workload: Workload) -> None:
    """Copy the job's admission gates to its Workload (JOB-31, JOB-62)."""
    if not this.reads.gates.enabled(Gate.AdmissionGatedBy):
        return
    wanted = annotations(this.obj).get(ADMISSION_GATED_BY_ANNOTATION, "")
    present = workload.metadata.annotations
    if present.get(ADMISSION_GATED_BY_ANNOTATION, "") == wanted:
        return
    others = {key: value for key, value in present.items() if key != ADMISSION_GATED_BY_ANNOTATION}
    noted = {**others, ADMISSION_GATED_BY_ANNOTATION: wanted} if wanted else others
    this.write_object(workload, replace(workload, metadata=replace(workload.metadata, annotations=noted)))
    this.record_event("UpdatedWorkload", f'Updated workload AdmissionGatedBy to "{wanted}"')


def follow_priority(this: ReconcilePass, workloads: Sequence[Workload]) -> None:
    """Copy a changed priority class of the job to its Workloads (JOB-35)."""
    behind = needing_priority_update(this.obj, workloads)
    if not behind:
        return
    pod_sets = this.framework.pod_sets(this.obj, this.reads)
    priority = resolve_priority(this.obj, pod_sets, this.reads, this.framework.priority_class(this.obj))
    for each in behind:
        if with_priority(each, priority) is not each:
            this.write_object(each, with_priority(each, priority))
            this.record_event("UpdatedWorkload", f"Updated workload priority class: {name_of(each)}")
