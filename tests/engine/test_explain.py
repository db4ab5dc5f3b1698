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


def ask(builder: ScenarioBuilder, name: str) -> Explanation:
    return builder.engine.explain(ObjectKey("ns", name), builder.now)


def help_for(builder: ScenarioBuilder, name: str) -> PreemptionOutlook:
    evaluation = ask(builder, name).evaluation
    assert evaluation is not None
    return evaluation.preemption.help


def first_line(builder: ScenarioBuilder, name: str) -> str:
    return explanation_lines(ask(builder, name))[0]


def one_queue(nominal: int = 10, **spec: Json) -> ScenarioBuilder:
    builder = ScenarioBuilder()
    builder.queue("q", nominal, cohort=None, **spec)
    return builder


class TestStates:
    """SCH-201, SCH-363: where a workload is, and the reason and message of its condition."""

    def test_unknown(self) -> None:
        explanation = ask(ScenarioBuilder(), "missing")
        assert (explanation.state, explanation_lines(explanation)) == (
            WorkloadPhase.UNKNOWN,
            ["ns/missing does not exist."],
        )

    def test_admitted(self) -> None:
        builder = one_queue()
        builder.submit("w", 4)
        explanation = ask(builder.turn(), "w")
        assert (explanation.state, explanation.cluster_queue) == (WorkloadPhase.ADMITTED, "q")
        assert explanation.holds == (HeldQuota(FlavorResource("f", CPU), 4000),)
        assert (explanation.reason, explanation.message) == ("", "")
        assert explanation_lines(explanation) == ["ns/w is admitted to queue q with 4 cpu of f."]

    def test_reserved_before_the_admission_is_written(self) -> None:
        builder = one_queue()
        builder.submit("w", 4)
        builder.engine.schedule(builder.now)
        assert ask(builder, "w").state is WorkloadPhase.RESERVED

    def test_evicted_and_not_yet_gone(self) -> None:
        builder = one_queue(**LOWER)
        builder.running("low", 10)
        builder.submit("high", 10, priority=1)
        assert ask(builder.turn(), "low").state is WorkloadPhase.LEAVING
        builder.settle()
        assert ask(builder, "low").state is WorkloadPhase.QUEUED

    def test_finished(self) -> None:
        builder = one_queue()
        builder.running("w", 4)
        builder.finish("ns/w")
        assert (ask(builder, "w").state, ask(builder, "w").holds) == (WorkloadPhase.FINISHED, ())

    def test_deactivated(self) -> None:
        builder = one_queue()
        builder.submit("w", 4)
        change(builder, "w", active=False)
        explanation = ask(builder, "w")
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
        builder = one_queue()
        builder.submit("w", 4)
        match arrange:
            case "no local queue":
                builder.delete({"kind": "LocalQueue", "namespace": "ns", "name": "q"})
            case "no queue":
                builder.delete({"kind": "ClusterQueue", "name": "q"})
            case "stopped local queue":
                builder.put(local_queue("q", stopPolicy="Hold"))
            case "stopped queue":
                builder.queue("q", 10, cohort=None, stopPolicy="Hold")
            case "foreign namespace":
                builder.queue("q", 10, cohort=None, namespaceSelector={"matchLabels": {"team": "x"}})
        explanation = ask(builder, "w")
        assert (explanation.state, explanation.reason, explanation.message) == (state, reason, message)
        assert explanation_lines(explanation) == [f"ns/w waits: {message}."]
        assert remedies(explanation) == (AwaitChange(reason, message),)

    def test_gated(self) -> None:
        builder = one_queue()
        builder.submit("w", 4)
        annotate(builder, "w", {"kueue.x-k8s.io/admission-gated-by": "audit"})
        explanation = ask(builder, "w")
        assert (explanation.state, explanation.reason) == (WorkloadPhase.GATED, "AdmissionGated")
        assert explanation.message == "Admission is gated by: audit"

    def test_backing_off(self) -> None:
        builder = one_queue()
        builder.submit("w", 4)
        until = builder.now + timedelta(minutes=5)
        back_off(builder, "w", until)
        explanation = ask(builder, "w")
        assert (explanation.state, explanation.until) == (WorkloadPhase.BACKING_OFF, until)
        assert first_line(builder, "w") == "ns/w backs off until 2026-01-01 00:05:00 UTC."
        assert remedies(explanation) == (AwaitBackoff(until),)
        builder.wait(301)
        assert ask(builder, "w").state is WorkloadPhase.QUEUED

    def test_inadmissible(self) -> None:
        builder = one_queue()
        builder.running("r", 8)
        builder.submit("w", 4)
        assert ask(builder, "w").state is WorkloadPhase.QUEUED
        explanation = ask(builder.turn(), "w")
        assert explanation.state is WorkloadPhase.INADMISSIBLE
        assert (explanation.reason, explanation.message) == builder.pending_reason("w")


class TestPosition:
    """SCH-212: the order of pending workloads."""

    def test_workloads_ahead_are_named(self) -> None:
        builder = one_queue()
        builder.put(local_queue("other"))
        for number in range(4):
            builder.submit(f"w{number}", 1)
        builder.submit("late", 1, "other")
        builder.submit("urgent", 1, priority=5)
        standing = ask(builder, "late").standing
        assert standing is not None
        assert (standing.ahead, standing.ahead_locally) == (5, 0)
        assert [key.name for key in standing.first] == ["urgent", "w0", "w1"]
        assert explanation_lines(ask(builder, "late")) == [
            "ns/late fits in queue q, in flavor f, with 5 ahead of it.",
            "5 ahead in queue q, 0 of them in LocalQueue other: ns/urgent, ns/w0, ns/w1 and 2 more.",
        ]
        assert remedies(ask(builder, "late")) == (AwaitTurn(5),)

    def test_the_next_one(self) -> None:
        builder = one_queue()
        builder.submit("w", 1)
        assert explanation_lines(ask(builder, "w")) == ["ns/w fits in queue q, in flavor f, and goes next."]

    def test_a_strict_fifo_queue_does_not_skip_its_head(self) -> None:
        """SCH-238."""
        builder = one_queue(queueingStrategy="StrictFIFO")
        builder.running("r", 4)
        builder.submit("big", 10)
        builder.submit("small", 1)
        builder.turn()
        assert (
            first_line(builder, "small") == "ns/small fits in queue q, but the queue is strict and ns/big goes first."
        )
        assert remedies(ask(builder, "small")) == (AwaitTurn(1),)

    def test_free_quota_does_not_help_behind_the_head_of_a_strict_fifo_queue(self) -> None:
        builder = one_queue(queueingStrategy="StrictFIFO")
        builder.running("r", 8)
        builder.submit("first", 4)
        builder.submit("second", 4)
        turn, quota = remedies(ask(builder.turn(), "second"))
        assert turn == AwaitTurn(1)
        assert isinstance(quota, MoreQuota)


class TestOtherHeads:
    """SCH-337, SCH-340: heads of other queues that go first."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        """Queue a keeps two cores for its head, which waits for four; b could use two of them."""
        builder = ScenarioBuilder()
        builder.queue("a", 4, queueingStrategy="StrictFIFO", **LOWER)
        builder.queue("b", 0)
        builder.running("r", 2, "a", priority=9)
        builder.submit("large", 4, "a", priority=5)
        builder.submit("small", 2, "b")
        return builder.turn()

    def test_a_workload_that_would_fit_is_reported_with_the_workload_that_quota_is_kept_for(
        self, builder: ScenarioBuilder
    ) -> None:
        explanation = ask(builder, "small")
        assert explanation.evaluation is not None
        assert (explanation.evaluation.mode, explanation.evaluation.is_admitted) == (FitMode.FIT, False)
        assert explanation_lines(explanation) == [
            "ns/small fits in queue b, but waits: what it needs is kept for ns/large of another queue."
        ]
        assert remedies(explanation) == (AwaitOtherHeads((ObjectKey("ns", "large"),)),)
        assert explanation.message == "Workload no longer fits after processing another workload"

    def test_without_them_it_is_next(self, builder: ScenarioBuilder) -> None:
        builder.delete({"kind": "Workload", "namespace": "ns", "name": "large"})
        assert first_line(builder, "small") == "ns/small fits in queue b, in flavor f, and goes next."


class TestShortage:
    """SCH-520 to SCH-548: what is missing, of which flavor, at which node."""

    def test_free_quota_in_the_cohort(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("a", 9, bl=6)
        builder.queue("b", 12, ll=4)
        builder.running("b1", 12, "b")
        builder.running("a1", 8, "a")
        builder.submit("w", 4, "a")
        assert first_line(builder, "w") == "ns/w waits for 3 more cpu in flavor f: cohort R has 13, 12 in use."
        (remedy,) = remedies(ask(builder, "w"))
        assert isinstance(remedy, MoreQuota)
        assert [(str(each.place), each.missing) for each in remedy.shortages] == [("cohort R", 3000)]

    def test_more_than_there_is(self) -> None:
        builder = one_queue()
        builder.submit("w", 11)
        explanation = ask(builder, "w")
        assert explanation.reason == "ExceedsMaxQuota"
        assert explanation_lines(explanation) == [
            "ns/w requests more than the queue can ever provide: 10 cpu is the most that queue q could ever give,"
            " 1 more needed."
        ]

    def test_flavors_in_the_order_tried(self) -> None:
        builder = ScenarioBuilder()
        spot = [{"key": "spot", "value": "true", "effect": "NoSchedule"}]
        builder.flavor("spot", nodeTaints=spot)
        builder.queue("q", groups=[group({"spot": [quota(CPU, 9)], "a": [quota(CPU, 1)], "b": [quota(CPU, 5)]})])
        builder.running("r", 3, flavor="b")
        builder.submit("w", 4)
        explanation = ask(builder, "w")
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
        builder = ScenarioBuilder()
        builder.queue(
            "q", groups=[group({"f": [quota(CPU, 4)]}), group({"g": [quota("memory", 2)]})], cohort=None, **LOWER
        )
        builder.running("r", 4, priority=9)
        builder.submit("w", {CPU: 1, "memory": 3})
        explanation = ask(builder, "w")
        assert explanation_lines(explanation)[0] == (
            "ns/w requests more than the queue can ever provide: 2 memory is the most that queue q could ever give,"
            " 1 more needed."
        )
        assert help_for(builder, "w") is PreemptionOutlook.POINTLESS
        (remedy,) = remedies(explanation)
        assert isinstance(remedy, MoreQuota)
        assert (remedy.flavor, remedy.resources, remedy.then_waits) == ("g", ("memory",), False)

    def test_flavors_of_a_group_that_fits_are_no_remedy(self) -> None:
        builder = ScenarioBuilder()
        cpus = group({"a": [quota(CPU, 1)], "b": [quota(CPU, 4)]})
        builder.queue("q", groups=[cpus, group({"g": [quota("memory", 2)]})], cohort=None)
        builder.running("r", {"memory": 2}, flavor="g")
        builder.submit("w", {CPU: 2, "memory": 1})
        assert [each.flavor for each in remedies(ask(builder, "w")) if isinstance(each, MoreQuota)] == ["g"]

    def test_more_than_there_is_of_what_others_use(self) -> None:
        builder = one_queue()
        builder.running("r", 4)
        builder.submit("w", 11)
        (remedy,) = remedies(ask(builder, "w"))
        assert isinstance(remedy, MoreQuota)
        assert remedy.then_waits

    def test_several_may_have_to_lend_more(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("a", 4)
        for name in ("b", "c"):
            builder.queue(name, 3, ll=1)
        builder.running("r", 6, "a")
        builder.submit("w", 3, "a")
        (remedy,) = remedies(ask(builder, "w"))
        assert isinstance(remedy, MoreQuota)
        (shortage,) = remedy.shortages
        assert [(str(place), amount) for place, amount in lenders(shortage)] == [("queue b", 2000), ("queue c", 1000)]

    def test_no_flavor_that_can_be_used(self) -> None:
        builder = one_queue()
        builder.flavor("f", nodeLabels={"zone": "x"})
        builder.submit("w", 1, nodeSelector={"zone": "y"})
        explanation = ask(builder, "w")
        assert explanation.reason == "NoMatchingFlavor"
        assert explanation_lines(explanation) == [
            "ns/w can't use any flavor of queue q: flavor f doesn't match node affinity."
        ]
        assert remedies(explanation) == ()

    def test_a_resource_that_the_queue_does_not_have(self) -> None:
        """SCH-504."""
        builder = one_queue()
        builder.submit("w", {CPU: 1, "nvidia.com/gpu": 1})
        assert (
            first_line(builder, "w")
            == "ns/w can't start in queue q: resource nvidia.com/gpu unavailable in ClusterQueue."
        )

    def test_fewer_pods_would_do(self) -> None:
        """SCH-561."""
        builder = one_queue(7)
        builder.submit("w", 1, count=10, min_count=3)
        assert first_line(builder, "w") == "ns/w fits in queue q with 7 of 10 pods, in flavor f, and goes next."

    def test_fewer_pods_would_do_later(self) -> None:
        """SCH-561: all of them never fit, a few will."""
        builder = one_queue(7)
        builder.running("r", 6)
        builder.submit("w", 1, count=10, min_count=3)
        assert first_line(builder, "w").startswith("ns/w waits to start with fewer pods: insufficient quota for cpu")

    def test_all_workloads_wait_for_pods_ready(self) -> None:
        """SCH-1035."""
        builder = ScenarioBuilder(configured({"waitForPodsReady": {"blockAdmission": True}}))
        builder.queue("q", 10)
        builder.running("r", 1)
        builder.submit("w", 1)
        assert ask(builder, "w").reason == "WaitingForPodsReady"


class TestPreemption:
    """Whether preemption helps, the victims, or the rule that prevents it (SCH-601 to SCH-634, SCH-720 to SCH-726)."""

    def test_it_is_not_needed(self) -> None:
        builder = one_queue()
        builder.submit("w", 1)
        assert help_for(builder, "w") is PreemptionOutlook.NOT_NEEDED

    def test_it_is_possible_then_in_progress(self) -> None:
        builder = one_queue(**LOWER)
        builder.running("low", 10)
        builder.submit("high", 10, priority=1)
        assert help_for(builder, "high") is PreemptionOutlook.POSSIBLE
        assert explanation_lines(ask(builder, "high")) == ["ns/high waits to preempt ns/low."]
        before = remedies(ask(builder, "high"))
        assert isinstance(before[0], AwaitPreemption)
        assert [victim.reason for victim in before[0].victims] == ["InClusterQueue"]
        builder.turn()
        assert help_for(builder, "high") is PreemptionOutlook.UNDER_WAY
        assert explanation_lines(ask(builder, "high")) == ["ns/high waits for preempted ns/low to stop."]
        assert isinstance(remedies(ask(builder, "high"))[0], AwaitVictims)
        assert ask(builder, "high").message.endswith("Pending the preemption of 1 workload(s)")

    def test_the_policies_forbid_it(self) -> None:
        builder = one_queue()
        builder.running("low", 10)
        builder.submit("high", 10, priority=1)
        assert help_for(builder, "high") is PreemptionOutlook.OFF
        assert (
            explanation_lines(ask(builder, "high"))[-1] == "Preemption can't help: the policies of queue q forbid it."
        )

    def test_the_workloads_that_hold_it_rank_too_high(self) -> None:
        builder = one_queue(**LOWER)
        builder.running("x", 5, priority=7)
        builder.running("y", 5, priority=9)
        builder.submit("w", 6, priority=7)
        assert help_for(builder, "w") is PreemptionOutlook.PRIORITY
        assert explanation_lines(ask(builder, "w"))[-1] == (
            "Preemption can't help: workloads using it have equal or higher priority (2 of priority 7 or more,"
            " its own is 7)."
        )

    def test_the_candidates_hold_too_little(self) -> None:
        builder = one_queue(**LOWER)
        builder.running("x", 8, priority=7)
        builder.running("y", 2, priority=0)
        builder.submit("w", 6, priority=7)
        assert help_for(builder, "w") is PreemptionOutlook.TOO_LITTLE

    def test_only_its_own_queue_uses_it_and_that_is_spared(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("a", 9, **RECLAIM)
        builder.queue("b", 0)
        builder.running("a1", 8, "a")
        builder.submit("w", 2, "a")
        assert help_for(builder, "w") is PreemptionOutlook.OFF

    def test_the_workloads_that_use_it_are_in_a_stopped_queue(self) -> None:
        """SCH-1052."""
        builder = ScenarioBuilder()
        builder.queue("a", 4, **RECLAIM)
        builder.queue("b", 4)
        builder.running("b1", 8, "b")
        builder.queue("b", 4, stopPolicy="HoldAndDrain")
        builder.submit("w", 4, "a")
        assert help_for(builder, "w") is PreemptionOutlook.NO_CANDIDATES

    def test_lenders_are_within_their_own(self) -> None:
        builder = ScenarioBuilder()
        builder.cohort("R", 1)
        builder.queue("a", 4, **RECLAIM)
        builder.queue("b", 4)
        builder.running("b1", 4, "b")
        builder.running("a1", 3, "a")
        builder.submit("w", 3, "a")
        assert help_for(builder, "w") is PreemptionOutlook.WITHIN_NOMINAL
        assert explanation_lines(ask(builder, "w"))[-1] == (
            "Preemption can't help: workloads using it are within their nominal quota."
        )

    def test_it_would_have_to_borrow(self) -> None:
        """G12 (SCH-522)."""
        builder = ScenarioBuilder()
        builder.queue("a", 4, **RECLAIM)
        builder.queue("b", 8)
        builder.running("b1", 6, "b")
        builder.running("b2", 6, "b")
        builder.submit("a1", 6, "a")
        assert help_for(builder, "a1") is PreemptionOutlook.BORROWING
        assert explanation_lines(ask(builder, "a1"))[-1] == (
            "Preemption can't help: it would have to borrow, and queue a does not preempt for that."
        )

    def test_a_threshold_spares_those_above_it_while_borrowing(self) -> None:
        """G13 (SCH-613)."""
        builder = ScenarioBuilder()
        borrowing = {"policy": "LowerPriority", "maxPriorityThreshold": 100}
        builder.queue("shared", 10)
        builder.queue(
            "std", 0, bl=10, preemption={"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": borrowing}
        )
        builder.queue("be", 0, bl=10)
        builder.running("be1", 6, "be", priority=50)
        builder.running("be2", 4, "be", priority=150)
        builder.submit("fits", 5, "std", priority=300)
        builder.submit("not", 7, "std", priority=300)
        builder.submit("low", 5, "std", priority=40)
        assert help_for(builder, "fits") is PreemptionOutlook.POSSIBLE
        assert help_for(builder, "not") is PreemptionOutlook.RANK_WHILE_BORROWING
        assert help_for(builder, "low") is PreemptionOutlook.PRIORITY

    def test_it_would_get_more_than_its_share(self) -> None:
        """G27 (SCH-724, SCH-725)."""
        builder = ScenarioBuilder(configured(FAIR_SHARING))
        builder.queue("a", 3, **RECLAIM)
        builder.queue("b", 3)
        builder.queue("c", 3)
        builder.running("a0", 4, "a")
        for number in range(5):
            builder.running(f"b{number}", 1, "b")
        builder.submit("y", 1, "a")
        assert help_for(builder, "y") is PreemptionOutlook.SHARE
        assert (
            explanation_lines(ask(builder, "y"))[-1]
            == "Preemption can't help: queue a would get more than its fair share."
        )

    def test_it_is_pointless(self) -> None:
        builder = one_queue(**LOWER)
        builder.running("low", 10)
        builder.submit("w", 11, priority=1)
        assert help_for(builder, "w") is PreemptionOutlook.POINTLESS


class TestWouldFit:
    """What would become of a workload that was never submitted."""

    def test_pod_sets_in_a_cluster_queue(self) -> None:
        builder = one_queue()
        builder.running("r", 8)
        explanation = builder.engine.would_fit([pods(4)], "q", builder.now)
        assert explanation.state is WorkloadPhase.NOT_SUBMITTED
        assert (
            explanation_lines(explanation)[0] == "This would wait for 2 more cpu in flavor f: queue q has 10, 8 in use."
        )
        assert explanation_lines(builder.engine.would_fit([pods(2)], "q", builder.now)) == [
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
        builder = one_queue()
        broken = PodSet(template=msgspec.Raw(b'{"spec": 3}'))
        assert builder.engine.would_fit([broken], "q", builder.now).reason == "Misconfigured"

    def test_a_namespace_that_is_not_selected(self) -> None:
        builder = one_queue(namespaceSelector={"matchLabels": {"team": "x"}})
        explanation = builder.engine.would_fit([pods(1)], ObjectKey("ns", "q"), builder.now)
        assert explanation.message == "workload namespace doesn't match ClusterQueue selector"

    @given(scenarios(most_steps=15), st.data())
    @settings(max_examples=20)
    def test_it_equals_explain_after_submission(self, scenario: Json, data: st.DataObject) -> None:
        runner = played(scenario)
        known = [each for each in runner.workloads.values() if each.spec.queue_name]
        model = data.draw(st.sampled_from(known)) if known else None
        if model is None:
            return
        thing = v1beta2.Workload(
            metadata=structs.replace(model.metadata, name="new", uid="zzz", creation_timestamp=runner.now),
            spec=model.spec,
        )
        queue = ObjectKey(model.metadata.namespace, model.spec.queue_name or "")
        foreseen = runner.engine.would_fit(thing, queue, runner.now)
        runner.engine.apply(ObjectUpserted(thing), runner.now)
        seen = runner.engine.explain(ObjectKey(queue.namespace, "new"), runner.now)
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
    runner = played(scenario)
    bring_up_to_date(runner.engine)
    before = picture(runner.engine)
    ask_everything(runner)
    assert picture(runner.engine) == before


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
    runner = played(scenario)
    fresh = {key for key, each in runner.engine.store.workloads.items() if each.progress is None}
    foreseen = {key: runner.engine.explain(key, runner.now) for key in fresh}
    decided = [each for each in runner.engine.run_cycle(runner.now) if isinstance(each, Reserve | KeepPending)]
    heads = Counter(tree_of(runner.engine, each.workload) for each in decided)
    for decision in decided:
        explanation = foreseen.get(decision.workload)
        if explanation is None or heads[tree_of(runner.engine, decision.workload)] > 1:
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
    runner = played(scenario)
    for key in runner.engine.store.workloads:
        explanation = runner.engine.explain(key, runner.now)
        lines = explanation_lines(explanation)
        assert 1 <= len(lines) <= 6
        assert lines[0].startswith(str(key))
        assert all(line.endswith(".") and ".." not in line for line in lines)
        assert msgspec.json.encode(explanation)
        assert isinstance(remedies(explanation), tuple)


def played(scenario: Json) -> ScenarioRunner:
    rules = configured(scenario["configuration"], **scenario["gates"])
    runner = ScenarioRunner(rules)
    runner.play(scenario)
    return runner


def ask_everything(runner: ScenarioRunner) -> None:
    for key in list(runner.engine.store.workloads):
        explanation_lines(runner.engine.explain(key, runner.now))
    for name in runner.engine.store.queues:
        runner.engine.would_fit([pods(1), pods(20, "other")], name, runner.now)
    for local_queue in list(runner.engine.store.local_queues):
        runner.engine.would_fit([pods(3)], local_queue, runner.now)


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
    builder = one_queue()
    builder.submit("w", 1)
    before = picture(builder.engine)
    builder.engine.store.workloads[ObjectKey("ns", "w")].priority += 1
    assert picture(builder.engine) != before


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


def change(builder: ScenarioBuilder, name: str, **spec: Json) -> None:
    workload = builder.workloads[ObjectKey("ns", name)]
    builder.show(structs.replace(workload, spec=structs.replace(workload.spec, **spec)))


def annotate(builder: ScenarioBuilder, name: str, annotations: dict[str, str]) -> None:
    workload = builder.workloads[ObjectKey("ns", name)]
    builder.show(structs.replace(workload, metadata=structs.replace(workload.metadata, annotations=annotations)))


def back_off(builder: ScenarioBuilder, name: str, until: datetime) -> None:
    workload = builder.workloads[ObjectKey("ns", name)]
    state = v1beta2.workload.RequeueState(count=1, requeue_at=until)
    builder.show(structs.replace(workload, status=structs.replace(workload.status, requeue_state=state)))
