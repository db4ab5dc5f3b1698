"""Laws that hold after any changes of a Workload, in any order."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.lifecycle.sample_workloads import (
    EXPLICIT,
    JOB,
    LEGACY,
    POD,
    admission,
    annotated,
    at,
    having,
    rule,
    with_spec,
    with_status,
    workload,
)
from kohort.api.conditions import find
from kohort.api.gates import DEFAULT_GATES, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState, PreemptionGate
from kohort.engine.lifecycle.admission import NotAdmitted, Reservation, drop_reservation, refuse, reserve
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.pods_ready import report_readiness
from kohort.engine.lifecycle.preemption import PreemptionParty, PreemptionRecord, preempt
from kohort.engine.lifecycle.preemption_gates import block_on_gates
from kohort.engine.lifecycle.reconcile_context import (
    ClusterQueueContext,
    LifecyclePolicies,
    LocalQueueContext,
    ReadinessPolicy,
    ReconcileContext,
)
from kohort.engine.lifecycle.reconciliation import reconcile
from kohort.engine.lifecycle.writes import WriteTarget

Operation = Callable[[Workload, datetime], Workload]

GATES = st.sampled_from(
    [DEFAULT_GATES, LEGACY, EXPLICIT, having(Gate.MultiKueueOrchestratedPreemption, Gate.ConcurrentAdmission)]
)
POLICY = st.sampled_from(["None", "None", "Hold", "HoldAndDrain"])
RULES = st.sampled_from([(), (rule("c"),), (rule("c", "spot"), rule("d"))])
RARELY = st.sampled_from([False, False, False, True])

local_queues = st.none() | st.builds(LocalQueueContext, st.just("q"), POLICY, RARELY)
cluster_queues = st.none() | st.builds(
    ClusterQueueContext, POLICY, RARELY, st.booleans(), st.just(("od", "spot")), RULES
)
readiness = st.none() | st.builds(
    ReadinessPolicy,
    st.just(timedelta(seconds=20)),
    st.sampled_from([timedelta(0), timedelta(seconds=10)]),
    st.just(5),
    st.just(20),
    st.sampled_from([None, 0, 1]),
)
policies = st.builds(LifecyclePolicies, readiness, st.sampled_from([None, timedelta(0), timedelta(seconds=30)]))
all_facts = st.builds(
    ReconcileContext,
    local_queue=local_queues,
    cluster_queue=cluster_queues,
    namespace_problem=st.sampled_from(["", "", "not selected"]),
    claims_problem=st.sampled_from(["", "", "", "no such class"]),
    bypass_reason=st.sampled_from(["", "", "NoMatchingFlavor", "PendingEvaluation"]),
    policies=policies,
    gates=GATES,
    jitter=st.floats(0, 1, exclude_max=True),
)

workloads = st.builds(
    lambda owner, limit, gates: workload(owner, maximum_execution_time_seconds=limit, preemption_gates=gates),
    st.sampled_from([JOB, POD]),
    st.sampled_from([None, 15]),
    st.sampled_from([(), (PreemptionGate(name="g"),)]),
)

PREEMPTION = PreemptionRecord("InClusterQueue", PreemptionParty("u"), PreemptionParty("v"))


def _reserve(flavor: str, checks: frozenset[str], gates: Any) -> Operation:
    return lambda wl, now: reserve(wl, Reservation(admission(flavor), checks), gates, now).workload


def _report(name: str, state: Any, delay: int | None) -> Operation:
    """A check's controller writes its state; the transition time changes only with the state."""

    def write(wl: Workload, now: datetime) -> Workload:
        known = {check.name: check for check in wl.status.admission_checks}
        former = known.get(name)
        changed_at = former.last_transition_time if former and former.state == state else now
        retries = former.retry_count if former else None
        known[name] = AdmissionCheckState(
            name=name,
            state=state,
            last_transition_time=changed_at,
            message="m",
            requeue_after_seconds=delay,
            retry_count=retries,
        )
        return with_status(wl, admission_checks=tuple(known[each] for each in sorted(known)))

    return write


def _reconcile(facts: ReconcileContext) -> Operation:
    return lambda wl, now: reconcile(wl, facts, now).workload


def _refuse(reason: str, gates: Any) -> Operation:
    return lambda wl, now: refuse(wl, NotAdmitted(reason, "m"), gates, now).workload


operations: st.SearchStrategy[Operation] = st.one_of(
    st.builds(_reserve, st.sampled_from(["od", "spot"]), st.sampled_from([frozenset(), frozenset({"c"})]), GATES),
    st.builds(
        _report,
        st.sampled_from(["c", "d"]),
        st.sampled_from(["Pending", "Ready", "Retry", "Rejected"]),
        st.sampled_from([None, 7]),
    ),
    st.builds(_reconcile, all_facts),
    st.builds(_refuse, st.sampled_from(["WaitingForQuota", "AdmissionGated"]), GATES),
    GATES.map(lambda gates: lambda wl, now: release(wl, gates, now)),
    GATES.map(lambda gates: lambda wl, now: drop_reservation(wl, "OnHold", "held", gates, now)),
    st.booleans().map(lambda ready: lambda wl, now: report_readiness(wl, ready=ready, now=now)),
    st.booleans().map(lambda active: lambda wl, _: with_spec(wl, active=active)),
    st.sampled_from(["", "a.io/b"]).map(
        lambda gate: lambda wl, _: annotated(wl, annotations={"kueue.x-k8s.io/admission-gated-by": gate})
    ),
    st.just(lambda wl, now: preempt(wl, PREEMPTION, now).workload),
    st.just(lambda wl, now: evict(wl, EvictionCause("NodeFailures", "m"), now).workload),
    st.just(block_on_gates),
)
endings: st.SearchStrategy[Operation] = st.just(lambda wl, now: finish(wl, "Succeeded", "done", now))
steps = st.lists(st.tuples(operations, st.integers(0, 12)), max_size=25)


def holds(wl: Workload, type_: str) -> bool:
    found = find(wl.status.conditions, type_)
    return found is not None and found.status == "True"


def check_state(wl: Workload) -> None:
    assert not holds(wl, "Admitted") or holds(wl, "QuotaReserved")
    assert holds(wl, "QuotaReserved") == (wl.status.admission is not None)
    types = [condition.type for condition in wl.status.conditions]
    assert len(types) == len(set(types))
    names = [state.name for state in wl.status.admission_checks]
    assert names == sorted(set(names))


def check_transitions(before: Workload, after: Workload, now: datetime) -> None:
    for new in after.status.conditions:
        old = find(before.status.conditions, new.type)
        changed = old is None or old.status != new.status
        assert new.last_transition_time == (now if changed else old and old.last_transition_time), new


def builder(start: Workload, story: list[tuple[Operation, int]]) -> tuple[Workload, int]:
    """Apply one event after the other; returns the last state and its second."""
    wl, second = start, 0
    for operation, wait in story:
        second += wait
        after = operation(wl, at(second))
        check_state(after)
        wl = after
    return wl, second


@given(workloads, steps)
def test_admitted_needs_quota_and_quota_an_assignment(start: Workload, story: list[tuple[Operation, int]]) -> None:
    """SCH-902, API-60, SCH-905"""
    builder(start, story)


@given(workloads, steps, operations)
def test_transition_times_move_only_with_the_status(
    start: Workload, story: list[tuple[Operation, int]], last: Operation
) -> None:
    """API-7"""
    wl, second = builder(start, story)
    now = at(second + 5)
    check_transitions(wl, last(wl, now), now)


@given(workloads, steps, endings, steps)
def test_finished_is_permanent(
    start: Workload, story: list[tuple[Operation, int]], end: Operation, more: list[tuple[Operation, int]]
) -> None:
    """API-89"""
    wl, second = builder(start, story)
    done = end(wl, at(second))
    later, _ = builder(done, more)
    assert find(later.status.conditions, "Finished") == find(done.status.conditions, "Finished")
    assert later.status.scheduling_stats == done.status.scheduling_stats


@given(workloads, steps, all_facts)
def test_reconciling_again_changes_nothing(
    start: Workload, story: list[tuple[Operation, int]], facts: ReconcileContext
) -> None:
    """API-120"""
    wl, second = builder(start, story)
    outcome = reconcile(wl, facts, at(second))
    again = reconcile(outcome.workload, facts, at(second))
    assert again.workload is outcome.workload
    assert [write.part for write in again.writes] in ([], [WriteTarget.DELETION])
    assert again.wake_at == outcome.wake_at


def test_a_retry_check_does_not_delay_an_inactive_workload() -> None:
    """API-123 and API-126: the delay would be set and cleared again by every reconcile."""
    reserved = _reserve("od", frozenset(), DEFAULT_GATES)(with_spec(workload(JOB), active=False), at(0))
    wl = _report("c", "Retry", 7)(preempt(reserved, PREEMPTION, at(0)).workload, at(0))
    assert reconcile(wl, ReconcileContext(), at(0)).writes == ()


@given(workloads, steps, all_facts)
def test_every_write_changes_its_part_and_only_that(
    start: Workload, story: list[tuple[Operation, int]], facts: ReconcileContext
) -> None:
    """API-4"""
    wl, second = builder(start, story)
    for write in reconcile(wl, facts, at(second)).writes:
        same_status, same_rest = write.workload.status == wl.status, write.workload.spec == wl.spec
        if write.part is WriteTarget.STATUS:
            assert not same_status
            assert same_rest
            assert write.workload.metadata == wl.metadata
        if write.part is WriteTarget.OBJECT:
            assert same_status
            assert (write.workload.metadata, write.workload.spec) != (wl.metadata, wl.spec)
        wl = write.workload


@given(workloads, steps, all_facts, st.data())
def test_a_crash_between_two_writes_loses_nothing(
    start: Workload, story: list[tuple[Operation, int]], facts: ReconcileContext, data: st.DataObject
) -> None:
    """SCH-1040"""
    wl, second = builder(start, story)
    outcome = reconcile(wl, facts, at(second))
    if outcome.writes:
        survived = data.draw(st.sampled_from(outcome.writes)).workload
        assert reconcile(survived, facts, at(second)).workload == outcome.workload


@given(workloads, steps, all_facts)
def test_waking_is_always_ahead(start: Workload, story: list[tuple[Operation, int]], facts: ReconcileContext) -> None:
    """API-131"""
    wl, second = builder(start, story)
    moment = reconcile(wl, facts, at(second)).wake_at
    assert moment is None or moment > at(second)


@given(workloads, steps, all_facts)
def test_an_inactive_workload_is_evicted_and_owes_nothing(
    start: Workload, story: list[tuple[Operation, int]], facts: ReconcileContext
) -> None:
    """SCH-1040"""
    wl, second = builder(start, story)
    settled = reconcile(wl, facts, at(second)).workload
    assert not holds(settled, "DeactivationTarget")
    if not settled.spec.active:
        assert holds(settled, "Evicted")
        assert settled.status.requeue_state is None
