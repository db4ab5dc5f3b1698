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


def submit_sets(play: ScenarioBuilder, name: str, queue: str, *pod_sets: Json) -> None:
    """A workload of several pod sets."""
    play.submit(name, 1, queue)
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"queueName": queue, "podSets": list(pod_sets)},
    }
    play.put(manifest)


class TestEndlessSearches:
    """A flavor search that ends without a placement begins again; no run may wait for its end (SCH-237, SCH-550)."""

    def play(self) -> ScenarioBuilder:
        """A strict head whose pod sets take quota from each other, whichever flavor the first one tries."""
        play = ScenarioBuilder()
        play.flavor("f2", **TAINTED)
        self.give(play, f1=2, f2=2)
        submit_sets(play, "w", "q", pod_set("x", 2, **BEARS), pod_set("y", 2), pod_set("z", 2))
        return play.turn()

    def give(self, play: ScenarioBuilder, f1: int, f2: int) -> None:
        groups = [group({"f1": [quota(CPU, f1)], "f2": [quota(CPU, f2)]})]
        play.queue("q", groups=groups, queueingStrategy="StrictFIFO")

    def test_pod_sets_with_alternating_searches(self) -> None:
        assert self.play().reserved == []

    def test_a_search_that_continues_in_the_middle_begins_anew_in_the_same_run(self) -> None:
        play = self.play()
        self.give(play, f1=6, f2=0)
        assert play.turn().reserved == ["w"]


def test_an_eviction_that_could_not_be_written_is_issued_again() -> None:
    """SCH-654."""
    play = ScenarioBuilder()
    play.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    play.running("low", 4)
    play.submit("high", 4, priority=1)
    play.conflict("ns/low")
    assert play.turn().evicted == {"low": "InClusterQueue"}
    assert play.turn().evicted == {"low": "InClusterQueue"}
    assert play.turn().evicted == {}


class TestNextHead:
    """When a head leaves that blocked its StrictFIFO queue, the next one is evaluated (SCH-238)."""

    @pytest.fixture
    def play(self) -> ScenarioBuilder:
        play = ScenarioBuilder()
        play.queue("q", 4, queueingStrategy="StrictFIFO")
        play.submit("blocked", 8)
        play.submit("next", 2)
        assert play.turn().reserved == []
        return play

    def test_after_a_deletion(self, play: ScenarioBuilder) -> None:
        play.delete({"kind": "Workload", "namespace": "ns", "name": "blocked"})
        assert play.turn().reserved == ["next"]

    def test_after_a_deactivation(self, play: ScenarioBuilder) -> None:
        manifest = play.workload("blocked", 8, "q")
        manifest["spec"]["active"] = False
        manifest["metadata"]["uid"] = "0001-blocked"
        play.put(manifest)
        assert play.turn().reserved == ["next"]

    def test_after_it_ended_elsewhere(self, play: ScenarioBuilder) -> None:
        play.finish("ns/blocked")
        assert play.turn().reserved == ["next"]


@pytest.mark.parametrize("others", [0, 3])
def test_a_search_continues_independently_of_other_trees(others: int) -> None:
    """SCH-553: what was recorded in the last cycle of the queue counts, however many cycles ran elsewhere."""
    play = ScenarioBuilder()
    play.queue("a", groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]})])
    play.queue("b", groups=[group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 0)]})])
    for number in range(others):
        play.queue(f"elsewhere{number}", 1, cohort=None)
        play.submit(f"e{number}", 1, f"elsewhere{number}")
    play.submit("a1", 4, "a")
    play.submit("b1", 4, "b", priority=1)
    play.once()
    play.finish("ns/b1")
    play.queue("b", groups=[group({"f1": [quota(CPU, 5)], "f2": [quota(CPU, 0)]})])
    assert play.once().admitted["a1"] == {CPU: "f2"}


def test_a_preempted_victim_is_selected_again_before_its_eviction_is_observed() -> None:
    """SCH-620, SCH-653: a preemptor that is evaluated again issues nothing new, although others are cheaper by now."""
    play = ScenarioBuilder()
    play.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    play.running("older", 2)
    play.running("newer", 2)
    play.submit("preemptor", 2, priority=5)
    assert evictions(play) == ["newer"]
    cheaper = play.workload("older", 2, "q", priority=-1)
    cheaper["metadata"]["uid"] = "0001-older"
    play.put(cheaper)
    assert evictions(play) == []


def evictions(play: ScenarioBuilder) -> list[str]:
    """Workloads that a run evicts, without writing it down."""
    return [each.workload.name for each in play.engine.schedule(play.now) if isinstance(each, Evict)]


def test_what_victims_still_hold_may_be_given_away_in_the_same_cycle() -> None:
    """SCH-331: others are weighed as if the victims of the cycle were gone, and 9 of 7 are in use until they are."""
    play = ScenarioBuilder()
    play.queue("preemptor", 3, preemption={"reclaimWithinCohort": "Any"})
    play.queue("victim", 0)
    play.queue("x", 4)
    play.queue("y", 0)
    play.running("v", 5, "victim")
    play.submit("p", 3, "preemptor")
    play.submit("x1", 2, "x")
    play.submit("y1", 2, "y")
    assert play.once().evicted == {"v": "InCohortReclamation"}
    assert play.reserved == ["x1", "y1"]


class TestAScanThatIsTwoCyclesOld:
    """SCH-553, SCH-554: admissions and evictions of its queue outdate it, within a run as between single cycles."""

    def play(self) -> ScenarioBuilder:
        """The first pod set of w took f1 and would go on with f2; the second one will never find a place."""
        play = ScenarioBuilder()
        play.flavor("f2", **TAINTED)
        play.queue("q", groups=[group({"f1": [quota(CPU, 2)], "f2": [quota(CPU, 1)]})])
        play.queue("lender", groups=[group({"f1": [quota(CPU, 2)]})], preemption={"reclaimWithinCohort": "Any"})
        play.running("borrower", 1, "q", flavor="f1")
        submit_sets(play, "w", "q", pod_set("x", 1), pod_set("y", 9))
        return play.once()

    def admit(self, play: ScenarioBuilder) -> None:
        play.submit("urgent", 3, "q", priority=1)

    def evict(self, play: ScenarioBuilder) -> None:
        play.running("other", 3, "q", flavor="f1")
        play.submit("too-large", 9, "q", priority=1)
        play.submit("back", 2, "lender")

    @pytest.mark.parametrize("happens", ["admit", "evict"])
    def test_begins_anew(self, happens: str) -> None:
        by_turn, by_cycles = self.play(), self.play()
        for play in (by_turn, by_cycles):
            getattr(self, happens)(play)
        by_turn.turn()
        for _ in range(6):
            by_cycles.cycle()
        assert by_turn.pending_reason("w") == by_cycles.pending_reason("w")
        assert "pod set x: insufficient unused quota for cpu in flavor f1" in by_turn.pending_reason("w")[1]


def test_a_preemptor_selects_other_victims_when_the_queue_of_its_victim_is_stopped() -> None:
    """SCH-1052: the quota stays taken, but no workload of that queue is a victim any more."""
    play = ScenarioBuilder()
    check(play, "True")
    play.queue("owner", 4, preemption={"reclaimWithinCohort": "Any"})
    play.queue("checked", 0, admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
    play.queue("other", 0)
    play.running("left", 2, "other")
    play.running("first", 2, "checked")
    play.submit("back", 2, "owner")
    assert evictions(play) == ["first"]
    check(play, "False")
    assert evictions(play) == ["left"]


def check(play: ScenarioBuilder, active: str) -> None:
    """The check of that name is active, or no longer."""
    condition = {
        "type": "Active",
        "status": active,
        "reason": "x",
        "message": "",
        "lastTransitionTime": play.now.isoformat(),
    }
    play.put(
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
    play = ScenarioBuilder(configured(PrioritizePreemptorWorkloads=True))
    urgent = {"policy": "LowerPriority", "maxPriorityThreshold": 0}
    play.queue("owner", 4, preemption={"reclaimWithinCohort": "Any"})
    play.queue("borrower", preemption={"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": urgent})
    play.queue("victims")
    play.running("victim", 4, "victims")
    play.submit("urgent", 2, "borrower", priority=1)
    assert play.turn().waiting["urgent"].message.endswith("Pending the preemption of 1 workload(s)")
    play.submit("back", 2, "owner")
    assert play.turn().waiting["back"].message.endswith("Pending the preemption of 1 workload(s)")


class TestRetargetedLocalQueue:
    """SCH-261: quota released by its running workloads reactivates others there, too, and in the tree that it is in."""

    @pytest.fixture
    def play(self) -> ScenarioBuilder:
        """A workload runs in `old`, its LocalQueue points to `new`, and both trees have an inadmissible workload."""
        play = ScenarioBuilder()
        for name in ("old", "new"):
            play.queue(name, 4, cohort=None)
            play.submit(f"parked-{name}", 9, name)
        play.running("mover", 4, "moved", cluster_queue="old", count=1)
        self.lead(play, "new")
        assert set(play.turn().waiting) == {"parked-old", "parked-new"}
        return play

    def lead(self, play: ScenarioBuilder, queue: str) -> None:
        place = {"name": "moved", "namespace": "ns"}
        spec = {"clusterQueue": queue}
        play.put({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": place, "spec": spec})

    def again(self, play: ScenarioBuilder) -> set[str]:
        """The inadmissible workloads that are reactivated."""
        return {name for name in play.turn().waiting if name.startswith("parked")}

    def test_returned_quota_reactivates_all(self, play: ScenarioBuilder) -> None:
        mover = next(each for key, each in play.workloads.items() if key.name == "mover")
        play.show(msgspec.structs.replace(mover, status=WorkloadStatus()))
        assert self.again(play) == {"parked-old", "parked-new"}

    def test_finished_pods_reactivate_all(self, play: ScenarioBuilder) -> None:
        play.reclaim({"workload": "ns/mover", "pods": {"main": 1}})
        assert self.again(play) == {"parked-old", "parked-new"}

    def test_another_priority_reactivates_all(self, play: ScenarioBuilder) -> None:
        mover = next(each for key, each in play.workloads.items() if key.name == "mover")
        play.show(msgspec.structs.replace(mover, spec=msgspec.structs.replace(mover.spec, priority=-1)))
        assert self.again(play) == {"parked-old", "parked-new"}
