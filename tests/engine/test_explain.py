"""Explaining workloads: state, what is missing where, whether preemption helps, and that it changes nothing."""

from collections import Counter, deque
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.scenario import ScenarioRunner
from engine.scenario_builders import CPU, FAIR_SHARING, ScenarioBuilder, configured, group, quota
from engine.scenario_strategies import scenarios
from kohort.api.kueue import v1beta2
from kohort.api.kueue.v1beta2.workload import PodSet
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import FitMode
from kohort.engine.decisions import KeepPending, Reserve
from kohort.engine.engine import Engine
from kohort.engine.events import ObjectUpserted
from kohort.engine.explain import Explanation, HeldQuota, PreemptionOutlook, WorkloadPhase, explanation_lines, remedies
from kohort.engine.explain.remedies import (
    AwaitBackoff,
    AwaitChange,
    AwaitOtherHeads,
    AwaitPreemption,
    AwaitTurn,
    AwaitVictims,
    MoreQuota,
    lenders,
)
from kohort.engine.quota import FlavorResource

Json = Any
LOWER: Json = {"preemption": {"withinClusterQueue": "LowerPriority"}}
RECLAIM: Json = {"preemption": {"reclaimWithinCohort": "Any"}}


def ask(play: ScenarioBuilder, name: str) -> Explanation:
    return play.engine.explain(ObjectKey("ns", name), play.now)


def help_for(play: ScenarioBuilder, name: str) -> PreemptionOutlook:
    evaluation = ask(play, name).evaluation
    assert evaluation is not None
    return evaluation.preemption.help


def first_line(play: ScenarioBuilder, name: str) -> str:
    return explanation_lines(ask(play, name))[0]


def one_queue(nominal: int = 10, **spec: Json) -> ScenarioBuilder:
    play = ScenarioBuilder()
    play.queue("q", nominal, cohort=None, **spec)
    return play


class TestStates:
    """SCH-201, SCH-363: where a workload is, and the reason and message of its condition."""

    def test_unknown(self) -> None:
        explanation = ask(ScenarioBuilder(), "missing")
        assert (explanation.state, explanation_lines(explanation)) == (
            WorkloadPhase.UNKNOWN,
            ["ns/missing does not exist."],
        )

    def test_admitted(self) -> None:
        play = one_queue()
        play.submit("w", 4)
        explanation = ask(play.turn(), "w")
        assert (explanation.state, explanation.cluster_queue) == (WorkloadPhase.ADMITTED, "q")
        assert explanation.holds == (HeldQuota(FlavorResource("f", CPU), 4000),)
        assert (explanation.reason, explanation.message) == ("", "")
        assert explanation_lines(explanation) == ["ns/w is admitted to queue q with 4 cpu of f."]

    def test_reserved_before_the_admission_is_written(self) -> None:
        play = one_queue()
        play.submit("w", 4)
        play.engine.schedule(play.now)
        assert ask(play, "w").state is WorkloadPhase.RESERVED

    def test_evicted_and_not_yet_gone(self) -> None:
        play = one_queue(**LOWER)
        play.running("low", 10)
        play.submit("high", 10, priority=1)
        assert ask(play.turn(), "low").state is WorkloadPhase.LEAVING
        play.settle()
        assert ask(play, "low").state is WorkloadPhase.QUEUED

    def test_finished(self) -> None:
        play = one_queue()
        play.running("w", 4)
        play.finish("ns/w")
        assert (ask(play, "w").state, ask(play, "w").holds) == (WorkloadPhase.FINISHED, ())

    def test_deactivated(self) -> None:
        play = one_queue()
        play.submit("w", 4)
        change(play, "w", active=False)
        explanation = ask(play, "w")
        assert (explanation.state, explanation.reason) == (WorkloadPhase.DEACTIVATED, "Deactivated")
        assert explanation_lines(explanation) == ["ns/w waits: The workload is deactivated."]

    @pytest.mark.parametrize(
        ("arrange", "state", "reason", "message"),
        [
            ("no local queue", WorkloadPhase.NO_QUEUE, "Misconfigured", "LocalQueue q doesn't exist"),
            ("no queue", WorkloadPhase.NO_QUEUE, "Misconfigured", "ClusterQueue q doesn't exist"),
            ("stopped local queue", WorkloadPhase.STOPPED, "Suspended", "LocalQueue q is inactive"),
            ("stopped queue", WorkloadPhase.STOPPED, "Suspended", "ClusterQueue q is inactive"),
            (
                "foreign namespace",
                WorkloadPhase.MISCONFIGURED,
                "Misconfigured",
                "workload namespace doesn't match ClusterQueue selector",
            ),
        ],
    )
    def test_no_queue_to_enter(self, arrange: str, state: WorkloadPhase, reason: str, message: str) -> None:
        play = one_queue()
        play.submit("w", 4)
        match arrange:
            case "no local queue":
                play.delete({"kind": "LocalQueue", "namespace": "ns", "name": "q"})
            case "no queue":
                play.delete({"kind": "ClusterQueue", "name": "q"})
            case "stopped local queue":
                play.put(local_queue("q", stopPolicy="Hold"))
            case "stopped queue":
                play.queue("q", 10, cohort=None, stopPolicy="Hold")
            case "foreign namespace":
                play.queue("q", 10, cohort=None, namespaceSelector={"matchLabels": {"team": "x"}})
        explanation = ask(play, "w")
        assert (explanation.state, explanation.reason, explanation.message) == (state, reason, message)
        assert explanation_lines(explanation) == [f"ns/w waits: {message}."]
        assert remedies(explanation) == (AwaitChange(reason, message),)

    def test_gated(self) -> None:
        play = one_queue()
        play.submit("w", 4)
        annotate(play, "w", {"kueue.x-k8s.io/admission-gated-by": "audit"})
        explanation = ask(play, "w")
        assert (explanation.state, explanation.reason) == (WorkloadPhase.GATED, "AdmissionGated")
        assert explanation.message == "Admission is gated by: audit"

    def test_backing_off(self) -> None:
        play = one_queue()
        play.submit("w", 4)
        until = play.now + timedelta(minutes=5)
        back_off(play, "w", until)
        explanation = ask(play, "w")
        assert (explanation.state, explanation.until) == (WorkloadPhase.BACKING_OFF, until)
        assert first_line(play, "w") == "ns/w backs off until 2026-01-01 00:05:00 UTC."
        assert remedies(explanation) == (AwaitBackoff(until),)
        play.wait(301)
        assert ask(play, "w").state is WorkloadPhase.QUEUED

    def test_inadmissible(self) -> None:
        play = one_queue()
        play.running("r", 8)
        play.submit("w", 4)
        assert ask(play, "w").state is WorkloadPhase.QUEUED
        explanation = ask(play.turn(), "w")
        assert explanation.state is WorkloadPhase.INADMISSIBLE
        assert (explanation.reason, explanation.message) == play.pending_reason("w")


class TestPosition:
    """SCH-212: the order of pending workloads."""

    def test_workloads_ahead_are_named(self) -> None:
        play = one_queue()
        play.put(local_queue("other"))
        for number in range(4):
            play.submit(f"w{number}", 1)
        play.submit("late", 1, "other")
        play.submit("urgent", 1, priority=5)
        standing = ask(play, "late").standing
        assert standing is not None
        assert (standing.ahead, standing.ahead_locally) == (5, 0)
        assert [key.name for key in standing.first] == ["urgent", "w0", "w1"]
        assert explanation_lines(ask(play, "late")) == [
            "ns/late fits in queue q, in flavor f, with 5 ahead of it.",
            "5 ahead in queue q, 0 of them in LocalQueue other: ns/urgent, ns/w0, ns/w1 and 2 more.",
        ]
        assert remedies(ask(play, "late")) == (AwaitTurn(5),)

    def test_the_next_one(self) -> None:
        play = one_queue()
        play.submit("w", 1)
        assert explanation_lines(ask(play, "w")) == ["ns/w fits in queue q, in flavor f, and goes next."]

    def test_a_strict_fifo_queue_does_not_skip_its_head(self) -> None:
        """SCH-238."""
        play = one_queue(queueingStrategy="StrictFIFO")
        play.running("r", 4)
        play.submit("big", 10)
        play.submit("small", 1)
        play.turn()
        assert first_line(play, "small") == "ns/small fits in queue q, but the queue is strict and ns/big goes first."
        assert remedies(ask(play, "small")) == (AwaitTurn(1),)

    def test_free_quota_does_not_help_behind_the_head_of_a_strict_fifo_queue(self) -> None:
        play = one_queue(queueingStrategy="StrictFIFO")
        play.running("r", 8)
        play.submit("first", 4)
        play.submit("second", 4)
        turn, quota = remedies(ask(play.turn(), "second"))
        assert turn == AwaitTurn(1)
        assert isinstance(quota, MoreQuota)


class TestOtherHeads:
    """SCH-337, SCH-340: heads of other queues that go first."""

    @pytest.fixture
    def play(self) -> ScenarioBuilder:
        """Queue a keeps two cores for its head, which waits for four; b could use two of them."""
        play = ScenarioBuilder()
        play.queue("a", 4, queueingStrategy="StrictFIFO", **LOWER)
        play.queue("b", 0)
        play.running("r", 2, "a", priority=9)
        play.submit("large", 4, "a", priority=5)
        play.submit("small", 2, "b")
        return play.turn()

    def test_a_workload_that_would_fit_is_reported_with_the_workload_that_quota_is_kept_for(
        self, play: ScenarioBuilder
    ) -> None:
        explanation = ask(play, "small")
        assert explanation.evaluation is not None
        assert (explanation.evaluation.mode, explanation.evaluation.is_admitted) == (FitMode.FIT, False)
        assert explanation_lines(explanation) == [
            "ns/small fits in queue b, but waits: what it needs is kept for ns/large of another queue."
        ]
        assert remedies(explanation) == (AwaitOtherHeads((ObjectKey("ns", "large"),)),)
        assert explanation.message == "Workload no longer fits after processing another workload"

    def test_without_them_it_is_next(self, play: ScenarioBuilder) -> None:
        play.delete({"kind": "Workload", "namespace": "ns", "name": "large"})
        assert first_line(play, "small") == "ns/small fits in queue b, in flavor f, and goes next."


class TestShortage:
    """SCH-520 to SCH-548: what is missing, of which flavor, at which node."""

    def test_free_quota_in_the_cohort(self) -> None:
        play = ScenarioBuilder()
        play.queue("a", 9, bl=6)
        play.queue("b", 12, ll=4)
        play.running("b1", 12, "b")
        play.running("a1", 8, "a")
        play.submit("w", 4, "a")
        assert first_line(play, "w") == "ns/w waits for 3 more cpu in flavor f: cohort R has 13, 12 in use."
        (remedy,) = remedies(ask(play, "w"))
        assert isinstance(remedy, MoreQuota)
        assert [(str(each.place), each.missing) for each in remedy.shortages] == [("cohort R", 3000)]

    def test_more_than_there_is(self) -> None:
        play = one_queue()
        play.submit("w", 11)
        explanation = ask(play, "w")
        assert explanation.reason == "ExceedsMaxQuota"
        assert explanation_lines(explanation) == [
            "ns/w requests more than the queue can ever provide: 10 cpu is the most that queue q could ever give,"
            " 1 more needed."
        ]

    def test_flavors_in_the_order_tried(self) -> None:
        play = ScenarioBuilder()
        spot = [{"key": "spot", "value": "true", "effect": "NoSchedule"}]
        play.flavor("spot", nodeTaints=spot)
        play.queue("q", groups=[group({"spot": [quota(CPU, 9)], "a": [quota(CPU, 1)], "b": [quota(CPU, 5)]})])
        play.running("r", 3, flavor="b")
        play.submit("w", 4)
        explanation = ask(play, "w")
        assert explanation.evaluation is not None
        (pod_set,) = explanation.evaluation.pod_sets
        assert [(trial.attempt.flavor, trial.attempt.mode) for trial in pod_set.trials] == [
            ("spot", FitMode.NO_FIT),
            ("a", FitMode.NO_FIT),
            ("b", FitMode.NO_CANDIDATES),
        ]
        assert pod_set.flavors == {CPU: "b"}
        assert explanation_lines(explanation)[:2] == [
            "ns/w waits for 2 more cpu in flavor b: cohort R has 5, 3 in use.",
            "Flavors tried for pod set main: spot (untolerated taint {spot true NoSchedule <nil>} in flavor spot);"
            " a (1 cpu is the most that cohort R could ever give, 3 more needed);"
            " b (cohort R has 5, 3 in use, 2 more needed).",
        ]

    def test_a_second_group_that_never_fits_is_not_covered_up_by_one_that_waits(self) -> None:
        """SCH-547."""
        play = ScenarioBuilder()
        play.queue(
            "q", groups=[group({"f": [quota(CPU, 4)]}), group({"g": [quota("memory", 2)]})], cohort=None, **LOWER
        )
        play.running("r", 4, priority=9)
        play.submit("w", {CPU: 1, "memory": 3})
        explanation = ask(play, "w")
        assert explanation_lines(explanation)[0] == (
            "ns/w requests more than the queue can ever provide: 2 memory is the most that queue q could ever give,"
            " 1 more needed."
        )
        assert help_for(play, "w") is PreemptionOutlook.POINTLESS
        (remedy,) = remedies(explanation)
        assert isinstance(remedy, MoreQuota)
        assert (remedy.flavor, remedy.resources, remedy.then_waits) == ("g", ("memory",), False)

    def test_flavors_of_a_group_that_fits_are_no_remedy(self) -> None:
        play = ScenarioBuilder()
        cpus = group({"a": [quota(CPU, 1)], "b": [quota(CPU, 4)]})
        play.queue("q", groups=[cpus, group({"g": [quota("memory", 2)]})], cohort=None)
        play.running("r", {"memory": 2}, flavor="g")
        play.submit("w", {CPU: 2, "memory": 1})
        assert [each.flavor for each in remedies(ask(play, "w")) if isinstance(each, MoreQuota)] == ["g"]

    def test_more_than_there_is_of_what_others_use(self) -> None:
        play = one_queue()
        play.running("r", 4)
        play.submit("w", 11)
        (remedy,) = remedies(ask(play, "w"))
        assert isinstance(remedy, MoreQuota)
        assert remedy.then_waits

    def test_several_may_have_to_lend_more(self) -> None:
        play = ScenarioBuilder()
        play.queue("a", 4)
        for name in ("b", "c"):
            play.queue(name, 3, ll=1)
        play.running("r", 6, "a")
        play.submit("w", 3, "a")
        (remedy,) = remedies(ask(play, "w"))
        assert isinstance(remedy, MoreQuota)
        (shortage,) = remedy.shortages
        assert [(str(place), amount) for place, amount in lenders(shortage)] == [("queue b", 2000), ("queue c", 1000)]

    def test_no_flavor_that_can_be_used(self) -> None:
        play = one_queue()
        play.flavor("f", nodeLabels={"zone": "x"})
        play.submit("w", 1, nodeSelector={"zone": "y"})
        explanation = ask(play, "w")
        assert explanation.reason == "NoMatchingFlavor"
        assert explanation_lines(explanation) == [
            "ns/w can't use any flavor of queue q: flavor f doesn't match node affinity."
        ]
        assert remedies(explanation) == ()

    def test_a_resource_that_the_queue_does_not_have(self) -> None:
        """SCH-504."""
        play = one_queue()
        play.submit("w", {CPU: 1, "nvidia.com/gpu": 1})
        assert (
            first_line(play, "w") == "ns/w can't start in queue q: resource nvidia.com/gpu unavailable in ClusterQueue."
        )

    def test_fewer_pods_would_do(self) -> None:
        """SCH-561."""
        play = one_queue(7)
        play.submit("w", 1, count=10, min_count=3)
        assert first_line(play, "w") == "ns/w fits in queue q with 7 of 10 pods, in flavor f, and goes next."

    def test_fewer_pods_would_do_later(self) -> None:
        """SCH-561: all of them never fit, a few will."""
        play = one_queue(7)
        play.running("r", 6)
        play.submit("w", 1, count=10, min_count=3)
        assert first_line(play, "w").startswith("ns/w waits to start with fewer pods: insufficient quota for cpu")

    def test_all_workloads_wait_for_pods_ready(self) -> None:
        """SCH-1035."""
        play = ScenarioBuilder(configured({"waitForPodsReady": {"blockAdmission": True}}))
        play.queue("q", 10)
        play.running("r", 1)
        play.submit("w", 1)
        assert ask(play, "w").reason == "WaitingForPodsReady"


class TestPreemption:
    """Whether preemption helps, the victims, or the rule that prevents it (SCH-601 to SCH-634, SCH-720 to SCH-726)."""

    def test_it_is_not_needed(self) -> None:
        play = one_queue()
        play.submit("w", 1)
        assert help_for(play, "w") is PreemptionOutlook.NOT_NEEDED

    def test_it_is_possible_then_in_progress(self) -> None:
        play = one_queue(**LOWER)
        play.running("low", 10)
        play.submit("high", 10, priority=1)
        assert help_for(play, "high") is PreemptionOutlook.POSSIBLE
        assert explanation_lines(ask(play, "high")) == ["ns/high waits to preempt ns/low."]
        before = remedies(ask(play, "high"))
        assert isinstance(before[0], AwaitPreemption)
        assert [victim.reason for victim in before[0].victims] == ["InClusterQueue"]
        play.turn()
        assert help_for(play, "high") is PreemptionOutlook.UNDER_WAY
        assert explanation_lines(ask(play, "high")) == ["ns/high waits for preempted ns/low to stop."]
        assert isinstance(remedies(ask(play, "high"))[0], AwaitVictims)
        assert ask(play, "high").message.endswith("Pending the preemption of 1 workload(s)")

    def test_the_policies_forbid_it(self) -> None:
        play = one_queue()
        play.running("low", 10)
        play.submit("high", 10, priority=1)
        assert help_for(play, "high") is PreemptionOutlook.OFF
        assert explanation_lines(ask(play, "high"))[-1] == "Preemption can't help: the policies of queue q forbid it."

    def test_the_workloads_that_hold_it_rank_too_high(self) -> None:
        play = one_queue(**LOWER)
        play.running("x", 5, priority=7)
        play.running("y", 5, priority=9)
        play.submit("w", 6, priority=7)
        assert help_for(play, "w") is PreemptionOutlook.PRIORITY
        assert explanation_lines(ask(play, "w"))[-1] == (
            "Preemption can't help: workloads using it have equal or higher priority (2 of priority 7 or more,"
            " its own is 7)."
        )

    def test_the_candidates_hold_too_little(self) -> None:
        play = one_queue(**LOWER)
        play.running("x", 8, priority=7)
        play.running("y", 2, priority=0)
        play.submit("w", 6, priority=7)
        assert help_for(play, "w") is PreemptionOutlook.TOO_LITTLE

    def test_only_its_own_queue_uses_it_and_that_is_spared(self) -> None:
        play = ScenarioBuilder()
        play.queue("a", 9, **RECLAIM)
        play.queue("b", 0)
        play.running("a1", 8, "a")
        play.submit("w", 2, "a")
        assert help_for(play, "w") is PreemptionOutlook.OFF

    def test_the_workloads_that_use_it_are_in_a_stopped_queue(self) -> None:
        """SCH-1052."""
        play = ScenarioBuilder()
        play.queue("a", 4, **RECLAIM)
        play.queue("b", 4)
        play.running("b1", 8, "b")
        play.queue("b", 4, stopPolicy="HoldAndDrain")
        play.submit("w", 4, "a")
        assert help_for(play, "w") is PreemptionOutlook.NO_CANDIDATES

    def test_lenders_are_within_their_own(self) -> None:
        play = ScenarioBuilder()
        play.cohort("R", 1)
        play.queue("a", 4, **RECLAIM)
        play.queue("b", 4)
        play.running("b1", 4, "b")
        play.running("a1", 3, "a")
        play.submit("w", 3, "a")
        assert help_for(play, "w") is PreemptionOutlook.WITHIN_NOMINAL
        assert explanation_lines(ask(play, "w"))[-1] == (
            "Preemption can't help: workloads using it are within their nominal quota."
        )

    def test_it_would_have_to_borrow(self) -> None:
        """G12 (SCH-522)."""
        play = ScenarioBuilder()
        play.queue("a", 4, **RECLAIM)
        play.queue("b", 8)
        play.running("b1", 6, "b")
        play.running("b2", 6, "b")
        play.submit("a1", 6, "a")
        assert help_for(play, "a1") is PreemptionOutlook.BORROWING
        assert explanation_lines(ask(play, "a1"))[-1] == (
            "Preemption can't help: it would have to borrow, and queue a does not preempt for that."
        )

    def test_a_threshold_spares_those_above_it_while_borrowing(self) -> None:
        """G13 (SCH-613)."""
        play = ScenarioBuilder()
        borrowing = {"policy": "LowerPriority", "maxPriorityThreshold": 100}
        play.queue("shared", 10)
        play.queue(
            "std", 0, bl=10, preemption={"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": borrowing}
        )
        play.queue("be", 0, bl=10)
        play.running("be1", 6, "be", priority=50)
        play.running("be2", 4, "be", priority=150)
        play.submit("fits", 5, "std", priority=300)
        play.submit("not", 7, "std", priority=300)
        play.submit("low", 5, "std", priority=40)
        assert help_for(play, "fits") is PreemptionOutlook.POSSIBLE
        assert help_for(play, "not") is PreemptionOutlook.RANK_WHILE_BORROWING
        assert help_for(play, "low") is PreemptionOutlook.PRIORITY

    def test_it_would_get_more_than_its_share(self) -> None:
        """G27 (SCH-724, SCH-725)."""
        play = ScenarioBuilder(configured(FAIR_SHARING))
        play.queue("a", 3, **RECLAIM)
        play.queue("b", 3)
        play.queue("c", 3)
        play.running("a0", 4, "a")
        for number in range(5):
            play.running(f"b{number}", 1, "b")
        play.submit("y", 1, "a")
        assert help_for(play, "y") is PreemptionOutlook.SHARE
        assert (
            explanation_lines(ask(play, "y"))[-1]
            == "Preemption can't help: queue a would get more than its fair share."
        )

    def test_it_is_pointless(self) -> None:
        play = one_queue(**LOWER)
        play.running("low", 10)
        play.submit("w", 11, priority=1)
        assert help_for(play, "w") is PreemptionOutlook.POINTLESS


class TestWouldFit:
    """What would become of a workload that was never submitted."""

    def test_pod_sets_in_a_cluster_queue(self) -> None:
        play = one_queue()
        play.running("r", 8)
        explanation = play.engine.would_fit([pods(4)], "q", play.now)
        assert explanation.state is WorkloadPhase.NOT_SUBMITTED
        assert (
            explanation_lines(explanation)[0] == "This would wait for 2 more cpu in flavor f: queue q has 10, 8 in use."
        )
        assert explanation_lines(play.engine.would_fit([pods(2)], "q", play.now)) == [
            "This fits in queue q, in flavor f, and goes next."
        ]

    @pytest.mark.parametrize(
        ("queue", "message"),
        [
            ("x", "ClusterQueue x doesn't exist"),
            (ObjectKey("ns", "x"), "LocalQueue x doesn't exist"),
            (ObjectKey("nowhere", "q"), "LocalQueue q doesn't exist"),
        ],
    )
    def test_a_queue_that_does_not_exist(self, queue: ObjectKey | str, message: str) -> None:
        explanation = one_queue().engine.would_fit([pods(1)], queue, one_queue().now)
        assert (explanation.reason, explanation.message) == ("Misconfigured", message)

    def test_a_template_that_can_not_be_read(self) -> None:
        play = one_queue()
        broken = PodSet(template=msgspec.Raw(b'{"spec": 3}'))
        assert play.engine.would_fit([broken], "q", play.now).reason == "Misconfigured"

    def test_a_namespace_that_is_not_selected(self) -> None:
        play = one_queue(namespaceSelector={"matchLabels": {"team": "x"}})
        explanation = play.engine.would_fit([pods(1)], ObjectKey("ns", "q"), play.now)
        assert explanation.message == "workload namespace doesn't match ClusterQueue selector"

    @given(scenarios(most_steps=15), st.data())
    @settings(max_examples=20)
    def test_it_equals_explain_after_submission(self, scenario: Json, data: st.DataObject) -> None:
        stage = played(scenario)
        known = [each for each in stage.workloads.values() if each.spec.queue_name]
        model = data.draw(st.sampled_from(known)) if known else None
        if model is None:
            return
        thing = v1beta2.Workload(
            metadata=structs.replace(model.metadata, name="new", uid="zzz", creation_timestamp=stage.now),
            spec=model.spec,
        )
        queue = ObjectKey(model.metadata.namespace, model.spec.queue_name or "")
        foreseen = stage.engine.would_fit(thing, queue, stage.now)
        stage.engine.apply(ObjectUpserted(thing), stage.now)
        seen = stage.engine.explain(ObjectKey(queue.namespace, "new"), stage.now)
        assert foreseen.evaluation == seen.evaluation
        assert foreseen.standing == seen.standing
        if seen.state is not WorkloadPhase.INADMISSIBLE:
            assert (foreseen.reason, foreseen.message) == (seen.reason, seen.message)


# Explaining changes nothing


def bring_up_to_date(engine: Engine) -> None:
    """Sums and orders are computed on demand; computing them is no change."""
    engine.store.hierarchy.refresh()
    for pending in engine.store.pending.values():
        pending.first(1)


@given(scenarios(most_steps=20))
@settings(max_examples=20)
def test_explain_leaves_the_engine_as_it_was(scenario: Json) -> None:
    stage = played(scenario)
    bring_up_to_date(stage.engine)
    before = picture(stage.engine)
    ask_everything(stage)
    assert picture(stage.engine) == before


@given(scenarios(most_steps=20))
@settings(max_examples=15)
def test_explain_after_every_step_changes_no_decision(scenario: Json) -> None:
    quiet, curious = played({**scenario, "steps": []}), played({**scenario, "steps": []})
    for step in scenario["steps"]:
        quiet.perform(step)
        curious.perform(step)
        assert [plain(each) for each in curious.decisions] == [plain(each) for each in quiet.decisions]
        ask_everything(curious)


@given(scenarios(most_steps=20))
@settings(max_examples=20)
def test_a_single_head_gets_exactly_the_explained_assignment(scenario: Json) -> None:
    """SCH-313, SCH-333 to SCH-339: where no other head of the tree interferes."""
    stage = played(scenario)
    fresh = {key for key, each in stage.engine.store.workloads.items() if each.progress is None}
    foreseen = {key: stage.engine.explain(key, stage.now) for key in fresh}
    decided = [each for each in stage.engine.run_cycle(stage.now) if isinstance(each, Reserve | KeepPending)]
    heads = Counter(tree_of(stage.engine, each.workload) for each in decided)
    for decision in decided:
        explanation = foreseen.get(decision.workload)
        if explanation is None or heads[tree_of(stage.engine, decision.workload)] > 1:
            continue
        assert explanation.evaluation is not None
        if isinstance(decision, KeepPending):
            assert (explanation.evaluation.reason, explanation.evaluation.message) == (
                decision.reason,
                decision.message,
            )
            assert explanation.evaluation.requeue is decision.requeue
        else:
            assert explanation.evaluation.is_admitted
            flavors = [dict(each.flavors) for each in decision.admission.pod_set_assignments]
            assert [dict(each.flavors) for each in explanation.evaluation.pod_sets] == flavors


@given(scenarios(most_steps=20))
@settings(max_examples=15)
def test_everything_can_be_put_in_few_words_and_in_json(scenario: Json) -> None:
    stage = played(scenario)
    for key in stage.engine.store.workloads:
        explanation = stage.engine.explain(key, stage.now)
        lines = explanation_lines(explanation)
        assert 1 <= len(lines) <= 6
        assert lines[0].startswith(str(key))
        assert all(line.endswith(".") and ".." not in line for line in lines)
        assert msgspec.json.encode(explanation)
        assert isinstance(remedies(explanation), tuple)


def played(scenario: Json) -> ScenarioRunner:
    rules = configured(scenario["configuration"], **scenario["gates"])
    stage = ScenarioRunner(rules)
    stage.play(scenario)
    return stage


def ask_everything(stage: ScenarioRunner) -> None:
    for key in list(stage.engine.store.workloads):
        explanation_lines(stage.engine.explain(key, stage.now))
    for name in stage.engine.store.queues:
        stage.engine.would_fit([pods(1), pods(20, "other")], name, stage.now)
    for local_queue in list(stage.engine.store.local_queues):
        stage.engine.would_fit([pods(3)], local_queue, stage.now)


def plain(decision: Any) -> Any:
    if isinstance(decision, KeepPending):
        return decision.workload, decision.reason, decision.message, decision.requeue
    return decision


def tree_of(engine: Engine, key: ObjectKey) -> str:
    queue = engine.store.workloads[key].queue
    assert queue is not None
    parent = queue.node.parent
    return f"cohort {parent.root().name}" if parent else f"queue {queue.name}"


CACHES = {"_answers", "_listing", "_merged", "laps", "settings", "rules"}
"""Caches of results, and what can't change."""
SETS = {"borrowers"}
"""What is the same in any order."""


def picture(engine: Engine) -> list[Any]:
    """All that an engine holds, as rows of plain values that name each other by number."""
    numbers: dict[int, int] = {}
    waiting: deque[Any] = deque()
    rows: list[Any] = []

    def lines(thing: Any) -> Any:
        if thing is None or isinstance(thing, (int, str, float, bytes, datetime, Enum)):
            return thing
        if isinstance(thing, msgspec.Struct) or callable(thing):
            return "unchangeable", id(thing)
        if id(thing) not in numbers:
            numbers[id(thing)] = len(numbers)
            waiting.append(thing)
        return "see", numbers[id(thing)]

    lines(engine)
    while waiting:
        thing = waiting.popleft()
        if isinstance(thing, dict):
            rows.append([(lines(key), lines(value)) for key, value in thing.items()])
        elif isinstance(thing, set | frozenset):
            rows.append(sorted(map(str, thing)))
        elif isinstance(thing, list | tuple | deque):
            rows.append([lines(each) for each in thing])
        else:
            rows.append((type(thing).__name__, [(name, lines(value)) for name, value in members(thing)]))
    return rows


def members(thing: Any) -> list[tuple[str, Any]]:
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    found = {**{name: getattr(thing, name) for name in slots if hasattr(thing, name)}, **getattr(thing, "__dict__", {})}
    return [
        (name, unordered(value)) if name in SETS else (name, value)
        for name, value in found.items()
        if name not in CACHES
    ]


def unordered(members: Any) -> str:
    return str(sorted(map(id, members)))


def test_a_picture_shows_every_change() -> None:
    """The test above can fail."""
    play = one_queue()
    play.submit("w", 1)
    before = picture(play.engine)
    play.engine.store.workloads[ObjectKey("ns", "w")].priority += 1
    assert picture(play.engine) != before


# Objects


def pods(cores: int, name: str = "main") -> PodSet:
    container = {"name": "c", "resources": {"requests": {CPU: str(cores)}}}
    template = msgspec.json.encode({"spec": {"containers": [container]}})
    return PodSet(name=name, template=msgspec.Raw(template))


def local_queue(name: str, **spec: Json) -> Json:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"clusterQueue": "q", **spec},
    }


def change(play: ScenarioBuilder, name: str, **spec: Json) -> None:
    workload = play.workloads[ObjectKey("ns", name)]
    play.show(structs.replace(workload, spec=structs.replace(workload.spec, **spec)))


def annotate(play: ScenarioBuilder, name: str, annotations: dict[str, str]) -> None:
    workload = play.workloads[ObjectKey("ns", name)]
    play.show(structs.replace(workload, metadata=structs.replace(workload.metadata, annotations=annotations)))


def back_off(play: ScenarioBuilder, name: str, until: datetime) -> None:
    workload = play.workloads[ObjectKey("ns", name)]
    state = v1beta2.workload.RequeueState(count=1, requeue_at=until)
    play.show(structs.replace(workload, status=structs.replace(workload.status, requeue_state=state)))
