"""Laws of the plan: after any changes of pods and restarts of a controller, a Job is done and counted once."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.core.pods import ContainerState, ContainerStateTerminated, ContainerStatus, PodStatus
from kohort.api.meta import ObjectMeta
from kohort.embedded.controllers.jobs.failures import NO_FAILURES, FailureRecord
from kohort.embedded.controllers.jobs.indexes import Indexes
from kohort.embedded.controllers.jobs.plan import JobPlan, plan
from kohort.embedded.controllers.jobs.pod_changes import NewPod
from kohort.embedded.controllers.jobs.views import (
    COMPLETE,
    INDEX,
    INDEX_FAILURES,
    TRACKING,
    JobSpecView,
    JobView,
    is_tracked,
)
from kohort.embedded.controllers.status_writer import status_patch
from kohort.embedded.controllers.views import ControllerPod, ControllerPodSpec

START = datetime(2026, 1, 1, tzinfo=UTC)
SUCCEED, FAIL, DELETE, RUN, WAIT = "succeed", "fail", "delete", "run", "wait"


@dataclass
class JobModel:
    """A Job, its pods and a clock; plans are carried out in full or up to some step."""

    job: JobView
    pods: dict[str, ControllerPod] = field(default_factory=dict)
    now: datetime = START
    record: FailureRecord = NO_FAILURES
    made: int = 0

    def plan(self) -> JobPlan:
        return plan(self.job, list(self.pods.values()), self.now, self.record)

    def carry_out(self, steps: int = 99) -> bool:
        """Plan and do so many steps of it; whether there was anything to do."""
        planned = self.plan()
        for pod in planned.removals[:steps]:
            self._release(pod)
            self._delete(pod)
        for pod in planned.deletes[:steps]:
            self._delete(pod)
        for new in planned.creates[:steps]:
            self._create(new)
        if planned.touches_pods:
            if steps < 99:
                return True
            again = self.plan()
            assert not again.creates or len(planned.creates) == 500
            planned = again
        changed = bool(status_patch(self.job.status, planned.status))
        if changed and steps > 1:
            self.job = msgspec.structs.replace(self.job, status=planned.status)
            self.record = planned.record
        for pod in planned.release[:steps] if steps > 2 or not changed else ():
            self._release(pod)
        return changed or bool(planned.release)

    def settle(self) -> None:
        for _ in range(50):
            if self.job.is_finished or not self.carry_out():
                self.check()
                return
        raise AssertionError("the plans never end")

    def check(self) -> None:
        """What holds whenever nothing is left to do."""
        status, notes = self.job.status, self.job.uncounted
        tracked = {uid for uid, pod in self.pods.items() if is_tracked(pod)}
        assert {*notes.succeeded, *notes.failed} <= tracked
        assert status.succeeded + status.failed + len(notes.succeeded) + len(notes.failed) <= self.made
        if self.job.is_finished:
            assert not tracked
            assert not any(not pod.is_finished for pod in self.pods.values())
        if any(each.type == COMPLETE for each in status.conditions):
            assert status.succeeded >= (1 if self.job.spec.completions is None else self.job.spec.completions)

    def happen(self, what: str, chosen: int) -> None:
        """Something befalls one of the pods that still run, or time passes."""
        self.now += timedelta(seconds=700 if what == WAIT else 1)
        running = [pod for pod in self.pods.values() if pod.is_active]
        if what == WAIT or not running:
            return
        pod = running[chosen % len(running)]
        if what == DELETE:
            self._delete(pod)
        elif what == RUN:
            self._set(pod, "Running")
        else:
            self._set(pod, "Succeeded" if what == SUCCEED else "Failed")

    def reap(self, phase: str = "Failed") -> None:
        """End the terminating pods."""
        for pod in list(self.pods.values()):
            if pod.is_terminating and not pod.is_finished:
                self._set(pod, phase)

    def _create(self, new: NewPod) -> None:
        self.made += 1
        annotations = {} if new.index is None else {INDEX: str(new.index)}
        if new.failures is not None:
            annotations[INDEX_FAILURES] = str(new.failures.counted)
        uid = f"u{self.made}"
        metadata = ObjectMeta(
            name=uid, uid=uid, annotations=annotations, finalizers=(TRACKING,), creation_timestamp=self.now
        )
        self.pods[uid] = ControllerPod(
            metadata=metadata, spec=ControllerPodSpec(node_name="n"), status=PodStatus(phase="Pending")
        )

    def _delete(self, pod: ControllerPod) -> None:
        self._amend(pod, deletion_timestamp=self.now)

    def _release(self, pod: ControllerPod) -> None:
        current = self.pods.get(pod.metadata.uid)
        if current is not None:
            self._amend(current, finalizers=())

    def _amend(self, pod: ControllerPod, **fields: Any) -> None:
        current = self.pods.get(pod.metadata.uid)
        if current is None:
            return
        changed = msgspec.structs.replace(current, metadata=msgspec.structs.replace(current.metadata, **fields))
        self._keep(changed)

    def _set(self, pod: ControllerPod, phase: str) -> None:
        ended = ContainerStateTerminated(exit_code=int(phase == "Failed"), finished_at=self.now)
        state = ContainerState(terminated=ended) if phase in ("Succeeded", "Failed") else ContainerState()
        status = PodStatus(phase=phase, container_statuses=(ContainerStatus(name="main", state=state),))
        self._keep(msgspec.structs.replace(pod, status=status))

    def _keep(self, pod: ControllerPod) -> None:
        """A pod that is leaving, at its end and free of finalizers is gone."""
        if pod.is_terminating and pod.is_finished and not is_tracked(pod):
            self.pods.pop(pod.metadata.uid, None)
        else:
            self.pods[pod.metadata.uid] = pod


def specs() -> st.SearchStrategy[JobSpecView]:
    plain = st.builds(
        JobSpecView,
        parallelism=st.integers(0, 3),
        completions=st.none() | st.integers(0, 5),
        backoff_limit=st.integers(0, 6),
        pod_replacement_policy=st.sampled_from(("Failed", "TerminatingOrFailed")),
    )
    indexed = st.builds(
        JobSpecView,
        parallelism=st.integers(0, 3),
        completions=st.integers(0, 5),
        completion_mode=st.just("Indexed"),
        backoff_limit=st.integers(0, 6),
        backoff_limit_per_index=st.none() | st.integers(0, 2),
        max_failed_indexes=st.none() | st.integers(0, 2),
        pod_replacement_policy=st.sampled_from(("Failed", "TerminatingOrFailed")),
    )
    return plain | indexed


def jobs() -> st.SearchStrategy[JobView]:
    return st.builds(lambda spec: JobView(metadata=ObjectMeta(name="j", uid="j"), spec=spec), specs())


EVENTS = st.lists(
    st.tuples(st.sampled_from((SUCCEED, SUCCEED, FAIL, DELETE, RUN, WAIT)), st.integers(0, 3)), min_size=4, max_size=12
)


@given(job=jobs(), events=EVENTS)
def test_there_are_never_more_active_pods_than_parallelism_or_completions_left(
    job: JobView, events: list[tuple[str, int]]
) -> None:
    harness = JobModel(job)
    for what, chosen in [(WAIT, 0), *events]:
        harness.happen(what, chosen)
        harness.settle()
        active = sum(pod.is_active for pod in harness.pods.values())
        assert active <= job.spec.parallelism
        if job.spec.completions is not None:
            assert active <= max(0, job.spec.completions - harness.job.status.succeeded)
        assert harness.job.status.active == active


@given(
    job=jobs(),
    events=EVENTS,
    steps=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    end=st.sampled_from(("Succeeded", "Failed")),
)
def test_every_pod_is_counted_once_wherever_a_controller_is_interrupted(
    job: JobView, events: list[tuple[str, int]], steps: list[int], end: str
) -> None:
    """Steps that are cut off simulate a crash: what was written stays, what was in memory is lost."""
    harness = JobModel(job)
    ended: dict[str, set[str]] = {"Succeeded": set(), "Failed": set()}
    for (what, chosen), cut in zip(events, steps, strict=False):
        harness.settle()
        if harness.job.is_finished:
            return
        harness.happen(what, chosen)
        if what in (SUCCEED, FAIL):
            for phase, found in ended.items():
                found |= {
                    uid for uid, pod in harness.pods.items() if pod.status.phase == phase and not pod.is_terminating
                }
        harness.carry_out(cut)
        harness.record = NO_FAILURES
    harness.settle()
    harness.reap(end)
    harness.settle()
    status, notes = harness.job.status, harness.job.uncounted
    assert len(ended["Succeeded"]) <= status.succeeded + len(notes.succeeded)
    held = [pod for pod in harness.pods.values() if is_tracked(pod)]
    assert len(ended["Failed"]) <= status.failed + len(notes.failed) + len(held)


@given(job=jobs(), failures=st.integers(0, 2))
def test_a_job_comes_to_its_end_when_its_pods_do(job: JobView, failures: int) -> None:
    harness = JobModel(job)
    for turn in range(40):
        harness.settle()
        if harness.job.is_finished:
            break
        harness.reap()
        for _ in range(4):
            harness.happen(FAIL if turn < failures else SUCCEED, 0)
        harness.happen(WAIT, 0)
    starved = job.spec.parallelism == 0 and job.spec.completions != 0
    assert harness.job.is_finished != starved
    assert not any(is_tracked(pod) for pod in harness.pods.values())
    if not failures and not starved:
        assert any(each.type == COMPLETE for each in harness.job.status.conditions)


@given(job=jobs(), events=EVENTS)
def test_a_plan_that_is_carried_out_leaves_nothing_to_do(job: JobView, events: list[tuple[str, int]]) -> None:
    harness = JobModel(job)
    for what, chosen in events:
        harness.settle()
        harness.happen(what, chosen)
    harness.settle()
    if not harness.job.is_finished:
        rest = harness.plan()
        assert not rest.touches_pods
        assert not rest.release
        assert not status_patch(harness.job.status, rest.status)


@given(sets=st.tuples(st.frozensets(st.integers(0, 40)), st.frozensets(st.integers(0, 40))), limit=st.integers(1, 45))
def test_index_sets_behave_as_sets_and_survive_their_text(
    sets: tuple[frozenset[int], frozenset[int]], limit: int
) -> None:
    left, right = (Indexes.of(each) for each in sets)
    union = left | right
    assert len(union) == len(sets[0] | sets[1])
    assert all((index in union) == (index in sets[0] | sets[1]) for index in range(45))
    assert left.common(right) == len(sets[0] & sets[1])
    assert Indexes.parse(str(left), 100) == left
    assert Indexes.parse(str(left), limit) == Indexes.of(each for each in sets[0] if each < limit)
    assert left.missing(limit, 3) == [each for each in range(limit) if each not in sets[0]][:3]


def test_pairs_have_a_comma_and_longer_spans_a_dash() -> None:
    assert str(Indexes.of((1, 3, 4, 6, 7, 8))) == "1,3,4,6-8"
