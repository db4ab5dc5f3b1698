"""The pool of a ClusterQueue: inadmissible workloads and their reactivation (SCH-250 to SCH-260)."""

from datetime import timedelta

import pytest

from engine.pending_model import at, workload
from engine.pending_queues import NOW, admit, best_effort, drained, fail, popped, retry, same, strict
from kohort.engine.decisions import RequeueReason
from kohort.engine.pending import PendingCounts, PendingState
from kohort.engine.records import NO_END


class TestEquivalence:
    def test_equivalent_workloads_become_inadmissible_with_the_first(self) -> None:
        """G23 (SCH-251, SCH-252)"""
        queue = best_effort(same(1), same(2), same(3), workload("S", queued=4, kind="small"))
        assert fail(queue, RequeueReason.PREEMPTION_NO_CANDIDATES) == "A1"
        assert queue.counts == PendingCounts(active=1, inadmissible=3, in_flight=0)
        assert admit(queue) == "S"
        queue.push(same(4), NOW)
        assert queue.pop(NOW) is None
        assert retry(queue) == 4
        assert admit(queue) == "A1"
        assert fail(queue, RequeueReason.PREEMPTION_NO_CANDIDATES) == "A2"
        assert queue.counts == PendingCounts(active=0, inadmissible=3, in_flight=0)

    def test_in_a_strict_queue_the_first_blocks(self) -> None:
        """G23 (SCH-251)"""
        queue = strict(same(1), same(2), workload("S", queued=4, kind="small"))
        assert [fail(queue, RequeueReason.NO_FIT) for _ in range(2)] == ["A1", "A1"]
        assert queue.counts == PendingCounts(active=3, inadmissible=0, in_flight=0)

    def test_those_of_all_local_queues_and_namespaces_are_equal(self) -> None:
        """SCH-251"""
        queue = best_effort(same(1), same(2, local_queue="other"), same(3, namespace="guest"))
        fail(queue, RequeueReason.NO_FIT)
        assert queue.counts == PendingCounts(active=0, inadmissible=3, in_flight=0)

    @pytest.mark.parametrize(
        "reason", [RequeueReason.PREEMPTION_GATED, RequeueReason.GENERIC, RequeueReason.NAMESPACE_MISMATCH]
    )
    def test_other_reasons_do_not_affect_equivalent_workloads(self, reason: RequeueReason) -> None:
        """SCH-251"""
        queue = best_effort(same(1), same(2))
        fail(queue, reason)
        assert admit(queue) == "A2"

    def test_a_new_workload_of_a_changed_local_queue_is_evaluated_nevertheless(self) -> None:
        """SCH-204"""
        queue = best_effort(same(1))
        fail(queue, RequeueReason.NO_FIT)
        queue.rejoin(same(2), NOW)
        queue.push(same(3), NOW)
        assert admit(queue) == "A2"
        assert queue.pop(NOW) is None

    def test_a_backoff_outlasts_a_stopped_local_queue(self) -> None:
        """SCH-223"""
        queue = best_effort()
        queue.rejoin(late := workload("late", backoff_until=NOW + timedelta(seconds=9)), NOW)
        assert queue.pop(NOW) is None
        assert queue.pop(NOW + timedelta(seconds=9)) is late

    def test_workloads_without_a_hash_are_equivalent_to_none(self) -> None:
        """SCH-250: the gate is off"""
        queue = best_effort(workload("a"), workload("b"))
        fail(queue, RequeueReason.NO_FIT)
        assert admit(queue) == "b"

    def test_the_bypassed_get_the_reason_of_the_one_that_failed(self) -> None:
        """SCH-253"""
        queue = best_effort(same(1), bypassed := same(2), other := workload("S", queued=9, kind="small"))
        fail(queue, RequeueReason.NO_FIT, "ExceedsMaxQuota")
        assert queue.bypass_reason(bypassed) == "ExceedsMaxQuota"
        assert queue.bypass_reason(other) == ""
        assert queue.bypass_reason(same(9)) == ""
        retry(queue)
        assert queue.bypass_reason(bypassed) == ""

    def test_a_failure_without_reason_counts_as_pending_evaluation(self) -> None:
        """SCH-251"""
        queue = best_effort(same(1), bypassed := same(2))
        fail(queue, RequeueReason.NO_FIT, "")
        assert queue.bypass_reason(bypassed) == "PendingEvaluation"

    def test_a_failure_that_is_not_final_does_not_affect_equivalent_workloads(self) -> None:
        """SCH-237, SCH-251: a retry ran meanwhile, and only a backoff keeps it in the pool"""
        queue = best_effort(same(1), same(2))
        head = popped(queue)
        retry(queue)
        head.backoff_until = NO_END
        queue.requeue(head, RequeueReason.NO_FIT, NOW)
        assert queue.counts == PendingCounts(active=1, inadmissible=1, in_flight=0)


class TestRetrying:
    def test_everything_in_the_pool_is_active_again(self) -> None:
        """SCH-260"""
        queue = best_effort(workload("a"), workload("b"))
        fail(queue, RequeueReason.NO_FIT)
        fail(queue, RequeueReason.GENERIC)
        assert retry(queue) == 2
        assert drained(queue) == ["a", "b"]

    def test_namespaces_that_do_not_belong_stay(self) -> None:
        """SCH-260: also those that went to the pool with their equals, and without barring new ones from the queue"""
        queue = best_effort(same(1), foreign := same(2, namespace="guest"))
        fail(queue, RequeueReason.NO_FIT)
        assert retry(queue) == 1
        assert queue.state_of(foreign) is PendingState.INADMISSIBLE
        queue.push(newer := same(3, namespace="guest"), NOW)
        assert queue.state_of(newer) is PendingState.ACTIVE

    def test_namespace_selectors_are_evaluated_once(self) -> None:
        queue = best_effort(*[workload(f"w{number}") for number in range(5)])
        for _ in range(5):
            fail(queue, RequeueReason.GENERIC)
        asked = []

        def belongs(namespace: str) -> bool:
            asked.append(namespace)
            return True

        assert queue.retry(NOW, belongs) == 5
        assert asked == ["team"]

    def test_backoffs_stay_until_they_end(self) -> None:
        """SCH-260"""
        queue = best_effort(one := workload("w", backoff_until=NOW + timedelta(seconds=60)))
        assert retry(queue) == 0
        assert queue.state_of(one) is PendingState.INADMISSIBLE
        assert retry(queue, NOW + timedelta(seconds=60)) == 1

    def test_a_backoff_that_an_active_workload_got_holds_once_it_is_bypassed(self) -> None:
        """SCH-222, SCH-251, SCH-260"""
        queue = best_effort(same(1), same(2))
        late = same(2, backoff_until=NOW + timedelta(seconds=60))
        queue.update(late, NOW, changed=True)
        fail(queue, RequeueReason.NO_FIT)
        assert retry(queue) == 1
        assert queue.state_of(late) is PendingState.INADMISSIBLE


class TestBackoffEnd:
    def test_the_next_end_of_a_backoff_is_known(self) -> None:
        """SCH-223"""
        queue = best_effort(
            workload("a", backoff_until=at(200)), soon := workload("b", backoff_until=at(150)), workload("c")
        )
        assert queue.wake_at() == at(150)
        queue.remove(soon)
        assert queue.wake_at() == at(200)

    def test_a_backoff_without_end_is_none_to_wait_for(self) -> None:
        """SCH-223: Requeued is False"""
        assert best_effort(workload("w", backoff_until=NO_END)).wake_at() is None

    def test_whose_backoff_ended_enters_anew(self) -> None:
        """SCH-222"""
        queue = best_effort(
            one := workload("w", backoff_until=at(150)),
            known := same(1, backoff_until=at(150)),
            workload("x", queued=9, kind="same"),
        )
        fail(queue, RequeueReason.NO_FIT)
        assert queue.wake(at(149)) == 0
        assert queue.wake(at(150)) == 2
        assert queue.state_of(one) is PendingState.ACTIVE
        assert queue.state_of(known) is PendingState.INADMISSIBLE
        assert queue.wake_at() is None

    def test_a_backoff_that_was_lifted_ends_at_once(self) -> None:
        """SCH-221, SCH-223: it stays in the pool as nothing else changed, but not until the next retry"""
        queue = best_effort(workload("w", backoff_until=at(150)))
        queue.update(lifted := workload("w"), NOW, changed=False)
        assert queue.state_of(lifted) is PendingState.INADMISSIBLE
        assert queue.wake_at() == NOW
        assert queue.wake(NOW) == 1

    def test_popping_reactivates_workloads_whose_backoff_has_ended(self) -> None:
        """SCH-222"""
        queue = best_effort(workload("w", backoff_until=at(150)))
        assert popped(queue, at(150)).key.name == "w"
