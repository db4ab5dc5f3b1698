"""A scheduling run ends, and no event is lost: counterexamples that random scenarios once found."""

from typing import Any

import msgspec
import pytest

from engine.scenario_builders import CPU, ScenarioBuilder, configured, group, quota
from kohort.api.kueue.v1beta2.workload import WorkloadStatus
from kohort.engine.decisions import Evict

Json = Any
TAINTED: Json = {"nodeTaints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
BEARS: Json = {"tolerations": [{"key": "k", "operator": "Exists"}]}


def pod_set(name: str, cpu: int, **pod: Json) -> Json:
    container = {"name": "c", "resources": {"requests": {CPU: str(cpu)}}}
    return {"name": name, "count": 1, "template": {"spec": {"containers": [container], **pod}}}


def submit_sets(builder: ScenarioBuilder, name: str, queue: str, *pod_sets: Json) -> None:
    """A workload of several pod sets."""
    builder.submit(name, 1, queue)
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"queueName": queue, "podSets": list(pod_sets)},
    }
    builder.put(manifest)


class TestEndlessSearches:
    """A flavor search that ends without a placement begins again; no run may wait for its end (SCH-237, SCH-550)."""

    def play(self) -> ScenarioBuilder:
        """A strict head whose pod sets take quota from each other, whichever flavor the first one tries."""
        builder = ScenarioBuilder()
        builder.flavor("f2", **TAINTED)
        self.give(builder, f1=2, f2=2)
        submit_sets(builder, "w", "q", pod_set("x", 2, **BEARS), pod_set("y", 2), pod_set("z", 2))
        return builder.turn()

    def give(self, builder: ScenarioBuilder, f1: int, f2: int) -> None:
        groups = [group({"f1": [quota(CPU, f1)], "f2": [quota(CPU, f2)]})]
        builder.queue("q", groups=groups, queueingStrategy="StrictFIFO")

    def test_pod_sets_with_alternating_searches(self) -> None:
        assert self.play().reserved == []

    def test_a_search_that_continues_in_the_middle_begins_anew_in_the_same_run(self) -> None:
        builder = self.play()
        self.give(builder, f1=6, f2=0)
        assert builder.turn().reserved == ["w"]


def test_an_eviction_that_could_not_be_written_is_issued_again() -> None:
    """SCH-654."""
    builder = ScenarioBuilder()
    builder.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    builder.running("low", 4)
    builder.submit("high", 4, priority=1)
    builder.conflict("ns/low")
    assert builder.turn().evicted == {"low": "InClusterQueue"}
    assert builder.turn().evicted == {"low": "InClusterQueue"}
    assert builder.turn().evicted == {}


class TestNextHead:
    """When a head leaves that blocked its StrictFIFO queue, the next one is evaluated (SCH-238)."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("q", 4, queueingStrategy="StrictFIFO")
        builder.submit("blocked", 8)
        builder.submit("next", 2)
        assert builder.turn().reserved == []
        return builder

    def test_after_a_deletion(self, builder: ScenarioBuilder) -> None:
        builder.delete({"kind": "Workload", "namespace": "ns", "name": "blocked"})
        assert builder.turn().reserved == ["next"]

    def test_after_a_deactivation(self, builder: ScenarioBuilder) -> None:
        manifest = builder.workload("blocked", 8, "q")
        manifest["spec"]["active"] = False
        manifest["metadata"]["uid"] = "0001-blocked"
        builder.put(manifest)
        assert builder.turn().reserved == ["next"]

    def test_after_it_ended_elsewhere(self, builder: ScenarioBuilder) -> None:
        builder.finish("ns/blocked")
        assert builder.turn().reserved == ["next"]


@pytest.mark.parametrize("others", [0, 3])
def test_a_search_continues_independently_of_other_trees(others: int) -> None:
    """SCH-553: what was recorded in the last cycle of the queue counts, however many cycles ran elsewhere."""
    builder = ScenarioBuilder()
    builder.queue("a", groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]})])
    builder.queue("b", groups=[group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 0)]})])
    for number in range(others):
        builder.queue(f"elsewhere{number}", 1, cohort=None)
        builder.submit(f"e{number}", 1, f"elsewhere{number}")
    builder.submit("a1", 4, "a")
    builder.submit("b1", 4, "b", priority=1)
    builder.once()
    builder.finish("ns/b1")
    builder.queue("b", groups=[group({"f1": [quota(CPU, 5)], "f2": [quota(CPU, 0)]})])
    assert builder.once().admitted["a1"] == {CPU: "f2"}


def test_a_preempted_victim_is_selected_again_before_its_eviction_is_observed() -> None:
    """SCH-620, SCH-653: a preemptor that is evaluated again issues nothing new, although others are cheaper by now."""
    builder = ScenarioBuilder()
    builder.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    builder.running("older", 2)
    builder.running("newer", 2)
    builder.submit("preemptor", 2, priority=5)
    assert evictions(builder) == ["newer"]
    cheaper = builder.workload("older", 2, "q", priority=-1)
    cheaper["metadata"]["uid"] = "0001-older"
    builder.put(cheaper)
    assert evictions(builder) == []


def evictions(builder: ScenarioBuilder) -> list[str]:
    """Workloads that a run evicts, without writing it down."""
    return [each.workload.name for each in builder.engine.schedule(builder.now) if isinstance(each, Evict)]


def test_what_victims_still_hold_may_be_given_away_in_the_same_cycle() -> None:
    """SCH-331: others are weighed as if the victims of the cycle were gone, and 9 of 7 are in use until they are."""
    builder = ScenarioBuilder()
    builder.queue("preemptor", 3, preemption={"reclaimWithinCohort": "Any"})
    builder.queue("victim", 0)
    builder.queue("x", 4)
    builder.queue("y", 0)
    builder.running("v", 5, "victim")
    builder.submit("p", 3, "preemptor")
    builder.submit("x1", 2, "x")
    builder.submit("y1", 2, "y")
    assert builder.once().evicted == {"v": "InCohortReclamation"}
    assert builder.reserved == ["x1", "y1"]


class TestAScanThatIsTwoCyclesOld:
    """SCH-553, SCH-554: admissions and evictions of its queue outdate it, within a run as between single cycles."""

    def play(self) -> ScenarioBuilder:
        """The first pod set of w took f1 and would go on with f2; the second one will never find a place."""
        builder = ScenarioBuilder()
        builder.flavor("f2", **TAINTED)
        builder.queue("q", groups=[group({"f1": [quota(CPU, 2)], "f2": [quota(CPU, 1)]})])
        builder.queue("lender", groups=[group({"f1": [quota(CPU, 2)]})], preemption={"reclaimWithinCohort": "Any"})
        builder.running("borrower", 1, "q", flavor="f1")
        submit_sets(builder, "w", "q", pod_set("x", 1), pod_set("y", 9))
        return builder.once()

    def admit(self, builder: ScenarioBuilder) -> None:
        builder.submit("urgent", 3, "q", priority=1)

    def evict(self, builder: ScenarioBuilder) -> None:
        builder.running("other", 3, "q", flavor="f1")
        builder.submit("too-large", 9, "q", priority=1)
        builder.submit("back", 2, "lender")

    @pytest.mark.parametrize("happens", ["admit", "evict"])
    def test_begins_anew(self, happens: str) -> None:
        by_turn, by_cycles = self.play(), self.play()
        for builder in (by_turn, by_cycles):
            getattr(self, happens)(builder)
        by_turn.turn()
        for _ in range(6):
            by_cycles.cycle()
        assert by_turn.pending_reason("w") == by_cycles.pending_reason("w")
        assert "pod set x: insufficient unused quota for cpu in flavor f1" in by_turn.pending_reason("w")[1]


def test_a_preemptor_selects_other_victims_when_the_queue_of_its_victim_is_stopped() -> None:
    """SCH-1052: the quota stays taken, but no workload of that queue is a victim any more."""
    builder = ScenarioBuilder()
    check(builder, "True")
    builder.queue("owner", 4, preemption={"reclaimWithinCohort": "Any"})
    builder.queue("checked", 0, admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
    builder.queue("other", 0)
    builder.running("left", 2, "other")
    builder.running("first", 2, "checked")
    builder.submit("back", 2, "owner")
    assert evictions(builder) == ["first"]
    check(builder, "False")
    assert evictions(builder) == ["left"]


def check(builder: ScenarioBuilder, active: str) -> None:
    """The check of that name is active, or no longer."""
    condition = {
        "type": "Active",
        "status": active,
        "reason": "x",
        "message": "",
        "lastTransitionTime": builder.now.isoformat(),
    }
    builder.put(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "AdmissionCheck",
            "metadata": {"name": "c"},
            "spec": {"controllerName": "example.com/c"},
            "status": {"conditions": [condition]},
        }
    )


def test_a_workload_that_began_to_wait_for_victims_competes_as_preemptor_in_the_same_run() -> None:
    """SCH-240, SCH-320: of two preemptors, the one that borrows nothing comes first, and the other finds them taken."""
    builder = ScenarioBuilder(configured(PrioritizePreemptorWorkloads=True))
    urgent = {"policy": "LowerPriority", "maxPriorityThreshold": 0}
    builder.queue("owner", 4, preemption={"reclaimWithinCohort": "Any"})
    builder.queue("borrower", preemption={"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": urgent})
    builder.queue("victims")
    builder.running("victim", 4, "victims")
    builder.submit("urgent", 2, "borrower", priority=1)
    assert builder.turn().waiting["urgent"].message.endswith("Pending the preemption of 1 workload(s)")
    builder.submit("back", 2, "owner")
    assert builder.turn().waiting["back"].message.endswith("Pending the preemption of 1 workload(s)")


class TestRetargetedLocalQueue:
    """SCH-261: quota released by its running workloads reactivates others there, too, and in the tree that it is in."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        """A workload runs in `old`, its LocalQueue points to `new`, and both trees have an inadmissible workload."""
        builder = ScenarioBuilder()
        for name in ("old", "new"):
            builder.queue(name, 4, cohort=None)
            builder.submit(f"parked-{name}", 9, name)
        builder.running("mover", 4, "moved", cluster_queue="old", count=1)
        self.lead(builder, "new")
        assert set(builder.turn().waiting) == {"parked-old", "parked-new"}
        return builder

    def lead(self, builder: ScenarioBuilder, queue: str) -> None:
        place = {"name": "moved", "namespace": "ns"}
        spec = {"clusterQueue": queue}
        builder.put({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": place, "spec": spec})

    def again(self, builder: ScenarioBuilder) -> set[str]:
        """The inadmissible workloads that are reactivated."""
        return {name for name in builder.turn().waiting if name.startswith("parked")}

    def test_returned_quota_reactivates_all(self, builder: ScenarioBuilder) -> None:
        mover = next(each for key, each in builder.workloads.items() if key.name == "mover")
        builder.show(msgspec.structs.replace(mover, status=WorkloadStatus()))
        assert self.again(builder) == {"parked-old", "parked-new"}

    def test_finished_pods_reactivate_all(self, builder: ScenarioBuilder) -> None:
        builder.reclaim({"workload": "ns/mover", "pods": {"main": 1}})
        assert self.again(builder) == {"parked-old", "parked-new"}

    def test_another_priority_reactivates_all(self, builder: ScenarioBuilder) -> None:
        mover = next(each for key, each in builder.workloads.items() if key.name == "mover")
        builder.show(msgspec.structs.replace(mover, spec=msgspec.structs.replace(mover.spec, priority=-1)))
        assert self.again(builder) == {"parked-old", "parked-new"}
