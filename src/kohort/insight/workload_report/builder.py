"""Builds the report of a Workload from a snapshot; with limited permissions from its conditions."""

from collections.abc import Iterator
from dataclasses import replace

from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, Workload
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import FitMode
from kohort.engine.engine import Engine
from kohort.engine.explain import Explanation, WorkloadPhase
from kohort.engine.lifecycle.conditions import is_admitted, is_finished, is_reserved
from kohort.engine.lifecycle.pending_reason import PENDING_MESSAGE
from kohort.engine.lifecycle.reasons import MISCONFIGURED, PENDING_EVALUATION
from kohort.insight.checks import checks_after, expected_admission
from kohort.insight.snapshot import Snapshot
from kohort.insight.workload_report.history import evictions_of, history_of
from kohort.insight.workload_report.holders import resource_holders
from kohort.insight.workload_report.model import WorkloadReport
from kohort.insight.workload_report.potential_preemptors import potential_preemptors
from kohort.terminal.nearest import did_you_mean


def build_report(snapshot: Snapshot, workload: Workload, subject: str) -> WorkloadReport:
    """Build the report of a Workload."""
    now, key = snapshot.taken, ObjectKey(workload.metadata.namespace, workload.metadata.name)
    if not snapshot.can_evaluate:
        return _as_written(snapshot, workload, subject)
    if problem := snapshot.claims.problem_of(workload):
        return _outside(snapshot, workload, subject, problem)
    engine, explanation = _explained(snapshot, key)
    record = engine.read.workloads.get(key)
    holds = explanation.state in (WorkloadPhase.ADMITTED, WorkloadPhase.RESERVED)
    return WorkloadReport(
        subject,
        explanation,
        workload.metadata.creation_timestamp,
        resource_holders(engine, explanation),
        potential_preemptors(engine, record, now) if holds and record is not None else (),
        history_of(workload, now),
        tuple(_notes(snapshot, explanation, workload)),
        tuple(_hints(snapshot, explanation)),
    )


def _explained(snapshot: Snapshot, key: ObjectKey) -> tuple[Engine, Explanation]:
    """The explanation and its engine: a Workload that fits is next only if a scheduling run admits it."""
    explanation = snapshot.engine.explain(key, snapshot.taken)
    evaluation = explanation.evaluation
    is_open = explanation.state in (WorkloadPhase.QUEUED, WorkloadPhase.INADMISSIBLE)
    if not is_open or evaluation is None or evaluation.mode is not FitMode.FIT:
        return snapshot.engine, explanation
    run = snapshot.next_run
    if key not in run.admitted:
        return run.engine, run.engine.explain(key, snapshot.taken)
    admitted = replace(evaluation, reason="", message="", rivals=())
    return snapshot.engine, replace(
        explanation, reason=PENDING_EVALUATION, message=PENDING_MESSAGE, evaluation=admitted
    )


def _outside(snapshot: Snapshot, workload: Workload, subject: str, problem: str) -> WorkloadReport:
    """The report of a Workload with uncountable device claims, which is not in the engine."""
    return WorkloadReport(
        subject,
        uncountable(snapshot, workload, problem),
        workload.metadata.creation_timestamp,
        history=history_of(workload, snapshot.taken),
    )


def uncountable(snapshot: Snapshot, workload: Workload, problem: str) -> Explanation:
    """The explanation of a Workload with uncountable device claims (API-124)."""
    local = ObjectKey(workload.metadata.namespace, workload.spec.queue_name or "")
    return Explanation(
        ObjectKey(workload.metadata.namespace, workload.metadata.name),
        WorkloadPhase.MISCONFIGURED,
        local,
        _cluster_queue(snapshot, local),
        workload.spec.priority or 0,
        MISCONFIGURED,
        problem,
    )


def _cluster_queue(snapshot: Snapshot, local: ObjectKey) -> str:
    """The ClusterQueue of a LocalQueue."""
    found = snapshot.of(LocalQueue).get(ObjectKey(*local))
    return (found.spec.cluster_queue or "") if found is not None else ""


def _as_written(snapshot: Snapshot, workload: Workload, subject: str) -> WorkloadReport:
    """The report from conditions, if ClusterQueues or Workloads cannot be listed."""
    local = ObjectKey(workload.metadata.namespace, workload.spec.queue_name or "")
    written = find(workload.status.conditions, "QuotaReserved")
    admission = workload.status.admission
    explanation = Explanation(
        ObjectKey(workload.metadata.namespace, workload.metadata.name),
        _written_state(workload),
        local,
        admission.cluster_queue if admission is not None else _cluster_queue(snapshot, local),
        workload.spec.priority or 0,
        written.reason if written is not None else "",
        written.message if written is not None else "not evaluated yet",
    )
    unseen = next(each for each in snapshot.unseen if each.kind in ("ClusterQueue", "Workload"))
    note = f"From its conditions only: a full explanation requires permission to list all {unseen.kind} objects"
    return WorkloadReport(
        subject,
        explanation,
        workload.metadata.creation_timestamp,
        history=history_of(workload, snapshot.taken),
        notes=(note,),
        hints=tuple(_hints(snapshot, explanation)),
    )


def _written_state(workload: Workload) -> WorkloadPhase:
    if is_finished(workload):
        return WorkloadPhase.FINISHED
    if is_reserved(workload):
        return WorkloadPhase.ADMITTED if is_admitted(workload) else WorkloadPhase.RESERVED
    return WorkloadPhase.QUEUED if workload.spec.active else WorkloadPhase.DEACTIVATED


def _notes(snapshot: Snapshot, explanation: Explanation, workload: Workload) -> Iterator[str]:
    if evicted := evictions_of(workload):
        yield evicted
    if explanation.state is WorkloadPhase.STOPPED and (why := _why_inactive(snapshot, explanation.cluster_queue)):
        yield f"ClusterQueue {explanation.cluster_queue}: {why}"
    if checks := checks_after(snapshot, expected_admission(explanation)):
        yield f"After quota reservation it will wait for admission checks: {', '.join(checks)}"
    if explanation.state is WorkloadPhase.RESERVED and (missing := _missing_checks(workload)):
        yield f"Admission checks that are not ready: {missing}"
    if unseen := snapshot.claims.templates_unavailable(workload):
        yield f"Device claims are not counted, because claim templates cannot be listed: {unseen}"
    for each in snapshot.unseen:
        if each.kind == "Configuration":
            yield f"Cannot read the manager's Configuration, assuming defaults: {each.why}"


def _missing_checks(workload: Workload) -> str:
    checks = [each for each in workload.status.admission_checks if each.state != "Ready"]
    return ", ".join(f"{each.name} ({each.state}{f': {each.message}' if each.message else ''})" for each in checks)


def _why_inactive(snapshot: Snapshot, name: str) -> str:
    found = snapshot.of(ClusterQueue).get(ObjectKey("", name))
    active = find(found.status.conditions, "Active") if found is not None else None
    return active.message if active is not None and active.status != "True" else ""


def _hints(snapshot: Snapshot, explanation: Explanation) -> Iterator[str]:
    """Commands for states without a remedy of the engine."""
    name, queue = explanation.workload.name, explanation.local_queue
    match explanation.state:
        case WorkloadPhase.DEACTIVATED:
            yield f"resume it: kohort resume workload/{name} -n {queue.namespace}"
        case WorkloadPhase.NO_QUEUE:
            yield from without_queue(snapshot, explanation)
        case WorkloadPhase.STOPPED if _is_stopped(snapshot, queue):
            yield f"resume its queue: kohort resume queue/{queue.name} -n {queue.namespace}"
        case WorkloadPhase.STOPPED:
            yield f"check its ClusterQueue: kubectl describe clusterqueue {explanation.cluster_queue}"


def without_queue(snapshot: Snapshot, explanation: Explanation) -> Iterator[str]:
    """Remedies for a missing LocalQueue or ClusterQueue."""
    queue = explanation.local_queue
    there = [name for namespace, name in snapshot.of(LocalQueue) if namespace == queue.namespace]
    if queue.name in there:
        known = [name for _, name in snapshot.of(ClusterQueue)]
        yield f"create ClusterQueue {explanation.cluster_queue}: {did_you_mean(explanation.cluster_queue, known)}"
        return
    yield f"create LocalQueue {queue.name} in namespace {queue.namespace}, or move the job to an existing one"
    yield f"LocalQueues in namespace {queue.namespace}: {did_you_mean(queue.name, there)}"


def _is_stopped(snapshot: Snapshot, queue: ObjectKey) -> bool:
    found = snapshot.engine.read.local_queues.get(queue) if snapshot.can_evaluate else None
    return found is not None and found.is_stopped
