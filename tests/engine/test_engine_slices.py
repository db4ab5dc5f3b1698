"""A slice of an elastic job takes over the quota of the one that it replaces (SCH-1103 to SCH-1105)."""

from typing import Any

import pytest
from msgspec.structs import replace

from engine.checked_scenarios import checked_builder
from engine.scenario_builders import CPU, FAIR_SHARING, ScenarioBuilder, configured
from kohort.api.conditions import find
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Reserve
from kohort.engine.events import ObjectDeleted, ObjectUpserted
from kohort.engine.quota import FlavorResource

Json = Any
S1, S2 = ObjectKey("ns", "s1"), ObjectKey("ns", "s2")


def play(settings: Json = None, **spec: Json) -> ScenarioBuilder:
    """A queue of ten cores in which a slice of three runs beside another workload of four."""
    play = checked_builder(settings)
    play.queue("q", 10, **spec)
    play.running("s1", 1, count=3)
    play.running("other", 4)
    return play


def grow(play: ScenarioBuilder, cores: int, queue: str = "q", **facts: Json) -> None:
    """A slice s2 of so many cores that replaces s1."""
    manifest = play.workload("s2", 1, queue, count=cores, **facts)
    manifest["metadata"]["annotations"] = {
        "kueue.x-k8s.io/elastic-job": "true",
        "kueue.x-k8s.io/workload-slice-replacement-for": "ns/s1",
    }
    play.put(manifest)


def used(play: ScenarioBuilder, queue: str = "q") -> int:
    return play.engine.store.queues[queue].node.cell(FlavorResource("f", CPU)).usage // 1000


def echo(play: ScenarioBuilder, key: ObjectKey) -> None:
    """The API shows the workload once more, with a label without a meaning."""
    workload = play.workloads[key]
    seen = replace(workload, metadata=replace(workload.metadata, labels={"seen": "again"}))
    play.engine.apply(ObjectUpserted(seen), play.now)


def test_a_pod_set_that_shrinks_frees_quota_for_another_one_of_its_slice() -> None:
    """SCH-1103: one pod set grows by what the one before it shrinks, in a queue that is full."""
    stage = ScenarioBuilder()
    stage.queue("q", 6)
    for name, counts in (("s1", (4, 2)), ("s2", (2, 4))):
        manifest = stage.workload(name, 1, "q")
        (one,) = manifest["spec"]["podSets"]
        manifest["spec"]["podSets"] = [
            {**one, "name": part, "count": count} for part, count in zip(("first", "second"), counts, strict=True)
        ]
        replaced = {} if name == "s1" else {"kueue.x-k8s.io/workload-slice-replacement-for": "ns/s1"}
        manifest["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true", **replaced}
        stage.put(manifest)
        assert stage.turn().reserved == [name]
    assert used(stage) == 6


def test_the_decision_names_the_slice_to_end_and_it_ends_by_it() -> None:
    """SCH-1104."""
    stage = play()
    grow(stage, 5)
    (reserve,) = (each for each in stage.turn().decisions if isinstance(each, Reserve))
    assert reserve.replaces == S1
    finished = find(stage.workloads[S1].status.conditions, "Finished")
    assert finished is not None
    uid = stage.workloads[S2].metadata.uid
    assert (finished.reason, finished.message) == (
        "WorkloadSliceReplaced",
        f"Replaced to accommodate a workload (UID: {uid}, JobUID: ) due to workload slice aggregation",
    )
    assert used(stage) == 9


def test_a_workload_that_replaces_nothing_names_no_slice() -> None:
    """SCH-1104."""
    stage = play()
    stage.submit("plain", 1)
    (reserve,) = stage.turn().decisions
    assert isinstance(reserve, Reserve)
    assert reserve.replaces is None


def test_the_older_slice_runs_while_its_replacement_waits() -> None:
    """SCH-1105."""
    stage = play()
    grow(stage, 7)
    stage.turn()
    assert set(stage.admitted) == {"s1", "other"}
    assert used(stage) == 7


class TestBetweenDecisionAndEnd:
    """The quota is counted once, for any states seen in between."""

    def decided(self) -> ScenarioBuilder:
        """The new slice was decided on, and nothing is written yet."""
        stage = play()
        grow(stage, 5)
        stage.engine.schedule(stage.now)
        assert used(stage) == 9
        return stage

    def test_an_echo_of_the_older_slice_is_not_counted(self) -> None:
        """SCH-1104."""
        stage = self.decided()
        echo(stage, S1)
        assert used(stage) == 9

    def test_when_the_admission_can_not_be_written_the_older_one_runs_on(self) -> None:
        """SCH-352, SCH-1105."""
        stage = play()
        grow(stage, 5)
        stage.conflict("ns/s2")
        stage.turn()
        assert used(stage) == 7
        assert set(stage.admitted) == {"s1", "other"}
        assert stage.turn().reserved == ["s2"]
        assert used(stage) == 9

    def test_when_the_new_slice_is_deleted_the_older_one_continues(self) -> None:
        """SCH-1105."""
        stage = self.decided()
        stage.engine.apply(ObjectDeleted("Workload", S2), stage.now)
        assert used(stage) == 7

    def test_when_the_older_slice_is_deleted_nothing_is_left_of_it(self) -> None:
        """SCH-1104."""
        stage = self.decided()
        stage.engine.apply(ObjectDeleted("Workload", S1), stage.now)
        stage.engine.apply(ObjectDeleted("Workload", S2), stage.now)
        assert used(stage) == 4


def test_a_slice_in_another_queue_is_not_taken_over() -> None:
    """SCH-1103: it requests all that it needs, and the older one holds its quota until the job side ends it."""
    stage = play()
    stage.queue("p", 10)
    grow(stage, 5, queue="p")
    (reserve,) = (each for each in stage.turn().decisions if isinstance(each, Reserve))
    assert reserve.replaces is None
    assert (used(stage), used(stage, "p")) == (7, 5)


@pytest.mark.parametrize("configuration", [None, FAIR_SHARING], ids=["classical", "fair"])
def test_a_slice_is_never_preempted_for_its_own_replacement(configuration: Json) -> None:
    """SCH-1104: others are, and the slice then ends in the ordinary way."""
    stage = play(configured(configuration), preemption={"withinClusterQueue": "LowerPriority"})
    stage.delete({"kind": "Workload", "namespace": "ns", "name": "other"})
    stage.running("other", 4, priority=3)
    grow(stage, 8, priority=5)
    stage.turn()
    assert stage.evicted == {"other": "InClusterQueue"}
    stage.settle()
    assert stage.turn().reserved == ["s2"]
    assert used(stage) == 8


def test_preempting_an_elastic_job_takes_its_slice_whole() -> None:
    """SCH-1105."""
    stage = play(preemption={"withinClusterQueue": "LowerPriority"})
    grow(stage, 5)
    stage.wait(60)
    stage.turn()
    stage.submit("urgent", 3, priority=5)
    stage.turn()
    assert stage.evicted == {"s2": "InClusterQueue"}
    stage.settle()
    assert used(stage) == 4


@pytest.mark.parametrize(("annotation", "admitted"), [("true", False), ("false", True)])
def test_a_slice_is_never_admitted_in_part(annotation: str, admitted: bool) -> None:
    """SCH-560, SCH-1105."""
    stage = play()
    manifest = stage.workload("w", 1, "q", count=8, min_count=2)
    manifest["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": annotation}
    stage.put(manifest)
    stage.turn()
    assert ("w" in stage.admitted) is admitted
