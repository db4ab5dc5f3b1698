"""Slices of an elastic job: one runs, one may wait to replace it, the others end (SCH-1102, SCH-1104)."""

from hypothesis import given
from hypothesis import strategies as st

from engine.lifecycle.sample_workloads import annotated, at, condition_text, reserved, with_status, workload
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle.conditions import is_evicted, is_finished, is_reserved
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.slices import end_replaced, reconcile_slices, take_over

NOW = at(100)
REPLACED = ("True", "WorkloadSliceReplaced", "Replaced to accommodate a new workload slice")
OUT_OF_SYNC = ("True", "OutOfSync", "The workload slice is out of sync with its parent job")


def slice_of(name: str, replaces: str = "", second: float | None = None) -> Workload:
    """A slice that waits; its name is its age unless a second is given."""
    annotations = {"kueue.x-k8s.io/workload-slice-replacement-for": f"ns/{replaces}"} if replaces else {}
    born = at(int(name[1:]) if second is None else second)
    return annotated(workload(), name=name, uid=f"uid-{name}", creation_timestamp=born, annotations=annotations)


def running(name: str, replaces: str = "") -> Workload:
    return reserved(slice_of(name, replaces))


def evicted(wl: Workload) -> Workload:
    return evict(wl, EvictionCause("Preempted", ""), at(50)).workload


def settled(*slices: Workload) -> tuple[str, str, dict[str, tuple[str, str, str]]]:
    """The slices compared with the job, the running ones, and how the others ended."""
    found = reconcile_slices(slices, NOW)
    names = [each.metadata.name if each else "" for each in (found.current, found.running)]
    return names[0], names[1], {each.metadata.name: condition_text(each, "Finished") for each in found.ended}


class TestWhichSliceRemains:
    """SCH-1102"""

    def test_a_job_without_slices_needs_one(self) -> None:
        assert settled() == ("", "", {})

    def test_the_only_slice_stays(self) -> None:
        assert settled(slice_of("s1")) == ("s1", "", {})
        assert settled(running("s1")) == ("s1", "s1", {})

    def test_one_runs_while_its_replacement_waits(self) -> None:
        """SCH-1105"""
        assert settled(running("s1"), slice_of("s2", "s1")) == ("s2", "s1", {})

    def test_a_replacement_with_quota_ends_what_it_replaces(self) -> None:
        assert settled(running("s1"), running("s2", "s1")) == ("s2", "s2", {"s1": REPLACED})

    def test_a_chain_is_followed_to_its_end(self) -> None:
        chain = (running("s1"), running("s2", "s1"), slice_of("s3", "s2"))
        assert settled(*chain) == ("s3", "s2", {"s1": REPLACED})

    def test_of_two_replacements_that_wait_the_newer_ends(self) -> None:
        assert settled(running("s1"), slice_of("s2", "s1"), slice_of("s3", "s1")) == ("s2", "s1", {"s3": OUT_OF_SYNC})

    def test_of_two_replacements_the_one_with_quota_wins(self) -> None:
        slices = (running("s1"), slice_of("s2", "s1"), running("s3", "s1"))
        assert settled(*slices) == ("s3", "s3", {"s1": REPLACED, "s2": OUT_OF_SYNC})

    def test_the_replacement_order_counts_more_than_the_age(self) -> None:
        assert settled(running("s1", "s2"), running("s2")) == ("s1", "s1", {"s2": REPLACED})
        late = (slice_of("s2", "s5"), running("s3", "s5"), running("s5"))
        assert settled(*late) == ("s3", "s3", {"s2": OUT_OF_SYNC, "s5": REPLACED})

    def test_of_two_admitted_slices_without_a_relation_the_newer_runs(self) -> None:
        assert settled(running("s1"), running("s2")) == ("s2", "s2", {"s1": OUT_OF_SYNC})

    def test_evicted_slices_end(self) -> None:
        assert settled(evicted(running("s1")), slice_of("s2")) == ("s2", "", {"s1": OUT_OF_SYNC})
        assert settled(evicted(running("s1")), slice_of("s2", "s1")) == ("s2", "", {"s1": REPLACED})

    def test_when_all_are_evicted_a_new_one_is_due(self) -> None:
        ended = {"s1": OUT_OF_SYNC, "s2": OUT_OF_SYNC}
        assert settled(evicted(running("s1")), evicted(slice_of("s2", "s1"))) == ("", "", ended)

    def test_without_quota_the_newest_is_kept(self) -> None:
        assert settled(slice_of("s1"), slice_of("s2")) == ("s2", "", {"s1": OUT_OF_SYNC})

    def test_slices_of_one_second_are_ordered_by_uid(self) -> None:
        """JOB-81"""
        assert settled(slice_of("s2", second=5), slice_of("s1", second=5))[0] == "s2"

    def test_finished_slices_do_not_count(self) -> None:
        assert settled(finish(running("s1"), "Succeeded", "", NOW), slice_of("s2", "s1")) == ("s2", "", {})


@st.composite
def families(draw: st.DrawFn) -> list[Workload]:
    """Slices in every state, replacing each other at random."""
    names = [f"s{number}" for number in range(1, draw(st.integers(1, 6)) + 1)]
    slices = []
    for index, name in enumerate(names):
        each = slice_of(name, draw(st.sampled_from(["", *names[:index]])))
        each = reserved(each) if draw(st.booleans()) else each
        slices.append(evicted(each) if draw(st.integers(0, 4)) == 0 else each)
    return draw(st.permutations(slices))


@given(families())
def test_at_most_one_with_quota_and_one_that_waits_are_left(slices: list[Workload]) -> None:
    """SCH-1102: and settling what was settled changes nothing"""
    found = reconcile_slices(slices, NOW)
    ended = {each.metadata.name for each in found.ended}
    left = [each for each in slices if each.metadata.name not in ended]
    assert all(is_finished(each) for each in found.ended)
    assert sum(is_reserved(each) for each in left) <= 1
    assert sum(not is_reserved(each) for each in left) <= 1
    assert not any(is_evicted(each) for each in left)
    assert bool(left) == any(not is_evicted(each) for each in slices)
    assert reconcile_slices([*left, *found.ended], NOW) == type(found)(found.current, found.running)


class TestTakingOver:
    """SCH-1104"""

    def test_the_replaced_slice_finishes_and_names_its_replacement(self) -> None:
        new = annotated(running("s2", "s1"), labels={"kueue.x-k8s.io/job-uid": "job-7"})
        change = end_replaced(running("s1"), new, NOW)
        message = "Replaced to accommodate a workload (UID: uid-s2, JobUID: job-7) due to workload slice aggregation"
        assert condition_text(change.workload, "Finished") == ("True", "WorkloadSliceReplaced", message)
        assert change.events == (WorkloadEvent("Normal", "WorkloadSliceReplaced", message),)

    def test_missing_ids_stay_empty(self) -> None:
        change = end_replaced(running("s1"), annotated(running("s2", "s1"), uid=""), NOW)
        assert "(UID: , JobUID: )" in condition_text(change.workload, "Finished")[2]

    def test_a_slice_that_has_ended_already_is_left_alone(self) -> None:
        done = finish(running("s1"), "Succeeded", "", at(50))
        change = end_replaced(done, running("s2", "s1"), NOW)
        assert change.workload is done
        assert change.events == ()

    def test_the_cluster_is_inherited(self) -> None:
        new = slice_of("s2", "s1")
        assert take_over(new, with_status(running("s1"), cluster_name="w1")).status.cluster_name == "w1"
        assert take_over(new, running("s1")) is new
