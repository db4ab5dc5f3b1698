"""Builders for Workloads in any state: one line per object, and time in seconds since a fixed start."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from kohort.api.conditions import find
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.queues import AdmissionCheckRule
from kohort.api.kueue.v1beta2.workload import (
    Admission,
    AdmissionCheckState,
    PodSet,
    PodSetAssignment,
    WorkloadSpec,
)
from kohort.api.meta import Condition, ObjectMeta, OwnerReference
from kohort.engine.lifecycle.admission import Reservation, reserve
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.engine.lifecycle.reconcile_context import (
    ClusterQueueContext,
    LifecyclePolicies,
    LocalQueueContext,
    ReadinessPolicy,
    ReconcileContext,
)
from kohort.engine.lifecycle.reconciliation import ReconcileResult
from kohort.engine.lifecycle.writes import WriteTarget

START = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)

LEGACY = FeatureGates(DEFAULT_GATES.on - {Gate.UnadmittedWorkloadsObservability})
EXPLICIT = FeatureGates(DEFAULT_GATES.on | {Gate.UnadmittedWorkloadsExplicitStatus})

JOB = OwnerReference(api_version="batch/v1", kind="Job", name="j", uid="job-uid", controller=True)
POD = OwnerReference(api_version="v1", kind="Pod", name="p", uid="pod-uid", controller=True)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def without(*gates: Gate) -> FeatureGates:
    return FeatureGates(DEFAULT_GATES.on - set(gates))


def having(*gates: Gate) -> FeatureGates:
    return FeatureGates(DEFAULT_GATES.on | set(gates))


def workload(*owners: OwnerReference, **spec: Any) -> Workload:
    """A Workload of one pod set in LocalQueue lq, made at second 0 by a Job."""
    metadata = ObjectMeta(
        name="w", namespace="ns", uid="w-uid", generation=1, creation_timestamp=START, owner_references=owners or (JOB,)
    )
    pod_sets = (PodSet(template=msgspec.Raw(b"{}")),)
    return Workload(metadata=metadata, spec=WorkloadSpec(**{"queue_name": "lq", "pod_sets": pod_sets, **spec}))


def annotated(wl: Workload, **metadata: Any) -> Workload:
    """The Workload with other metadata."""
    return msgspec.structs.replace(wl, metadata=msgspec.structs.replace(wl.metadata, **metadata))


def with_spec(wl: Workload, **spec: Any) -> Workload:
    """The Workload after a user's change of its spec, which the API server counts."""
    changed = msgspec.structs.replace(wl, spec=msgspec.structs.replace(wl.spec, **spec))
    return annotated(changed, generation=wl.metadata.generation + 1)


def with_status(wl: Workload, **status: Any) -> Workload:
    return msgspec.structs.replace(wl, status=msgspec.structs.replace(wl.status, **status))


def admission(flavor: str = "od", **assignment: Any) -> Admission:
    part = PodSetAssignment(name="main", flavors={"cpu": flavor}, resource_usage={"cpu": "1"}, count=1, **assignment)
    return Admission(cluster_queue="q", pod_set_assignments=(part,))


def reserved(wl: Workload, second: float = 0, *, flavor: str = "od", checks: tuple[str, ...] = ()) -> Workload:
    """The Workload after the scheduler's write of a reservation; admitted where no checks are left to list."""
    return reserve(wl, Reservation(admission(flavor), frozenset(checks)), DEFAULT_GATES, at(second)).workload


def admitted(second: float = 0, *owners: OwnerReference, **spec: Any) -> Workload:
    return reserved(workload(*owners, **spec), second)


def check(name: str = "c", state: Any = "Pending", second: float = 0, message: str = "", **more: Any) -> Any:
    return AdmissionCheckState(name=name, state=state, last_transition_time=at(second), message=message, **more)


def rule(name: str = "c", *flavors: str) -> AdmissionCheckRule:
    return AdmissionCheckRule(name=name, on_flavors=flavors)


READINESS = ReadinessPolicy(timedelta(seconds=300), timedelta(seconds=100), 60, 3600, None)


OPEN = LocalQueueContext("q")
ADMITTING = ClusterQueueContext(flavors=("od",))


def facts(
    *, local: LocalQueueContext | None = OPEN, queue: ClusterQueueContext | None = ADMITTING, **more: Any
) -> ReconcileContext:
    """The facts of a Workload whose queues are there and open."""
    return ReconcileContext(local_queue=local, cluster_queue=queue, **more)


def checked(*rules: AdmissionCheckRule, flavors: tuple[str, ...] = ("od",), **more: Any) -> ReconcileContext:
    """The facts of a Workload whose ClusterQueue has admission checks."""
    return facts(queue=ClusterQueueContext(flavors=flavors, checks=rules), **more)


def watched(policy: ReadinessPolicy = READINESS, **more: Any) -> ReconcileContext:
    """The facts of a Workload whose pods must be ready in time."""
    return facts(policies=LifecyclePolicies(readiness=policy), **more)


def found(wl: Workload, type_: str) -> Condition:
    """The condition of that type, which must be there."""
    condition = find(wl.status.conditions, type_)
    assert condition is not None, f"{type_} is missing: {[each.type for each in wl.status.conditions]}"
    return condition


def condition_text(wl: Workload, type_: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition."""
    condition = found(wl, type_)
    return condition.status, condition.reason, condition.message


def judged(wl: Workload, type_: str) -> tuple[str, str] | None:
    """Status and reason of a condition; None where it is absent."""
    condition = find(wl.status.conditions, type_)
    return None if condition is None else (condition.status, condition.reason)


def has(wl: Workload, type_: str) -> bool:
    return find(wl.status.conditions, type_) is not None


def events_of(result: ReconcileResult) -> tuple[WorkloadEvent, ...]:
    """The events of all writes."""
    return tuple(event for write in result.writes for event in write.events)


def deletes(result: ReconcileResult) -> bool:
    """Whether the Workload is deleted."""
    return any(write.part is WriteTarget.DELETION for write in result.writes)
