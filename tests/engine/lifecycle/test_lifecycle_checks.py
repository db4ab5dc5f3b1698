import pytest

from engine.lifecycle.sample_workloads import (
    admission,
    admitted,
    at,
    check,
    condition_text,
    has,
    judged,
    reserved,
    rule,
    with_status,
    workload,
)
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import RequeueState
from kohort.engine.lifecycle.checks import (
    act_on_checks,
    postpone_by_checks,
    required_checks,
    sync_checks,
)
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.engine.lifecycle.finishing import finish

NOW = at(100)


def holding(*checks: object) -> Workload:
    """A Workload with quota, and with these states of its checks."""
    return with_status(reserved(workload(), checks=("c",)), admission_checks=checks)


class TestRequired:
    RULES = (rule("everywhere"), rule("spot-only", "spot"), rule("both", "spot", "od"))

    def test_before_a_reservation_only_those_of_all_flavors(self) -> None:
        """SCH-904"""
        assert required_checks(self.RULES, ("spot", "od"), None) == {"everywhere", "both"}

    def test_after_it_those_of_an_assigned_flavor(self) -> None:
        """SCH-904, API-129"""
        assert required_checks(self.RULES, ("spot", "od"), admission("od")) == {"everywhere", "both"}
        assert required_checks(self.RULES, ("spot", "od"), admission("spot")) == {"everywhere", "both", "spot-only"}


class TestListing:
    def test_adds_what_is_missing_and_removes_what_is_not_required_by_name(self) -> None:
        """SCH-905"""
        listed = with_status(workload(), admission_checks=(check("b", "Ready"), check("z")))
        after = sync_checks(listed, frozenset({"b", "a", "d"}), NOW)
        assert after.status.admission_checks == (check("a", second=100), check("b", "Ready"), check("d", second=100))

    def test_the_right_list_is_left_alone(self) -> None:
        """SCH-905"""
        listed = with_status(workload(), admission_checks=(check("a", "Ready"), check("b")))
        assert sync_checks(listed, frozenset({"a", "b"}), NOW) is listed


class TestPostponing:
    def test_the_latest_requested_state_counts(self) -> None:
        """SCH-910, API-123"""
        before = holding(
            check("a", "Retry", 90, requeue_after_seconds=60), check("b", "Retry", 80, requeue_after_seconds=30)
        )
        assert postpone_by_checks(before, NOW).status.requeue_state == RequeueState(requeue_at=at(150))

    def test_the_count_of_returns_stays(self) -> None:
        """SCH-910"""
        before = with_status(
            holding(check("a", "Retry", 90, requeue_after_seconds=60)), requeue_state=RequeueState(count=3)
        )
        assert postpone_by_checks(before, NOW).status.requeue_state == RequeueState(count=3, requeue_at=at(150))

    @pytest.mark.parametrize(
        "answer",
        [
            check("c", "Retry", 90),
            check("c", "Retry", 30, requeue_after_seconds=70),
            check("c", "Pending", 90, requeue_after_seconds=60),
            check("c", "Rejected", 90, requeue_after_seconds=60),
        ],
        ids=["none", "past", "pending", "rejected"],
    )
    def test_nothing_else_postpones(self, answer: object) -> None:
        """SCH-910"""
        before = holding(answer)
        assert postpone_by_checks(before, NOW) is before

    def test_a_return_is_never_moved_earlier(self) -> None:
        """SCH-910, API-123"""
        late = with_status(
            holding(check("c", "Retry", 90, requeue_after_seconds=60)), requeue_state=RequeueState(requeue_at=at(151))
        )
        assert postpone_by_checks(late, NOW) is late


class TestActing:
    def test_a_retry_evicts(self) -> None:
        """SCH-910"""
        change = act_on_checks(holding(check("c", "Retry", 90, "no node")), NOW)
        message = 'Evicted due to AdmissionCheck in Retry state: "c" (no node)'
        assert condition_text(change.workload, "Evicted") == ("True", "AdmissionCheck", message)
        assert change.events == (WorkloadEvent("Normal", "EvictedDueToAdmissionCheck", message),)

    def test_several_checks_are_listed_by_name(self) -> None:
        """SCH-910"""
        both = holding(check("z", "Retry", 90, "no node"), check("p"), check("a", "Retry", 90))
        message = 'Evicted due to AdmissionChecks in Retry state: "a"; "z" (no node)'
        assert condition_text(act_on_checks(both, NOW).workload, "Evicted") == ("True", "AdmissionCheck", message)

    def test_a_rejection_deactivates_and_warns(self) -> None:
        """SCH-911"""
        change = act_on_checks(holding(check("c", "Rejected", 90, "never")), NOW)
        summary = 'AdmissionCheck in Rejected state: "c" (never)'
        assert condition_text(change.workload, "DeactivationTarget") == ("True", "AdmissionCheck", summary)
        assert not has(change.workload, "Evicted")
        assert change.events == (WorkloadEvent("Warning", "AdmissionCheckRejected", f"Deactivated due to {summary}"),)

    def test_a_rejection_wins_over_a_retry(self) -> None:
        """SCH-911"""
        change = act_on_checks(holding(check("a", "Retry"), check("b", "Rejected")), NOW)
        assert judged(change.workload, "DeactivationTarget") == ("True", "AdmissionCheck")
        assert not has(change.workload, "Evicted")

    def test_an_admitted_workload_is_evicted_too(self) -> None:
        """SCH-910"""
        running = with_status(admitted(), admission_checks=(check("c", "Retry"),))
        assert judged(act_on_checks(running, NOW).workload, "Evicted") == ("True", "AdmissionCheck")

    @pytest.mark.parametrize("state", ["Retry", "Rejected"])
    def test_only_a_workload_with_quota_that_is_not_leaving_is_touched(self, state: str) -> None:
        """SCH-910, API-131"""
        waiting = with_status(workload(), admission_checks=(check("c", state),))
        assert act_on_checks(waiting, NOW).workload is waiting
        leaving = act_on_checks(holding(check("c", "Retry")), NOW).workload
        leaving = with_status(leaving, admission_checks=(check("c", state),))
        assert act_on_checks(leaving, NOW).workload is leaving
        done = finish(holding(check("c", state)), "Succeeded", "", NOW)
        assert act_on_checks(done, NOW).workload is done

    @pytest.mark.parametrize("state", ["Pending", "Ready"])
    def test_other_states_have_no_effect(self, state: str) -> None:
        before = holding(check("c", state))
        assert act_on_checks(before, NOW).workload is before
