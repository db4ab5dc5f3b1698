"""What waits in a ClusterQueue: order, entering, popping, requeueing (SCH-212 to SCH-241)."""

from datetime import datetime, timedelta

import pytest

from engine.pending_model import cluster_queue, workload
from engine.pending_queues import BOTH, NOW, QueueOf, admit, best_effort, drained, fail, filled, popped, retry, strict
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.pending import PendingCounts, PendingQueue, PendingState
from kohort.engine.records import NO_END, FlavorGroup


class TestOrder:
    @BOTH
    def test_priority_then_age_then_uid_decide(self, queue_of: QueueOf) -> None:
        """SCH-212"""
        low = workload("low", priority=-1, queued=0)
        late, early = workload("late", queued=2), workload("early", queued=1)
        equal_b, equal_a = workload("b", queued=3), workload("a", queued=3)
        high = workload("high", priority=2**40, queued=9)
        assert drained(queue_of(low, late, equal_b, equal_a, high, early)) == ["high", "early", "late", "a", "b", "low"]

    def test_a_workload_without_timestamp_is_the_oldest(self) -> None:
        timeless = workload("timeless")
        timeless.queued_at = None
        assert drained(best_effort(workload("old", queued=-(10**8)), timeless)) == ["timeless", "old"]

    def test_usage_of_the_local_queue_precedes_priority(self) -> None:
        """SCH-212a, SCH-808"""
        usages = {ObjectKey("team", "a"): 2.0, ObjectKey("team", "b"): 1.0}
        queue = PendingQueue(cluster_queue(), usages.__getitem__)
        filled(queue, [workload("of-a", local_queue="a", priority=9), workload("of-b", local_queue="b")])
        assert admit(queue) == "of-b"

    def test_usage_counts_as_it_is_when_the_head_is_popped(self) -> None:
        """SCH-231"""
        usages = {ObjectKey("team", "a"): 0.0, ObjectKey("team", "b"): 1.0}
        queue = PendingQueue(cluster_queue(), usages.__getitem__)
        filled(queue, [workload(f"{name}{n}", local_queue=name) for name in "ab" for n in "12"])
        order = []
        while queue.counts.active:
            order.append(admit(queue))
            usages[ObjectKey("team", order[-1][0])] += 1.5
        assert order == ["a1", "b1", "a2", "b2"]

    def test_usage_can_be_taken_into_account_at_any_time(self) -> None:
        """SCH-809"""
        usages = {ObjectKey("team", "a"): 2.0, ObjectKey("team", "b"): 1.0}
        queue = best_effort(*[workload(f"{name}{n}", local_queue=name) for name in "ab" for n in "12"])
        queue.order_by(usages.__getitem__)
        assert admit(queue) == "b1"
        queue.order_by(None)
        assert drained(queue) == ["a1", "a2", "b2"]

    @BOTH
    def test_an_active_workload_that_changes_is_reordered(self, queue_of: QueueOf) -> None:
        """SCH-222"""
        queue = queue_of(workload("a", priority=2), workload("b", priority=1))
        queue.update(workload("b", priority=3), NOW, changed=True)
        assert drained(queue) == ["b", "a"]

    def test_a_record_changed_in_place_is_reordered_after_a_notification(self) -> None:
        """SCH-222"""
        a, b = workload("a", priority=2, kind="x"), workload("b", priority=1, kind="x")
        queue = best_effort(a, b)
        b.priority, b.equivalence, b.local_queue = 3, "y", ObjectKey("team", "other")
        queue.update(b, NOW, changed=True)
        assert drained(queue) == ["b", "a"]
        assert queue.counts == PendingCounts(0, 0, 0)


class TestInitialState:
    def test_without_obstacles_a_workload_is_active(self) -> None:
        """SCH-222"""
        queue = best_effort(one := workload("w"))
        assert queue.state_of(one) is PendingState.ACTIVE
        assert queue.counts == PendingCounts(active=1, inadmissible=0, in_flight=0)

    @BOTH
    @pytest.mark.parametrize("until", [NOW + timedelta(seconds=1), NO_END])
    def test_a_backoff_leads_to_the_pool(self, queue_of: QueueOf, until: datetime) -> None:
        """SCH-222, SCH-223"""
        queue = queue_of(one := workload("w", backoff_until=until))
        assert queue.state_of(one) is PendingState.INADMISSIBLE
        assert queue.pop(NOW) is None

    @BOTH
    def test_a_backoff_that_ends_now_does_not(self, queue_of: QueueOf) -> None:
        """SCH-223"""
        queue = queue_of(one := workload("w", backoff_until=NOW))
        assert queue.state_of(one) is PendingState.ACTIVE

    def test_an_update_in_flight_is_ignored(self) -> None:
        """SCH-220"""
        queue = best_effort(one := workload("w"))
        head = popped(queue)
        queue.push(workload("w", priority=5), NOW)
        assert queue.state_of(one) is PendingState.IN_FLIGHT
        assert [each.priority for each in queue.first(1)] == [0]
        queue.requeue(head, RequeueReason.FAILED_AFTER_NOMINATION, NOW)
        assert queue.state_of(one) is PendingState.ACTIVE

    @pytest.mark.parametrize(("changed", "place"), [(True, PendingState.ACTIVE), (False, PendingState.INADMISSIBLE)])
    def test_an_update_in_the_pool_counts_only_if_something_changed(self, changed: bool, place: PendingState) -> None:
        """SCH-221"""
        queue = best_effort(one := workload("w"))
        fail(queue, RequeueReason.GENERIC)
        queue.update(one, NOW, changed=changed)
        assert queue.state_of(one) is place

    def test_a_generation_that_was_never_evaluated_counts_as_a_change(self) -> None:
        """SCH-221: the object changed in flight, and the requeue brought the new generation into the pool"""
        queue = best_effort(workload("w", generation=1))
        popped(queue)
        newer = workload("w", generation=2)
        queue.requeue(newer, RequeueReason.NO_FIT, NOW)
        assert queue.state_of(newer) is PendingState.INADMISSIBLE
        queue.update(newer, NOW, changed=False)
        assert queue.state_of(newer) is PendingState.ACTIVE

    def test_an_active_workload_stays_active_after_any_event(self) -> None:
        """SCH-222: updated in place"""
        queue = best_effort(workload("w"))
        backing_off = workload("w", backoff_until=NO_END)
        queue.update(backing_off, NOW, changed=True)
        assert queue.state_of(backing_off) is PendingState.ACTIVE

    def test_a_removed_workload_is_in_no_state(self) -> None:
        queue = best_effort(one := workload("w"))
        queue.remove(one)
        assert queue.state_of(one) is None
        assert queue.pop(NOW) is None


class TestPopping:
    def test_only_one_workload_is_in_flight(self) -> None:
        """SCH-203"""
        queue = best_effort(workload("a"), workload("b"))
        head = popped(queue)
        assert queue.pop(NOW) is None
        assert queue.counts == PendingCounts(active=1, inadmissible=0, in_flight=1)
        queue.remove(head)
        assert admit(queue) == "b"

    def test_the_pop_counter_advances(self) -> None:
        """SCH-231"""
        queue = best_effort(workload("a"))
        admit(queue)
        assert queue.pop(NOW) is None
        assert queue.pops == 2


IMMEDIATE = [
    RequeueReason.FAILED_AFTER_NOMINATION,
    RequeueReason.PENDING_PREEMPTION,
    RequeueReason.PENDING_MIGRATION,
]
PARKED_BY_BEST_EFFORT = [
    RequeueReason.NO_FIT,
    RequeueReason.PREEMPTION_NO_CANDIDATES,
    RequeueReason.PREEMPTION_GATED,
    RequeueReason.GENERIC,
]


class TestRequeueing:
    @BOTH
    @pytest.mark.parametrize("reason", IMMEDIATE)
    def test_some_reasons_make_a_workload_active_at_once(self, queue_of: QueueOf, reason: RequeueReason) -> None:
        """SCH-236"""
        queue = queue_of(one := workload("w"))
        fail(queue, reason)
        assert queue.state_of(one) is PendingState.ACTIVE

    @pytest.mark.parametrize("reason", PARKED_BY_BEST_EFFORT)
    def test_others_park_it_in_a_best_effort_queue_only(self, reason: RequeueReason) -> None:
        """SCH-236"""
        for queue, place in ((best_effort(), PendingState.INADMISSIBLE), (strict(), PendingState.ACTIVE)):
            queue.push(one := workload("w"), NOW)
            fail(queue, reason)
            assert queue.state_of(one) is place

    @BOTH
    def test_a_foreign_namespace_parks_it_always(self, queue_of: QueueOf) -> None:
        """SCH-236"""
        queue = queue_of(one := workload("w"))
        fail(queue, RequeueReason.NAMESPACE_MISMATCH)
        assert queue.state_of(one) is PendingState.INADMISSIBLE

    def test_every_reason_has_its_row(self) -> None:
        """SCH-236"""
        assert {*IMMEDIATE, *PARKED_BY_BEST_EFFORT, RequeueReason.NAMESPACE_MISMATCH} == set(RequeueReason)

    def test_a_retry_since_the_pop_keeps_it_active(self) -> None:
        """SCH-237"""
        queue = best_effort(one := workload("w"))
        head = popped(queue)
        retry(queue)
        queue.requeue(head, RequeueReason.NO_FIT, NOW)
        assert queue.state_of(one) is PendingState.ACTIVE

    def test_a_retry_before_the_pop_does_not(self) -> None:
        """SCH-237"""
        queue = best_effort(one := workload("w"))
        retry(queue)
        fail(queue, RequeueReason.NO_FIT)
        assert queue.state_of(one) is PendingState.INADMISSIBLE

    def test_flavors_still_to_try_keep_it_active(self) -> None:
        """SCH-237, SCH-552"""
        queue = best_effort(one := workload("w", has_more=True))
        fail(queue, RequeueReason.NO_FIT)
        assert queue.state_of(one) is PendingState.ACTIVE

    def test_flavors_that_the_queue_has_lost_do_not(self) -> None:
        """SCH-552"""
        queue = best_effort(one := workload("w", has_more=True))
        queue.queue.set_groups((FlavorGroup(("cpu",), ("f1",)),))
        fail(queue, RequeueReason.NAMESPACE_MISMATCH)
        assert queue.state_of(one) is PendingState.INADMISSIBLE

    @BOTH
    def test_a_backoff_set_meanwhile_makes_it_inadmissible_for_every_reason(self, queue_of: QueueOf) -> None:
        """SCH-237, SCH-238"""
        queue = queue_of(workload("w"))
        popped(queue)
        newer = workload("w", backoff_until=NOW + timedelta(seconds=60))
        queue.requeue(newer, RequeueReason.PENDING_PREEMPTION, NOW)
        assert queue.state_of(newer) is PendingState.INADMISSIBLE

    def test_a_failed_write_brings_a_workload_back(self) -> None:
        """SCH-352"""
        queue = best_effort(one := workload("w"), workload("x", queued=1))
        queue.assume(popped(queue))
        assert queue.state_of(one) is None
        popped(queue)
        queue.requeue(one, RequeueReason.FAILED_AFTER_NOMINATION, NOW)
        assert queue.state_of(one) is PendingState.ACTIVE

    def test_best_effort_moves_on_and_strict_blocks(self) -> None:
        """G01 (SCH-236, SCH-238)"""
        pending = [workload("A", queued=1), workload("B", queued=2), workload("C", queued=3)]
        queue = best_effort(*pending)
        assert [admit(queue), fail(queue, RequeueReason.PREEMPTION_NO_CANDIDATES), admit(queue)] == ["A", "B", "C"]
        queue = strict(*pending)
        assert admit(queue) == "A"
        assert [fail(queue, RequeueReason.PREEMPTION_NO_CANDIDATES) for _ in range(3)] == ["B", "B", "B"]

    def test_a_foreign_namespace_steps_aside_until_it_belongs(self) -> None:
        """G02 (SCH-236, SCH-260)"""
        queue = strict(foreign := workload("A", namespace="guest", queued=1), workload("B", queued=2))
        assert fail(queue, RequeueReason.NAMESPACE_MISMATCH, "Misconfigured") == "A"
        assert admit(queue) == "B"
        assert queue.retry(NOW, lambda namespace: namespace == "team") == 0
        assert queue.state_of(foreign) is PendingState.INADMISSIBLE
        assert queue.retry(NOW, lambda namespace: namespace == "guest") == 1
        assert admit(queue) == "A"


class TestPreemptor:
    def test_precedes_all_others_in_a_best_effort_queue(self) -> None:
        """G24 (SCH-240)"""
        queue = best_effort(workload("P", priority=5))
        assert fail(queue, RequeueReason.PENDING_PREEMPTION) == "P"
        queue.push(workload("H", priority=9), NOW)
        assert drained(queue) == ["P", "H"]

    def test_does_not_in_a_strict_one(self) -> None:
        """G24 (SCH-240)"""
        queue = strict(workload("P", priority=5))
        assert fail(queue, RequeueReason.PENDING_PREEMPTION) == "P"
        queue.push(workload("H", priority=9), NOW)
        assert drained(queue) == ["H", "P"]

    @BOTH
    @pytest.mark.parametrize("reason", [RequeueReason.PENDING_PREEMPTION, RequeueReason.PENDING_MIGRATION])
    def test_is_known_as_such_by_generation(self, queue_of: QueueOf, reason: RequeueReason) -> None:
        """SCH-240, SCH-241"""
        queue = queue_of(one := workload("P", generation=3))
        assert not queue.is_preemptor(one)
        fail(queue, reason)
        assert queue.is_preemptor(one)
        assert not queue.is_preemptor(workload("P", generation=4))

    def test_is_kept_with_the_generation_that_was_evaluated(self) -> None:
        """SCH-240"""
        queue = best_effort(workload("P", generation=3))
        popped(queue)
        newer = workload("P", generation=4)
        queue.requeue(newer, RequeueReason.PENDING_PREEMPTION, NOW)
        assert not queue.is_preemptor(newer)

    def test_is_replaced_by_the_next_one(self) -> None:
        """SCH-240"""
        queue = best_effort(workload("P", priority=5), workload("L", priority=1))
        fail(queue, RequeueReason.PENDING_PREEMPTION)
        queue.requeue(workload("L", priority=1), RequeueReason.PENDING_PREEMPTION, NOW)
        assert drained(queue) == ["L", "P"]

    def test_is_dropped_when_it_is_removed(self) -> None:
        """SCH-240"""
        queue = best_effort(one := workload("P"))
        fail(queue, RequeueReason.PENDING_PREEMPTION)
        queue.remove(one)
        queue.push(one, NOW)
        assert not queue.is_preemptor(one)

    def test_is_kept_over_a_failed_write(self) -> None:
        """SCH-240, SCH-352"""
        queue = best_effort(one := workload("P"))
        fail(queue, RequeueReason.PENDING_PREEMPTION)
        queue.assume(popped(queue))
        queue.requeue(one, RequeueReason.FAILED_AFTER_NOMINATION, NOW)
        assert queue.is_preemptor(one)

    def test_comes_after_usage(self) -> None:
        """SCH-240, SCH-808"""
        usages = {ObjectKey("team", "a"): 1.0, ObjectKey("team", "b"): 1.0}
        queue = filled(PendingQueue(cluster_queue(), usages.__getitem__), [workload("P", local_queue="a")])
        fail(queue, RequeueReason.PENDING_PREEMPTION)
        queue.push(workload("H", local_queue="b", priority=9), NOW)
        assert fail(queue, RequeueReason.FAILED_AFTER_NOMINATION) == "P"
        usages[ObjectKey("team", "a")] = 2.0
        assert drained(queue) == ["H", "P"]
