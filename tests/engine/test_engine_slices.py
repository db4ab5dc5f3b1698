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


def new_builder(settings: Json = None, **spec: Json) -> ScenarioBuilder:
    """A queue of ten cores in which a slice of three runs beside another workload of four."""
    new_builder = checked_builder(settings)
    new_builder.queue("q", 10, **spec)
    new_builder.running("s1", 1, count=3)
    new_builder.running("other", 4)
    return new_builder


def grow(new_builder: ScenarioBuilder, cores: int, queue: str = "q", **facts: Json) -> None:
    """A slice s2 of so many cores that replaces s1."""
    manifest = new_builder.workload("s2", 1, queue, count=cores, **facts)
    manifest["metadata"]["annotations"] = {
        "kueue.x-k8s.io/elastic-job": "true",
        "kueue.x-k8s.io/workload-slice-replacement-for": "ns/s1",
    }
    new_builder.put(manifest)


def used(new_builder: ScenarioBuilder, queue: str = "q") -> int:
    return new_builder.engine.store.queues[queue].node.cell(FlavorResource("f", CPU)).usage // 1000


def echo(new_builder: ScenarioBuilder, key: ObjectKey) -> None:
    """The API shows the workload once more, with a label without a meaning."""
    workload = new_builder.workloads[key]
    seen = replace(workload, metadata=replace(workload.metadata, labels={"seen": "again"}))
    new_builder.engine.apply(ObjectUpserted(seen), new_builder.now)


def test_a_pod_set_that_shrinks_frees_quota_for_another_one_of_its_slice() -> None:
    """SCH-1103: one pod set grows by what the one before it shrinks, in a queue that is full."""
    builder = ScenarioBuilder()
    builder.queue("q", 6)
    for name, counts in (("s1", (4, 2)), ("s2", (2, 4))):
        manifest = builder.workload(name, 1, "q")
        (one,) = manifest["spec"]["podSets"]
        manifest["spec"]["podSets"] = [
            {**one, "name": part, "count": count} for part, count in zip(("first", "second"), counts, strict=True)
        ]
        replaced = {} if name == "s1" else {"kueue.x-k8s.io/workload-slice-replacement-for": "ns/s1"}
        manifest["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true", **replaced}
        builder.put(manifest)
        assert builder.turn().reserved == [name]
    assert used(builder) == 6


def test_the_decision_names_the_slice_to_end_and_it_ends_by_it() -> None:
    """SCH-1104."""
    builder = new_builder()
    grow(builder, 5)
    (reserve,) = (each for each in builder.turn().decisions if isinstance(each, Reserve))
    assert reserve.replaces == S1
    finished = find(builder.workloads[S1].status.conditions, "Finished")
    assert finished is not None
    uid = builder.workloads[S2].metadata.uid
    assert (finished.reason, finished.message) == (
        "WorkloadSliceReplaced",
        f"Replaced to accommodate a workload (UID: {uid}, JobUID: ) due to workload slice aggregation",
    )
    assert used(builder) == 9


def test_a_workload_that_replaces_nothing_names_no_slice() -> None:
    """SCH-1104."""
    builder = new_builder()
    builder.submit("plain", 1)
    (reserve,) = builder.turn().decisions
    assert isinstance(reserve, Reserve)
    assert reserve.replaces is None


def test_the_older_slice_runs_while_its_replacement_waits() -> None:
    """SCH-1105."""
    builder = new_builder()
    grow(builder, 7)
    builder.turn()
    assert set(builder.admitted) == {"s1", "other"}
    assert used(builder) == 7


class TestBetweenDecisionAndEnd:
    """The quota is counted once, for any states seen in between."""

    def decided(self) -> ScenarioBuilder:
        """The new slice was decided on, and nothing is written yet."""
        builder = new_builder()
        grow(builder, 5)
        builder.engine.schedule(builder.now)
        assert used(builder) == 9
        return builder

    def test_an_echo_of_the_older_slice_is_not_counted(self) -> None:
        """SCH-1104."""
        builder = self.decided()
        echo(builder, S1)
        assert used(builder) == 9

    def test_when_the_admission_can_not_be_written_the_older_one_runs_on(self) -> None:
        """SCH-352, SCH-1105."""
        builder = new_builder()
        grow(builder, 5)
        builder.conflict("ns/s2")
        builder.turn()
        assert used(builder) == 7
        assert set(builder.admitted) == {"s1", "other"}
        assert builder.turn().reserved == ["s2"]
        assert used(builder) == 9

    def test_when_the_new_slice_is_deleted_the_older_one_continues(self) -> None:
        """SCH-1105."""
        builder = self.decided()
        builder.engine.apply(ObjectDeleted("Workload", S2), builder.now)
        assert used(builder) == 7

    def test_when_the_older_slice_is_deleted_nothing_is_left_of_it(self) -> None:
        """SCH-1104."""
        builder = self.decided()
        builder.engine.apply(ObjectDeleted("Workload", S1), builder.now)
        builder.engine.apply(ObjectDeleted("Workload", S2), builder.now)
        assert used(builder) == 4


def test_a_slice_in_another_queue_is_not_taken_over() -> None:
    """SCH-1103: it requests all that it needs, and the older one holds its quota until the job side ends it."""
    builder = new_builder()
    builder.queue("p", 10)
    grow(builder, 5, queue="p")
    (reserve,) = (each for each in builder.turn().decisions if isinstance(each, Reserve))
    assert reserve.replaces is None
    assert (used(builder), used(builder, "p")) == (7, 5)


@pytest.mark.parametrize("configuration", [None, FAIR_SHARING], ids=["classical", "fair"])
def test_a_slice_is_never_preempted_for_its_own_replacement(configuration: Json) -> None:
    """SCH-1104: others are, and the slice then ends in the ordinary way."""
    builder = new_builder(configured(configuration), preemption={"withinClusterQueue": "LowerPriority"})
    builder.delete({"kind": "Workload", "namespace": "ns", "name": "other"})
    builder.running("other", 4, priority=3)
    grow(builder, 8, priority=5)
    builder.turn()
    assert builder.evicted == {"other": "InClusterQueue"}
    builder.settle()
    assert builder.turn().reserved == ["s2"]
    assert used(builder) == 8


def test_preempting_an_elastic_job_takes_its_slice_whole() -> None:
    """SCH-1105."""
    builder = new_builder(preemption={"withinClusterQueue": "LowerPriority"})
    grow(builder, 5)
    builder.wait(60)
    builder.turn()
    builder.submit("urgent", 3, priority=5)
    builder.turn()
    assert builder.evicted == {"s2": "InClusterQueue"}
    builder.settle()
    assert used(builder) == 4


@pytest.mark.parametrize(("annotation", "admitted"), [("true", False), ("false", True)])
def test_a_slice_is_never_admitted_in_part(annotation: str, admitted: bool) -> None:
    """SCH-560, SCH-1105."""
    builder = new_builder()
    manifest = builder.workload("w", 1, "q", count=8, min_count=2)
    manifest["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": annotation}
    builder.put(manifest)
    builder.turn()
    assert ("w" in builder.admitted) is admitted
