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


def new_builder(last_acceptable: str = "", **spec: Json) -> ScenarioBuilder:
    new_builder = ScenarioBuilder(configured(ConcurrentAdmission=True))
    constraints = {"constraints": {"lastAcceptableFlavorName": last_acceptable}} if last_acceptable else {}
    new_builder.queue(
        "q",
        groups=[group({"best": [quota(CPU, 4)], "good": [quota(CPU, 4)], "poor": [quota(CPU, 4)]})],
        concurrentAdmissionPolicy={"migration": {"mode": "TryPreferredFlavors", **constraints}},
        **spec,
    )
    return new_builder


def variant(new_builder: ScenarioBuilder, flavor: str, size: int = 4, *, gated: bool = False) -> None:
    manifest = new_builder.workload(f"w-{flavor}", size, "q")
    if gated:
        manifest["spec"]["preemptionGates"] = [{"name": "kueue.x-k8s.io/concurrent-admission"}]
    manifest["metadata"] |= {
        "annotations": {"kueue.x-k8s.io/workload-allowed-resource-flavors": flavor},
        "ownerReferences": [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "w", "uid": "parent"}],
    }
    new_builder.put(manifest)


def test_a_variant_uses_only_its_flavor() -> None:
    """SCH-1111."""
    builder = new_builder()
    variant(builder, "good")
    assert builder.turn().admitted["w-good"] == {CPU: "good"}


def test_a_parent_is_neither_queued_nor_counted() -> None:
    """SCH-204, SCH-1110."""
    builder = new_builder()
    manifest = builder.workload("w", 4, "q")
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
    builder.put(manifest)
    assert builder.turn().decisions == []


def test_a_worse_variant_does_not_start_with_a_better_one() -> None:
    """SCH-330."""
    builder = new_builder()
    variant(builder, "best")
    variant(builder, "poor")
    builder.turn()
    assert set(builder.admitted) == {"w-best"}
    assert builder.pending_reason("w-poor") == ("PendingEvaluation", "A more favorable variant is already admitted")


def test_a_better_variant_takes_over_from_a_worse_one() -> None:
    """SCH-1113."""
    builder = new_builder()
    variant(builder, "poor")
    builder.turn()
    variant(builder, "best")
    builder.turn()
    assert [each for each in builder.decisions if isinstance(each, Migrate)] == [
        Migrate(ObjectKey("ns", "w-poor"), ObjectKey("ns", "w-best"))
    ]
    assert builder.waiting["w-best"].requeue is RequeueReason.PENDING_MIGRATION
    assert not any(isinstance(each, Migrate) for each in builder.turn().decisions), "one eviction is enough"
    builder.settle()
    builder.turn()
    assert set(builder.admitted) == {"w-best"}


class TestWhileChecksDecide:
    """SCH-330, SCH-1113: only an admitted variant blocks its siblings"""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        builder = new_builder(admissionChecksStrategy={"admissionChecks": [{"name": "c"}]})
        active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
        builder.put(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "AdmissionCheck",
                "metadata": {"name": "c"},
                "spec": {"controllerName": "x/y"},
                "status": {"conditions": [{**active, "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            }
        )
        return builder

    @pytest.mark.parametrize("first", ["best", "poor"])
    def test_variants_race(self, builder: ScenarioBuilder, first: str) -> None:
        variant(builder, first)
        builder.engine.schedule(builder.now)
        second = "poor" if first == "best" else "best"
        variant(builder, second)
        decisions = builder.engine.schedule(builder.now)
        assert [(type(each), each.workload.name) for each in decisions] == [(Reserve, f"w-{second}")]

    def test_a_variant_that_passes_ends_the_race(self, builder: ScenarioBuilder) -> None:
        variant(builder, "best")
        builder.turn()
        assert is_admitted(builder.workloads[ObjectKey("ns", "w-best")]), "the checks of a stage are passed at once"
        variant(builder, "poor")
        assert builder.turn().waiting["w-poor"].message == "A more favorable variant is already admitted"


def test_it_does_not_for_a_flavor_below_the_last_acceptable_one() -> None:
    """SCH-1113."""
    builder = new_builder(last_acceptable="best")
    variant(builder, "poor")
    builder.turn()
    variant(builder, "good")
    builder.turn()
    assert set(builder.admitted) == {"w-poor"}
    assert builder.pending_reason("w-good")[1] == "Target flavor is below LastAcceptableFlavorName"


class Family:
    """A parent and its variants as controllers keep them, round the engine."""

    RULES = MigrationRules(("best", "good", "poor"))
    PARENT = ObjectKey("ns", "w")

    def __init__(self, builder: ScenarioBuilder, size: int = 4) -> None:
        self.stage = builder
        manifest = builder.workload("w", size, "q")
        manifest["metadata"] |= {"uid": "parent", "labels": {"kueue.x-k8s.io/concurrent-admission-parent": "true"}}
        builder.put(manifest)
        for flavor in self.RULES.flavors:
            variant(builder, flavor, size, gated=True)

    def settle(self) -> None:
        """What the controllers do once they see the last decisions, the job's stop excluded."""
        builder = self.stage
        around = ReconcileContext(local_queue=LocalQueueContext("q"), gates=builder.settings.gates)
        keys = [key for key in builder.workloads if key.name.startswith("w-")]
        for key in keys:
            turned_off = evict_inactive(builder.workloads[key], builder.now).workload
            builder.show(requeue_when_allowed(turned_off, around, builder.now))
        variants = [builder.workloads[key] for key in keys]
        gates = builder.settings.gates
        outcome = reconcile_variants(builder.workloads[self.PARENT], variants, self.RULES, gates, builder.now)
        for write in outcome.writes:
            builder.show(write.workload)

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
        family = Family(new_builder())
        family.run()
        assert (family.runs_in, family.active) == ("best", {"w-best"})

    def test_a_job_moves_up_when_a_better_flavor_gets_free(self) -> None:
        """SCH-1113, SCH-1114"""
        builder = new_builder()
        builder.running("other", 4, flavor="best")
        family = Family(builder)
        family.run()
        assert (family.runs_in, family.active) == ("good", {"w-best", "w-good"})
        builder.finish("ns/other")
        family.run()
        assert family.runs_in == "", "the job has to stop first"
        assert "w-best" not in builder.admitted
        family.stop_job()
        family.run()
        assert (family.runs_in, family.active) == ("best", {"w-best"})

    def test_a_better_flavor_that_is_lost_leaves_the_old_one(self) -> None:
        """SCH-1003, SCH-1113, SCH-1114: an evicted variant returns when its eviction was for nothing"""
        builder = new_builder()
        builder.running("other", 4, flavor="best")
        family = Family(builder)
        family.run()
        builder.finish("ns/other")
        family.run()
        builder.running("thief", 4, flavor="best")
        family.stop_job()
        family.run()
        assert (family.runs_in, family.active) == ("good", {"w-best", "w-good"})

    def test_one_variant_after_the_other_may_preempt(self) -> None:
        """SCH-335, SCH-1115"""
        builder = new_builder(preemption={"withinClusterQueue": "LowerPriority"})
        for flavor in ("best", "good", "poor"):
            builder.running(f"in-{flavor}", 4, flavor=flavor, priority=-1)
        family = Family(builder)
        family.run()
        assert [key.name for key, each in builder.workloads.items() if is_evicted(each)] == ["in-best"]
        assert self.ungated(builder) == {"w-best"}
        builder.wait(299)
        family.run()
        assert self.ungated(builder) == {"w-best"}, "five minutes are not over"
        builder.wait(1)
        family.run()
        assert self.ungated(builder) == {"w-best", "w-good"}
        builder.settle()
        family.run()
        assert (family.runs_in, family.active) == ("best", {"w-best"})

    def ungated(self, builder: ScenarioBuilder) -> set[str]:
        """Variants that may preempt."""
        return {key.name for key, each in builder.workloads.items() if gate_opened_at(each, CONCURRENT_ADMISSION_GATE)}
