from datetime import timedelta

import pytest

from engine.lifecycle.sample_workloads import (
    admitted,
    annotated,
    at,
    condition_text,
    deletes,
    events_of,
    facts,
    found,
    judged,
    with_spec,
    without,
    workload,
)
from kohort.api.gates import DEFAULT_GATES, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.finishing import finish, is_orphan, job_expiry
from kohort.engine.lifecycle.reconcile_context import LifecyclePolicies, ReconcileContext
from kohort.engine.lifecycle.reconciliation import reconcile
from kohort.engine.lifecycle.writes import WriteTarget

FINALIZER = "kueue.x-k8s.io/resource-in-use"
DONE = finish(admitted(), "Succeeded", "done", at(100))


def orphan(wl: Workload, *, deleted: bool = False, label: str = "kueue.x-k8s.io/job-uid") -> Workload:
    """A Workload of a job, which is gone."""
    return annotated(
        wl,
        owner_references=(),
        labels={label: "u"},
        finalizers=(FINALIZER, "other"),
        deletion_timestamp=at(50) if deleted else None,
    )


def keeping(seconds: float) -> ReconcileContext:
    return facts(policies=LifecyclePolicies(keep_finished=timedelta(seconds=seconds)))


class TestFinishing:
    def test_is_permanent(self) -> None:
        """API-89, SCH-1063"""
        assert condition_text(DONE, "Finished") == ("True", "Succeeded", "done")
        assert finish(DONE, "Failed", "other", at(200)) is DONE

    def test_leaves_everything_else_as_it_was(self) -> None:
        """API-89"""
        assert DONE.status.admission == admitted().status.admission
        outcome = reconcile(with_spec(DONE, active=False), facts(local=None), at(999))
        assert outcome.writes == ()
        assert outcome.wake_at is None


class TestOrphans:
    def test_are_finished_and_released(self) -> None:
        """SCH-1062, API-120"""
        outcome = reconcile(orphan(admitted()), facts(), at(100))
        assert condition_text(outcome.workload, "Finished") == (
            "True",
            "OwnerNotFound",
            "The workload's owner no longer exists",
        )
        assert outcome.workload.metadata.finalizers == ("other",)
        assert [write.part for write in outcome.writes] == [WriteTarget.STATUS, WriteTarget.OBJECT]

    def test_that_are_being_deleted_are_only_released(self) -> None:
        """API-120"""
        outcome = reconcile(orphan(workload(), deleted=True), facts(local=None), at(100))
        assert outcome.workload.status == workload().status
        assert outcome.workload.metadata.finalizers == ("other",)
        assert not deletes(outcome)

    @pytest.mark.parametrize(
        ("wl", "expected"),
        [
            (orphan(workload()), True),
            (orphan(workload(), label="other"), False),
            (orphan(workload(), label="other", deleted=True), True),
            (annotated(workload(), labels={"kueue.x-k8s.io/job-uid": "u"}), False),
        ],
        ids=["of a job", "hand-made", "hand-made and deleted", "owned"],
    )
    def test_are_those_of_jobs_and_those_being_deleted(self, wl: Workload, expected: bool) -> None:
        """API-120"""
        assert is_orphan(wl, DEFAULT_GATES) is expected

    def test_are_kept_with_the_gate_off(self) -> None:
        """SCH-1062"""
        assert not is_orphan(orphan(workload()), without(Gate.FinishOrphanedWorkloads))


class TestRetention:
    def test_deletes_when_the_time_is_over_finalizer_first(self) -> None:
        """SCH-1061, API-122"""
        outcome = reconcile(annotated(DONE, finalizers=(FINALIZER,)), keeping(60), at(160))
        assert deletes(outcome)
        assert [write.part for write in outcome.writes] == [WriteTarget.OBJECT, WriteTarget.DELETION]
        assert outcome.workload.metadata.finalizers == ()
        note = "Deleted finished workload due to elapsed retention"
        assert events_of(outcome) == (WorkloadEvent("Normal", "Deleted", note),)

    def test_zero_deletes_at_once(self) -> None:
        """SCH-1061"""
        assert deletes(reconcile(DONE, keeping(0), at(100)))

    def test_waits_until_then(self) -> None:
        """API-122"""
        outcome = reconcile(DONE, keeping(60), at(159))
        assert not deletes(outcome)
        assert outcome.workload is DONE
        assert outcome.wake_at == at(160)

    def test_keeps_without_a_limit_by_default(self) -> None:
        """SCH-1061"""
        assert not deletes(reconcile(DONE, facts(), at(10**9)))

    def test_does_not_delete_twice(self) -> None:
        going = annotated(DONE, finalizers=(FINALIZER,), deletion_timestamp=at(161))
        outcome = reconcile(going, keeping(60), at(170))
        assert not deletes(outcome)
        assert outcome.workload.metadata.finalizers == ()


class TestRetentionOfDeactivatedJobs:
    KEEP = timedelta(seconds=60)

    @staticmethod
    def deactivated(cause: str) -> Workload:
        return evict(with_spec(admitted(), active=False), EvictionCause("Deactivated", "", cause), at(100)).workload

    def test_counts_from_the_eviction(self) -> None:
        """SCH-1061, JOB-59"""
        assert job_expiry(self.deactivated("AdmissionCheck"), self.KEEP) == at(160)

    def test_does_not_touch_what_a_user_turned_off_or_on_again(self) -> None:
        """SCH-1061"""
        assert job_expiry(self.deactivated(""), self.KEEP) is None
        assert job_expiry(with_spec(self.deactivated("AdmissionCheck"), active=True), self.KEEP) is None

    def test_is_off_without_a_setting(self) -> None:
        assert job_expiry(self.deactivated("AdmissionCheck"), None) is None


def test_finished_has_the_observed_generation() -> None:
    """API-7"""
    assert found(finish(with_spec(workload(), priority=1), "Failed", "", at(1)), "Finished").observed_generation == 2
    assert judged(DONE, "Finished") == ("True", "Succeeded")
