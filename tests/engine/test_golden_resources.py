"""Golden scenarios G20, G37 and G40 to G42: pod sets, undeclared resources, `pods`, reclaimable pods, slices."""

from typing import Any

import msgspec
import pytest

from engine.scenario_builders import CPU, ScenarioBuilder, configured, group, quota
from kohort.api.conditions import find
from kohort.api.kueue.v1beta2.workload import ReclaimablePod
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.quota import FlavorResource

GPU = "nvidia.com/gpu"
FR = FlavorResource("f", CPU)
Json = Any


def used(builder: ScenarioBuilder, queue: str = "q") -> int:
    """Cores in use in flavor f."""
    return builder.engine.store.queues[queue].node.cells[FR].usage // 1000


def counts(builder: ScenarioBuilder, name: str) -> list[int | None]:
    admission = builder.workloads[ObjectKey("ns", name)].status.admission
    return [each.count for each in admission.pod_set_assignments] if admission else []


def test_g20_pod_sets_share_what_they_take() -> None:
    """SCH-506."""
    builder = ScenarioBuilder()
    builder.queue("q", groups=[group({"f1": [quota(CPU, 10)], "f2": [quota(CPU, 10)]})])
    manifest = builder.workload("w", 2, "q")
    (driver,) = manifest["spec"]["podSets"]
    workers = merge(driver, {"name": "workers"})
    workers["template"] = {"spec": {"containers": [{"name": "c", "resources": {"requests": {CPU: "9"}}}]}}
    manifest["spec"]["podSets"] = [merge(driver, {"name": "driver"}), workers]
    builder.put(manifest)
    builder.turn()
    admission = builder.workloads[ObjectKey("ns", "w")].status.admission
    assert admission is not None
    assert [dict(each.flavors) for each in admission.pod_set_assignments] == [{CPU: "f1"}, {CPU: "f2"}]


class TestG37:
    """Resources that no group covers (SCH-504, SCH-1130)."""

    def test_they_block(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("q", 4)
        builder.submit("W1", {CPU: 1, GPU: 1})
        builder.turn()
        assert builder.waiting["W1"].requeue is RequeueReason.NO_FIT
        assert builder.pending_reason("W1") == (
            "NoMatchingFlavor",
            f"couldn't assign flavors to pod set main: resource {GPU} unavailable in ClusterQueue",
        )

    def test_an_amount_of_zero_does_not(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("q", 4)
        builder.submit("W2", {CPU: 1, GPU: 0})
        assert builder.turn().admitted["W2"] == {CPU: "f"}

    def test_they_are_ignored_where_so_configured(self) -> None:
        builder = ScenarioBuilder(configured({"resources": {"quotaCheckStrategy": "IgnoreUndeclared"}}))
        builder.queue("q", 4)
        builder.submit("W1", {CPU: 1, GPU: 1})
        assert builder.turn().admitted["W1"] == {CPU: "f"}
        assert used(builder) == 1


class TestG40:
    """Quota of pods (SCH-135, SCH-561)."""

    def play(self, **facts: Json) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("q", groups=[group({"f": [quota(CPU, 10), quota("pods", 3)]})])
        builder.submit("w", 1, count=4, **facts)
        return builder.turn()

    def test_more_pods_than_there_could_ever_be(self) -> None:
        assert self.play().pending_reason("w")[0] == "ExceedsMaxQuota"

    def test_fewer_pods_where_they_do(self) -> None:
        builder = self.play(min_count=2)
        assert counts(builder, "w") == [3]
        assert builder.admitted["w"] == {CPU: "f", "pods": "f"}


def test_g41_reclaimable_pods_free_quota() -> None:
    """SCH-133, SCH-134, SCH-261, SCH-1060."""
    builder = ScenarioBuilder()
    builder.queue("q", 10)
    builder.running("W1", 1, count=10)
    builder.submit("W2", 4)
    assert "W2" not in builder.turn().admitted
    first = builder.workloads[ObjectKey("ns", "W1")]
    status = msgspec.structs.replace(first.status, reclaimable_pods=(ReclaimablePod(name="main", count=4),))
    builder.show(msgspec.structs.replace(first, status=status))
    assert used(builder) == 6
    assert builder.turn().reserved == ["W2"]
    assert counts(builder, "W1") == [10]


class TestG42:
    """An elastic job grows by slices (SCH-1101, SCH-1103, SCH-1104)."""

    def replacement(self, builder: ScenarioBuilder, name: str, cores: int, replaces: str) -> None:
        manifest = builder.workload(name, 1, "q", count=cores)
        manifest["metadata"]["annotations"] = {
            "kueue.x-k8s.io/elastic-job": "true",
            "kueue.x-k8s.io/workload-slice-replacement-for": f"ns/{replaces}",
        }
        builder.put(manifest)

    def grown(self, builder: ScenarioBuilder) -> ScenarioBuilder:
        builder.running("s1", 1, count=3)
        builder.running("other", 6)
        self.replacement(builder, "s2", 4, "s1")
        assert builder.turn().reserved == ["s2"]
        finished = find(builder.workloads[ObjectKey("ns", "s1")].status.conditions, "Finished")
        assert finished is not None
        assert finished.reason == "WorkloadSliceReplaced"
        assert used(builder) == 10
        return builder

    def test_only_the_increase_is_requested(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("q", 10)
        self.grown(builder)
        assert counts(builder, "s2") == [4]
        self.replacement(builder, "s3", 6, "s2")
        builder.turn()
        assert "s3" not in builder.admitted
        assert "s2" in builder.admitted

    def test_the_flavor_of_the_older_slice_is_kept(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("q", groups=[group({"f": [quota(CPU, 10)], "f2": [quota(CPU, 10)]})])
        self.grown(builder)
        self.replacement(builder, "s3", 6, "s2")
        builder.turn()
        assert builder.pending_reason("s3") == (
            "WaitingForQuota",
            "couldn't assign flavors to pod set main: could not assign f2 flavor since the original workload is"
            " assigned: f, insufficient unused quota for cpu in flavor f, 2 more needed",
        )


@pytest.mark.parametrize("name", ["ConcurrentAdmission", "MultiKueueOrchestratedPreemption"])
def test_a_closed_gate_keeps_a_workload_from_preempting(name: str) -> None:
    """SCH-335, SCH-1120."""
    builder = ScenarioBuilder(configured(**{name: True}))
    builder.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    builder.running("L", 4)
    manifest = builder.workload("H", 4, "q", priority=5)
    manifest["spec"]["preemptionGates"] = [{"name": "kueue.x-k8s.io/multikueue"}]
    builder.put(manifest)
    builder.turn()
    assert builder.evicted == {}
    assert builder.pending_reason("H") == ("AdmissionGated", "Workload requires preemption, but it's gated")


def test_one_workload_at_a_time_until_its_pods_are_ready() -> None:
    """SCH-1035."""
    builder = ScenarioBuilder(configured({"waitForPodsReady": {"blockAdmission": True}}))
    builder.queue("q", 10)
    builder.submit("one", 1)
    builder.submit("two", 1)
    assert builder.turn().reserved == ["one"]
    assert builder.pending_reason("two") == (
        "WaitingForPodsReady",
        "waiting for all admitted workloads to be in PodsReady condition",
    )
    first = builder.workloads[ObjectKey("ns", "one")]
    ready = msgspec.structs.replace(first.status.conditions[0], type="PodsReady")
    status = msgspec.structs.replace(first.status, conditions=(*first.status.conditions, ready))
    builder.show(msgspec.structs.replace(first, status=status))
    assert builder.turn().reserved == ["two"]
