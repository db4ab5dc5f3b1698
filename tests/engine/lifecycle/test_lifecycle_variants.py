"""A parent and its variants: which compete, which preempt, and what the job gets (SCH-1112, SCH-1114, SCH-1115)."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lifecycle.queues import queue
from engine.lifecycle.sample_workloads import (
    annotated,
    at,
    condition_text,
    having,
    judged,
    reserved,
    with_spec,
    with_status,
    workload,
)
from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.queues import (
    ConcurrentAdmissionMigration,
    ConcurrentAdmissionPolicy,
    MigrationConstraints,
)
from kohort.api.kueue.v1beta2.workload import PreemptionGate, RequeueState
from kohort.api.meta import OwnerReference
from kohort.engine.lifecycle.admission import NotAdmitted, refuse
from kohort.engine.lifecycle.conditions import is_admitted, is_evicted, is_reserved
from kohort.engine.lifecycle.deactivation import evict_inactive
from kohort.engine.lifecycle.eviction import EvictionCause, evict, release
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.pending_reason import PENDING_MESSAGE
from kohort.engine.lifecycle.pods_ready import report_readiness
from kohort.engine.lifecycle.preemption_gates import (
    CONCURRENT_ADMISSION_GATE,
    block_on_gates,
    gate_opened_at,
    open_gate,
)
from kohort.engine.lifecycle.variants import MigrationRules, VariantsResult, migration_rules, reconcile_variants
from kohort.engine.lifecycle.writes import WriteTarget

GATES = having(Gate.ConcurrentAdmission)
NOW = at(100)
FLAVORS = ("best", "good", "poor")
ANY = MigrationRules(FLAVORS)
FIRST = MigrationRules(FLAVORS, retains_first=True)
DOWN_TO_GOOD = MigrationRules(FLAVORS, last_acceptable="good")
OWNER = OwnerReference(api_version="kueue.x-k8s.io/v1beta2", kind="Workload", name="w", uid="w-uid", controller=True)

PARENT = annotated(workload(), labels={"kueue.x-k8s.io/concurrent-admission-parent": "true"})


def variant(flavor: str) -> Workload:
    wl = workload(OWNER, preemption_gates=(PreemptionGate(name=CONCURRENT_ADMISSION_GATE),))
    annotations = {"kueue.x-k8s.io/workload-allowed-resource-flavors": flavor}
    return annotated(wl, name=f"w-{flavor}", uid=f"uid-{flavor}", annotations=annotations)


def running(flavor: str) -> Workload:
    return reserved(variant(flavor), flavor=flavor)


def off(wl: Workload) -> Workload:
    return with_spec(wl, active=False)


def evicted(wl: Workload, reason: str = "Preempted") -> Workload:
    return evict(wl, EvictionCause(reason, "make way"), at(50)).workload


def refused(wl: Workload, reason: str = "WaitingForQuota", message: str = "no quota") -> Workload:
    return refuse(wl, NotAdmitted(reason, message), GATES, at(50)).workload


def blocked(flavor: str) -> Workload:
    """A variant that would preempt if it might."""
    return block_on_gates(refused(variant(flavor), "AdmissionGated"), at(50))


def opened(wl: Workload, second: float) -> Workload:
    return open_gate(wl, CONCURRENT_ADMISSION_GATE, at(second))


def settled(
    *variants: Workload, parent: Workload = PARENT, rules: MigrationRules = ANY, now: datetime = NOW
) -> VariantsResult:
    """The family after settling, which must then rest."""
    outcome = reconcile_variants(parent, variants, rules, GATES, now)
    again = reconcile_variants(outcome.parent, outcome.variants, rules, GATES, now)
    assert again.writes == (), "settling again changes nothing"
    return outcome


def events_of(outcome: VariantsResult) -> list[tuple[str, str, str]]:
    """Name, reason and note of all events."""
    return [
        (write.workload.metadata.name, event.reason, event.note) for write in outcome.writes for event in write.events
    ]


def active(outcome: VariantsResult) -> list[str]:
    """Flavors that compete."""
    return [each.metadata.name[2:] for each in outcome.variants if each.spec.active]


def running_parent(flavor: str) -> Workload:
    return settled(running(flavor)).parent


class TestAdmission:
    """SCH-1112"""

    def test_the_parent_gets_what_a_variant_got(self) -> None:
        outcome = settled(variant("best"), running("good"))
        assert outcome.parent.status.admission == running("good").status.admission
        assert condition_text(outcome.parent, "QuotaReserved") == (
            "True",
            "QuotaReserved",
            "Quota reserved in ClusterQueue q",
        )
        assert condition_text(outcome.parent, "Admitted") == ("True", "Admitted", "The variant w-good is admitted")

    def test_it_is_one_write_of_the_status(self) -> None:
        (write,) = settled(variant("best"), running("good")).writes
        assert (write.part, write.workload.metadata.name) == (WriteTarget.STATUS, "w")

    def test_a_reservation_alone_is_not_enough(self) -> None:
        held = reserved(variant("best"), flavor="best", checks=("c",))
        assert settled(held, variant("good")).writes == ()

    def test_a_parent_that_was_turned_off_gets_nothing(self) -> None:
        assert judged(settled(running("best"), parent=off(PARENT)).parent, "Admitted") is None

    def test_a_new_placement_of_the_variant_is_copied_to_the_parent(self) -> None:
        moved = running("best")
        assert moved.status.admission is not None
        (part,) = moved.status.admission.pod_set_assignments
        placed = type(part)(**{**{name: getattr(part, name) for name in part.__struct_fields__}, "count": 2})
        admission = type(moved.status.admission)(cluster_queue="q", pod_set_assignments=(placed,))
        outcome = settled(with_status(moved, admission=admission), parent=running_parent("best"))
        assert outcome.parent.status.admission == admission

    def test_a_parent_without_any_admitted_variant_is_evicted(self) -> None:
        outcome = settled(variant("best"), parent=running_parent("best"))
        assert condition_text(outcome.parent, "Evicted") == ("True", "ConcurrentAdmission", "No variant is running")

    def test_a_job_that_runs_stays_where_it_is_when_a_better_variant_is_admitted_too(self) -> None:
        """SCH-1114: the worse variant is turned off, and by its eviction the job moves"""
        outcome = settled(running("best"), running("poor"), parent=running_parent("poor"))
        assert outcome.parent == running_parent("poor")
        assert active(outcome) == ["best"]
        gone = evict_inactive(outcome.variants[1], at(110)).workload
        moving = settled(outcome.variants[0], gone, parent=outcome.parent)
        assert judged(moving.parent, "Evicted") == ("True", "VariantEvicted")
        after = settled(*moving.variants, parent=release(moving.parent, GATES, at(120)))
        assert after.parent.status.admission == running("best").status.admission

    def test_a_parent_whose_own_variant_is_gone_stops_though_another_is_admitted(self) -> None:
        outcome = settled(running("best"), parent=running_parent("poor"))
        assert condition_text(outcome.parent, "Evicted") == ("True", "ConcurrentAdmission", "No variant is running")

    def test_pods_ready_is_written_for_the_running_variant(self) -> None:
        """SCH-1035: holders of quota must be ready before others are admitted"""
        parent = report_readiness(running_parent("good"), ready=True, now=at(90))
        best, good = settled(variant("best"), running("good"), parent=parent).variants
        assert judged(best, "PodsReady") is None
        assert judged(good, "PodsReady") == ("True", "Started")

    def test_all_end_with_the_parent(self) -> None:
        done = finish(running_parent("good"), "Succeeded", "Job finished", at(90))
        outcome = settled(off(variant("best")), running("good"), parent=done)
        assert [condition_text(each, "Finished") for each in outcome.variants] == [
            ("True", "Succeeded", "Job finished")
        ] * 2
        assert active(outcome) == ["good"], "what has ended is not woken"


class TestCompeting:
    """SCH-1112, SCH-1114"""

    @pytest.mark.parametrize(
        ("rules", "admitted", "compete"),
        [
            (ANY, "best", ["best"]),
            (ANY, "good", ["best", "good"]),
            (ANY, "poor", ["best", "good", "poor"]),
            (FIRST, "best", ["best"]),
            (FIRST, "poor", ["poor"]),
            (DOWN_TO_GOOD, "good", ["best", "good"]),
            (DOWN_TO_GOOD, "poor", ["best", "good", "poor"]),
            (MigrationRules(FLAVORS, last_acceptable="best"), "poor", ["best", "poor"]),
        ],
    )
    @pytest.mark.parametrize("before", [off, lambda wl: wl], ids=["from off", "from on"])
    def test_only_what_may_be_better_competes_with_what_runs(
        self, rules: MigrationRules, admitted: str, compete: list[str], before: Any
    ) -> None:
        others = [before(variant(flavor)) for flavor in FLAVORS if flavor != admitted]
        assert active(settled(running(admitted), *others, rules=rules)) == compete

    def test_while_none_is_admitted_all_compete(self) -> None:
        outcome = settled(*(off(variant(flavor)) for flavor in FLAVORS), rules=FIRST)
        assert active(outcome) == list(FLAVORS)
        assert events_of(outcome)[0] == (
            "w-best",
            "ActivatedVariant",
            "Variant Workload activated due to no other Variant being admitted",
        )
        assert {write.part for write in outcome.writes} == {WriteTarget.OBJECT}
        assert [each.metadata.generation for each in outcome.variants] == [3, 3, 3]

    def test_none_competes_for_a_parent_that_was_turned_off(self) -> None:
        outcome = settled(variant("best"), off(variant("good")), parent=off(PARENT))
        assert active(outcome) == []
        note = 'Variant Workload deactivated due to Parent Workload "ns/w" not active'
        assert events_of(outcome) == [("w-best", "DeactivatedVariant", note)]

    @pytest.mark.parametrize(
        ("rules", "others", "note"),
        [
            (ANY, variant("poor"), 'deactivated due to being lower priority than admitted Variant "ns/w-good"'),
            (
                FIRST,
                variant("best"),
                'deactivated due to RetainFirstAdmission: another Variant "ns/w-good" is admitted',
            ),
            (
                DOWN_TO_GOOD,
                variant("poor"),
                'deactivated due to being below lastAcceptableFlavor: "good" and another Variant admitted "ns/w-good"',
            ),
            (ANY, off(variant("best")), 'activated due to being higher priority than admitted Variant "ns/w-good"'),
            (
                DOWN_TO_GOOD,
                off(variant("best")),
                'activated due to being at least lastAcceptableFlavor: "good" and higher priority than admitted'
                ' Variant "ns/w-good"',
            ),
        ],
    )
    def test_each_change_has_its_reason(self, rules: MigrationRules, others: Workload, note: str) -> None:
        outcome = settled(running("good"), others, parent=running_parent("good"), rules=rules)
        assert [each[2] for each in events_of(outcome)] == [f"Variant Workload {note}"]


class TestEviction:
    """SCH-1114"""

    def test_the_parent_is_evicted_with_its_running_variant(self) -> None:
        outcome = settled(off(variant("poor")), evicted(running("good")), parent=running_parent("good"))
        assert condition_text(outcome.parent, "Evicted") == ("True", "VariantEvicted", "Admitted variant was evicted")
        assert is_reserved(outcome.variants[0]), "its quota is in use until the job has stopped"
        assert active(outcome) == ["good"], "the others wait for that too"

    def test_when_the_parent_is_released_the_variant_is_too_and_all_compete_again(self) -> None:
        stopped = release(evicted(running_parent("good"), "VariantEvicted"), GATES, at(90))
        outcome = settled(off(variant("poor")), evicted(running("good")), parent=stopped)
        good = outcome.variants[0]
        assert not is_reserved(good)
        assert judged(good, "Requeued") == ("True", "Preempted")
        assert active(outcome) == ["good", "poor"]
        assert not is_admitted(outcome.parent)

    def test_a_variant_evicted_for_a_better_one_may_return_if_that_fails(self) -> None:
        """SCH-1113"""
        stopped = release(evicted(running_parent("poor"), "VariantEvicted"), GATES, at(90))
        outcome = settled(variant("best"), evicted(running("poor"), "FlavorMigration"), parent=stopped)
        assert judged(outcome.variants[1], "Requeued") == ("True", "FlavorMigration")

    @pytest.mark.parametrize("flavor", ["best", "poor"])
    def test_a_variant_that_does_not_run_is_evicted_alone(self, flavor: str) -> None:
        other = evict_inactive(off(reserved(variant(flavor), flavor=flavor, checks=("c",))), at(50)).workload
        outcome = settled(running("good"), other, parent=running_parent("good"), rules=FIRST)
        assert not is_evicted(outcome.parent)
        assert [each.metadata.name for each in outcome.variants if is_reserved(each)] == ["w-good"]

    def test_the_variant_is_evicted_with_its_parent(self) -> None:
        """A parent must not be admitted again at once by quota that it was just evicted from."""
        late = with_status(
            evicted(running_parent("good"), "PodsReadyTimeout"), requeue_state=RequeueState(count=1, requeue_at=at(160))
        )
        outcome = settled(variant("best"), running("good"), parent=late)
        assert [return_at.status.requeue_state for return_at in outcome.variants] == [
            RequeueState(requeue_at=at(160)),
            RequeueState(requeue_at=at(160)),
        ], "no other flavor takes it in before"
        assert condition_text(outcome.variants[1], "Evicted") == ("True", "PodsReadyTimeout", "make way")
        stopped = release(outcome.parent, GATES, NOW)
        after = settled(*outcome.variants, parent=stopped)
        assert not is_reserved(after.variants[1])
        assert not is_admitted(after.parent)


class TestPreempting:
    """SCH-1115"""

    def ungated(self, outcome: VariantsResult) -> list[str]:
        return [
            each.metadata.name[2:]
            for each in outcome.variants
            if gate_opened_at(each, CONCURRENT_ADMISSION_GATE) is not None
        ]

    def test_the_best_variant_that_only_its_gate_holds_back_may_preempt(self) -> None:
        outcome = settled(refused(variant("best")), blocked("good"), blocked("poor"))
        assert self.ungated(outcome) == ["good"]
        note = 'Opened preemption gate for variant workload "ns/w-good"'
        assert events_of(outcome) == [("w-good", "PreemptionUngatedVariant", note)]
        assert outcome.wake_at == at(400)

    @pytest.mark.parametrize(
        "better",
        [variant("best"), refused(variant("best"), "PendingEvaluation", PENDING_MESSAGE)],
        ids=["no condition", "pending"],
    )
    def test_no_variant_may_while_a_better_one_was_not_evaluated(self, better: Workload) -> None:
        outcome = settled(better, blocked("good"))
        assert self.ungated(outcome) == []
        assert outcome.wake_at is None

    def test_the_next_one_may_after_five_minutes(self) -> None:
        first = opened(blocked("best"), 10)
        early = settled(first, blocked("good"), now=at(309))
        assert (self.ungated(early), early.wake_at) == (["best"], at(310))
        late = settled(first, blocked("good"), blocked("poor"), now=at(310))
        assert (self.ungated(late), late.wake_at) == (["best", "good"], at(610))

    def test_variants_that_are_not_pending_do_not_count(self) -> None:
        """An admitted variant's gate, or one that is off, neither counts nor opens."""
        outcome = settled(off(blocked("best")), opened(running("good"), 90), parent=running_parent("good"), rules=FIRST)
        assert self.ungated(outcome) == ["good"]
        assert outcome.wake_at is None

    def test_without_anybody_blocked_nothing_opens(self) -> None:
        assert settled(refused(variant("best")), refused(variant("good"))).writes == ()


class TestRules:
    def test_a_queue_without_a_policy_moves_freely(self) -> None:
        assert migration_rules(queue("a", "b")) == MigrationRules(("a", "b"))

    @pytest.mark.parametrize(
        ("mode", "worst", "expected"),
        [
            ("RetainFirstAdmission", None, MigrationRules(("a", "b"), retains_first=True)),
            ("TryPreferredFlavors", "a", MigrationRules(("a", "b"), last_acceptable="a")),
        ],
    )
    def test_a_policy_is_read(self, mode: Any, worst: str | None, expected: MigrationRules) -> None:
        constraints = MigrationConstraints(last_acceptable_flavor_name=worst) if worst else None
        migration = ConcurrentAdmissionMigration(mode=mode, constraints=constraints)
        policy = ConcurrentAdmissionPolicy(migration=migration)
        assert migration_rules(queue("a", "b", concurrent_admission_policy=policy)) == expected


def states(flavor: str) -> st.SearchStrategy[Workload]:
    wl = variant(flavor)
    alive = [wl, refused(wl), blocked(flavor), opened(blocked(flavor), 50), running(flavor), evicted(running(flavor))]
    return st.sampled_from([*alive, *map(off, alive)])


PARENTS = [PARENT, off(PARENT), *(running_parent(flavor) for flavor in FLAVORS)]


@given(
    st.sampled_from([*PARENTS, *(evicted(each) for each in PARENTS if is_admitted(each))]),
    st.tuples(*(states(flavor) for flavor in FLAVORS)),
    st.sampled_from([ANY, FIRST, DOWN_TO_GOOD]),
    st.integers(100, 400),
)
def test_from_wherever_a_family_comes_it_settles_at_once_and_safely(
    parent: Workload, variants: tuple[Workload, ...], rules: MigrationRules, second: int
) -> None:
    """SCH-1112, SCH-1114, SCH-1115"""
    before = reconcile_variants(parent, variants, rules, GATES, at(second))
    outcome = settled(*variants, parent=parent, rules=rules, now=at(second))
    assert before == outcome
    opened_now = [
        each
        for each in outcome.variants
        if gate_opened_at(each, CONCURRENT_ADMISSION_GATE) == at(second) and second > 100
    ]
    assert len(opened_now) <= 1
    if is_admitted(outcome.parent) and not is_evicted(outcome.parent):
        assert outcome.parent.status.admission in [each.status.admission for each in outcome.variants]
