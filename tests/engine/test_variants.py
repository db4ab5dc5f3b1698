"""Variants of one workload compete for different flavors (SCH-330, SCH-1110 to SCH-1113)."""

from typing import Any

import pytest

from engine.scenario_builders import CPU, ScenarioBuilder, configured, group, quota
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Migrate, RequeueReason, Reserve
from kohort.engine.lifecycle.conditions import is_admitted, is_evicted
from kohort.engine.lifecycle.deactivation import evict_inactive
from kohort.engine.lifecycle.eviction import release
from kohort.engine.lifecycle.preemption_gates import CONCURRENT_ADMISSION_GATE, gate_opened_at
from kohort.engine.lifecycle.reconcile_context import LocalQueueContext, ReconcileContext
from kohort.engine.lifecycle.requeueing import requeue_when_allowed
from kohort.engine.lifecycle.variants import MigrationRules, reconcile_variants

Json = Any


def play(last_acceptable: str = "", **spec: Json) -> ScenarioBuilder:
    play = ScenarioBuilder(configured(ConcurrentAdmission=True))
    constraints = {"constraints": {"lastAcceptableFlavorName": last_acceptable}} if last_acceptable else {}
    play.queue(
        "q",
        groups=[group({"best": [quota(CPU, 4)], "good": [quota(CPU, 4)], "poor": [quota(CPU, 4)]})],
        concurrentAdmissionPolicy={"migration": {"mode": "TryPreferredFlavors", **constraints}},
        **spec,
    )
    return play


def variant(play: ScenarioBuilder, flavor: str, size: int = 4, *, gated: bool = False) -> None:
    manifest = play.workload(f"w-{flavor}", size, "q")
    if gated:
        manifest["spec"]["preemptionGates"] = [{"name": "kueue.x-k8s.io/concurrent-admission"}]
    manifest["metadata"] |= {
        "annotations": {"kueue.x-k8s.io/workload-allowed-resource-flavors": flavor},
        "ownerReferences": [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "w", "uid": "parent"}],
    }
    play.put(manifest)


def test_a_variant_uses_only_its_flavor() -> None:
    """SCH-1111."""
    stage = play()
    variant(stage, "good")
    assert stage.turn().admitted["w-good"] == {CPU: "good"}


def test_a_parent_is_neither_queued_nor_counted() -> None:
    """SCH-204, SCH-1110."""
    stage = play()
    manifest = stage.workload("w", 4, "q")
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
    stage.put(manifest)
    assert stage.turn().decisions == []


def test_a_worse_variant_does_not_start_with_a_better_one() -> None:
    """SCH-330."""
    stage = play()
    variant(stage, "best")
    variant(stage, "poor")
    stage.turn()
    assert set(stage.admitted) == {"w-best"}
    assert stage.pending_reason("w-poor") == ("PendingEvaluation", "A more favorable variant is already admitted")


def test_a_better_variant_takes_over_from_a_worse_one() -> None:
    """SCH-1113."""
    stage = play()
    variant(stage, "poor")
    stage.turn()
    variant(stage, "best")
    stage.turn()
    assert [each for each in stage.decisions if isinstance(each, Migrate)] == [
        Migrate(ObjectKey("ns", "w-poor"), ObjectKey("ns", "w-best"))
    ]
    assert stage.waiting["w-best"].requeue is RequeueReason.PENDING_MIGRATION
    assert not any(isinstance(each, Migrate) for each in stage.turn().decisions), "one eviction is enough"
    stage.settle()
    stage.turn()
    assert set(stage.admitted) == {"w-best"}


class TestWhileChecksDecide:
    """SCH-330, SCH-1113: only an admitted variant blocks its siblings"""

    @pytest.fixture
    def stage(self) -> ScenarioBuilder:
        stage = play(admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
        active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
        stage.put(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "AdmissionCheck",
                "metadata": {"name": "c"},
                "spec": {"controllerName": "x/y"},
                "status": {"conditions": [{**active, "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            }
        )
        return stage

    @pytest.mark.parametrize("first", ["best", "poor"])
    def test_variants_race(self, stage: ScenarioBuilder, first: str) -> None:
        variant(stage, first)
        stage.engine.schedule(stage.now)
        second = "poor" if first == "best" else "best"
        variant(stage, second)
        decisions = stage.engine.schedule(stage.now)
        assert [(type(each), each.workload.name) for each in decisions] == [(Reserve, f"w-{second}")]

    def test_a_variant_that_passes_ends_the_race(self, stage: ScenarioBuilder) -> None:
        variant(stage, "best")
        stage.turn()
        assert is_admitted(stage.workloads[ObjectKey("ns", "w-best")]), "the checks of a stage are passed at once"
        variant(stage, "poor")
        assert stage.turn().waiting["w-poor"].message == "A more favorable variant is already admitted"


def test_it_does_not_for_a_flavor_below_the_last_acceptable_one() -> None:
    """SCH-1113."""
    stage = play(last_acceptable="best")
    variant(stage, "poor")
    stage.turn()
    variant(stage, "good")
    stage.turn()
    assert set(stage.admitted) == {"w-poor"}
    assert stage.pending_reason("w-good")[1] == "Target flavor is below LastAcceptableFlavorName"


class Family:
    """A parent and its variants as controllers keep them, round the engine."""

    RULES = MigrationRules(("best", "good", "poor"))
    PARENT = ObjectKey("ns", "w")

    def __init__(self, stage: ScenarioBuilder, size: int = 4) -> None:
        self.stage = stage
        manifest = stage.workload("w", size, "q")
        manifest["metadata"] |= {"uid": "parent", "labels": {"kueue.x-k8s.io/concurrent-admission-parent": "true"}}
        stage.put(manifest)
        for flavor in self.RULES.flavors:
            variant(stage, flavor, size, gated=True)

    def settle(self) -> None:
        """What the controllers do once they see the last decisions, the job's stop excluded."""
        stage = self.stage
        around = ReconcileContext(local_queue=LocalQueueContext("q"), gates=stage.settings.gates)
        keys = [key for key in stage.workloads if key.name.startswith("w-")]
        for key in keys:
            turned_off = evict_inactive(stage.workloads[key], stage.now).workload
            stage.show(requeue_when_allowed(turned_off, around, stage.now))
        variants = [stage.workloads[key] for key in keys]
        gates = stage.settings.gates
        outcome = reconcile_variants(stage.workloads[self.PARENT], variants, self.RULES, gates, stage.now)
        for write in outcome.writes:
            stage.show(write.workload)

    def run(self) -> None:
        """Decide and act until nothing moves."""
        for _ in range(8):
            before = dict(self.stage.workloads)
            self.stage.turn()
            self.settle()
            if self.stage.workloads == before:
                return
        raise AssertionError("the family does not come to rest")

    def stop_job(self) -> None:
        """The job has no active pods any more: the parent releases its quota, and only it."""
        parent = self.stage.workloads[self.PARENT]
        self.stage.show(release(parent, self.stage.settings.gates, self.stage.now))

    @property
    def runs_in(self) -> str:
        """The flavor that the job may use; empty while it may not run."""
        parent = self.stage.workloads[self.PARENT]
        if not is_admitted(parent) or is_evicted(parent) or parent.status.admission is None:
            return ""
        return parent.status.admission.pod_set_assignments[0].flavors[CPU]

    @property
    def active(self) -> set[str]:
        return {key.name for key, each in self.stage.workloads.items() if key.name[:2] == "w-" and each.spec.active}


class TestFamily:
    """The engine decides, the controllers carry it on (SCH-1112 to SCH-1115)."""

    def test_the_best_flavor_wins_and_the_others_rest(self) -> None:
        """SCH-1112"""
        family = Family(play())
        family.run()
        assert (family.runs_in, family.active) == ("best", {"w-best"})

    def test_a_job_moves_up_when_a_better_flavor_gets_free(self) -> None:
        """SCH-1113, SCH-1114"""
        stage = play()
        stage.running("other", 4, flavor="best")
        family = Family(stage)
        family.run()
        assert (family.runs_in, family.active) == ("good", {"w-best", "w-good"})
        stage.finish("ns/other")
        family.run()
        assert family.runs_in == "", "the job has to stop first"
        assert "w-best" not in stage.admitted
        family.stop_job()
        family.run()
        assert (family.runs_in, family.active) == ("best", {"w-best"})

    def test_a_better_flavor_that_is_lost_leaves_the_old_one(self) -> None:
        """SCH-1003, SCH-1113, SCH-1114: an evicted variant returns when its eviction was for nothing"""
        stage = play()
        stage.running("other", 4, flavor="best")
        family = Family(stage)
        family.run()
        stage.finish("ns/other")
        family.run()
        stage.running("thief", 4, flavor="best")
        family.stop_job()
        family.run()
        assert (family.runs_in, family.active) == ("good", {"w-best", "w-good"})

    def test_one_variant_after_the_other_may_preempt(self) -> None:
        """SCH-335, SCH-1115"""
        stage = play(preemption={"withinClusterQueue": "LowerPriority"})
        for flavor in ("best", "good", "poor"):
            stage.running(f"in-{flavor}", 4, flavor=flavor, priority=-1)
        family = Family(stage)
        family.run()
        assert [key.name for key, each in stage.workloads.items() if is_evicted(each)] == ["in-best"]
        assert self.ungated(stage) == {"w-best"}
        stage.wait(299)
        family.run()
        assert self.ungated(stage) == {"w-best"}, "five minutes are not over"
        stage.wait(1)
        family.run()
        assert self.ungated(stage) == {"w-best", "w-good"}
        stage.settle()
        family.run()
        assert (family.runs_in, family.active) == ("best", {"w-best"})

    def ungated(self, stage: ScenarioBuilder) -> set[str]:
        """Variants that may preempt."""
        return {key.name for key, each in stage.workloads.items() if gate_opened_at(each, CONCURRENT_ADMISSION_GATE)}
