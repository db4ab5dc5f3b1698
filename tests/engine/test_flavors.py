"""The flavor of each pod set, and the message where it gets none (SCH-501 to SCH-551)."""

from typing import Any

import pytest

from engine.scenario_builders import CPU, ScenarioBuilder, configured, group, quota
from kohort.api.kueue.v1beta2.queues import FlavorFungibility
from kohort.api.meta import ObjectKey
from kohort.engine.assignment import FitMode
from kohort.engine.decisions import KeepPending, RequeueReason, Reserve

Json = Any
MEMORY = "memory"
WITHOUT_FUNGIBILITY = configured(FlavorFungibility=False, FlavorFungibilityPreserveScanProgress=False)


def asking(builder: ScenarioBuilder, name: str, *pod_sets: Json, queue: str = "q", **facts: Json) -> None:
    """A workload of several pod sets: each a name, its requests, and the rest of its spec."""
    manifest = builder.workload(name, 1, queue, **facts)
    manifest["spec"]["podSets"] = [pod_set(*each) for each in pod_sets]
    builder.put(manifest)


def pod_set(name: str, requests: Json, more: Json = None) -> Json:
    resources = {"requests": {resource: str(amount) for resource, amount in requests.items()}}
    return {
        "name": name,
        "count": 1,
        "template": {"spec": {"containers": [{"name": "c", "resources": resources}]}},
        **(more or {}),
    }


def flavors(builder: ScenarioBuilder, name: str = "w") -> dict[str, dict[str, str]]:
    """Flavors of each pod set of an admitted workload."""
    admission = builder.workloads[ObjectKey("ns", name)].status.admission
    return {each.name: dict(each.flavors) for each in admission.pod_set_assignments} if admission else {}


def two_flavors(first: Json, second: Json, settings: Json = None, **spec: Json) -> ScenarioBuilder:
    """A queue with cpu in flavors f1 and f2."""
    builder = ScenarioBuilder(settings)
    builder.queue("q", groups=[group({"f1": [quota(CPU, first)], "f2": [quota(CPU, second)]})], **spec)
    return builder


class TestGroups:
    """SCH-501: pod sets of one topology group are assigned as one"""

    TOGETHER: Json = {"topologyRequest": {"podSetGroupName": "g"}}

    def test_all_get_one_flavor_with_enough_quota_for_all_of_them(self) -> None:
        builder = two_flavors(5, 10)
        asking(builder, "w", ("a", {CPU: 3}, self.TOGETHER), ("b", {CPU: 3}, self.TOGETHER))
        builder.turn()
        assert flavors(builder) == {"a": {CPU: "f2"}, "b": {CPU: "f2"}}

    def test_others_choose_for_themselves(self) -> None:
        builder = two_flavors(5, 10)
        asking(builder, "w", ("a", {CPU: 3}), ("b", {CPU: 3}))
        builder.turn()
        assert flavors(builder) == {"a": {CPU: "f1"}, "b": {CPU: "f2"}}

    def test_each_member_gets_flavors_for_its_own_resources(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("q", groups=[group({"f": [quota(CPU, 5), quota(MEMORY, 5)]})])
        asking(builder, "w", ("a", {CPU: 1}, self.TOGETHER), ("b", {MEMORY: 1}, self.TOGETHER))
        builder.turn()
        assert flavors(builder) == {"a": {CPU: "f"}, "b": {MEMORY: "f"}}


class TestFailing:
    def test_after_a_pod_set_without_any_flavor_no_other_is_evaluated(self) -> None:
        """SCH-505, SCH-546"""
        builder = two_flavors(2, 2)
        asking(builder, "w", ("a", {CPU: 3}), ("b", {CPU: 9}))
        message = builder.turn().waiting["w"].message
        assert message.startswith("couldn't assign flavors to pod set a: ")
        assert "pod set b" not in message

    def test_a_resource_that_the_queue_does_not_cover(self) -> None:
        """SCH-504, SCH-548"""
        builder = two_flavors(2, 2)
        builder.submit("w", {CPU: 1, "example.com/gpu": 1})
        builder.turn()
        assert builder.pending_reason("w") == (
            "NoMatchingFlavor",
            "couldn't assign flavors to pod set main: resource example.com/gpu unavailable in ClusterQueue",
        )

    def test_a_flavor_whose_object_is_gone(self) -> None:
        """SCH-510"""
        builder = two_flavors(2, 2)
        del builder.engine.store.flavors["f1"], builder.engine.store.flavors["f2"]
        builder.submit("w", 1)
        builder.turn()
        assert builder.pending_reason("w") == (
            "NoMatchingFlavor",
            "couldn't assign flavors to pod set main: flavor f1 not found, flavor f2 not found",
        )

    def test_the_reasons_of_all_pod_sets_that_do_not_fit_are_listed_alphabetically(self) -> None:
        """SCH-543, SCH-546: of all flavors that were tried, and nothing of the pod set that fits"""
        builder = two_flavors(4, 4)
        builder.running("r1", 4, flavor="f1")
        builder.running("r2", 3, flavor="f2")
        asking(builder, "w", ("a", {CPU: 1}), ("b", {CPU: 2}), ("c", {CPU: 1}))
        short = "insufficient unused quota for cpu in flavor"
        assert builder.turn().waiting["w"].message == (
            f"couldn't assign flavors to pod set b: {short} f1, 2 more needed, {short} f2, 2 more needed; "
            f"couldn't assign flavors to pod set c: {short} f1, 3 more needed, {short} f2, 1 more needed"
        )

    def test_of_several_resource_groups_only_the_failed_one_is_reported(self) -> None:
        """SCH-547, SCH-548: yet the reason is the gravest of all that were looked at"""
        builder = ScenarioBuilder()
        builder.queue(
            "q",
            groups=[group({"c1": [quota(CPU, 1)], "c2": [quota(CPU, 9)]}), group({"m": [quota(MEMORY, 0)]})],
        )
        builder.queue("lender", groups=[group({"m": [quota(MEMORY, 5)]})])
        builder.running("r", {MEMORY: 5}, "lender", flavor="m")
        builder.submit("w", {CPU: 5, MEMORY: 2})
        wait = builder.turn().waiting["w"]
        assert wait.reason == "ExceedsMaxQuota"
        assert wait.message == (
            "couldn't assign flavors to pod set main: insufficient unused quota for memory in flavor m, 2 more needed"
        )

    def test_an_invalid_node_selector(self) -> None:
        """SCH-513"""
        builder = ScenarioBuilder()
        builder.flavor("f", nodeLabels={"type": "spot"})
        builder.queue("q", 4)
        odd = {"matchExpressions": [{"key": "type", "operator": "Like", "values": ["spot"]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [odd]}}}
        builder.submit("w", 1, affinity=affinity)
        wait = builder.turn().waiting["w"]
        assert (wait.reason, wait.requeue) == ("NoMatchingFlavor", RequeueReason.NO_FIT)
        assert wait.message.startswith("failed to assign flavors to pod set main: ")


class TestModes:
    def test_what_is_available_fits_and_borrows_as_far_as_it_must(self) -> None:
        """SCH-521"""
        builder = ScenarioBuilder()
        builder.queue("q", 4)
        builder.queue("lender", 4)
        builder.submit("own", 4)
        builder.submit("lent", 4)
        levels = [each.borrow for each in builder.turn().decisions if isinstance(each, Reserve)]
        assert levels == [0, 1]

    def test_they_rank_from_no_fit_to_fit(self) -> None:
        """SCH-524"""
        assert sorted(FitMode) == [
            FitMode.NO_FIT,
            FitMode.NO_CANDIDATES,
            FitMode.PREEMPT,
            FitMode.RECLAIM,
            FitMode.DEFERRED_FIT,
            FitMode.FIT,
        ]
        assert [mode for mode in FitMode if mode.needs_preemption] == [
            FitMode.NO_CANDIDATES,
            FitMode.PREEMPT,
            FitMode.RECLAIM,
        ]

    def test_the_worst_pod_set_decides_and_the_highest_level_counts(self) -> None:
        """SCH-544"""
        builder = ScenarioBuilder()
        builder.queue("q", 2)
        builder.queue("lender", 2)
        asking(builder, "w", ("a", {CPU: 1}), ("b", {CPU: 2}))
        (reserve,) = builder.turn().decisions
        assert isinstance(reserve, Reserve)
        assert reserve.borrow == 1
        asking(builder, "v", ("a", {CPU: 1}), ("b", {CPU: 2}))
        (wait,) = builder.turn().decisions
        assert isinstance(wait, KeepPending)
        assert wait.assignment is not None
        assert [each.mode for each in wait.assignment.pod_sets] == [FitMode.FIT, FitMode.NO_FIT]
        assert wait.assignment.mode is FitMode.NO_FIT

    def test_a_workload_without_pod_sets_never_fits(self) -> None:
        """SCH-544"""
        builder = two_flavors(2, 2)
        asking(builder, "w")
        assert builder.turn().waiting["w"].requeue is RequeueReason.NO_FIT


class TestScanning:
    """Two flavors in which the queue would have to preempt its own; the first is borrowed from another queue."""

    def scan(self, settings: Json = None, **fungibility: str) -> ScenarioBuilder:
        builder = ScenarioBuilder(settings)
        borrowing = {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}
        policies = {"withinClusterQueue": "LowerPriority", **borrowing}
        quotas = {"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]}
        builder.queue("q", groups=[group(quotas)], preemption=policies, flavorFungibility=fungibility)
        builder.queue("lender", groups=[group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 0)]})])
        builder.running("mine", 4, flavor="f1")
        builder.running("also-mine", 4, flavor="f2")
        builder.submit("w", 4, priority=5)
        return builder.turn()

    def test_without_a_stop_the_best_is_taken(self) -> None:
        """SCH-541: preempting is as good here as there, and f2 needs no borrowing"""
        assert set(self.scan().evicted) == {"also-mine"}

    def test_without_fungibility_the_first_of_the_best_mode_wins(self) -> None:
        """SCH-542: borrowing does not matter, nor does what the queue prefers"""
        assert set(self.scan(WITHOUT_FUNGIBILITY).evicted) == {"mine"}
        preferring = self.scan(
            WITHOUT_FUNGIBILITY,
            whenCanBorrow="TryNextFlavor",
            whenCanPreempt="TryNextFlavor",
            preference="PreemptionOverBorrowing",
        )
        assert set(preferring.evicted) == {"mine"}

    def test_without_fungibility_the_first_fit_ends_the_search_though_it_borrows(self) -> None:
        """SCH-542"""
        builder = ScenarioBuilder(WITHOUT_FUNGIBILITY)
        quotas = {"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]}
        builder.queue("q", groups=[group(quotas)], flavorFungibility={"whenCanBorrow": "TryNextFlavor"})
        builder.queue("lender", groups=[group({"f1": [quota(CPU, 4)], "f2": [quota(CPU, 0)]})])
        builder.submit("w", 4)
        builder.turn()
        assert flavors(builder) == {"main": {CPU: "f1"}}

    def test_previously_tried_flavors_are_reported_with_the_admission(self) -> None:
        """SCH-354: in order of flavors, without those that simply fit"""
        builder = ScenarioBuilder()
        quotas = {"z": [quota(CPU, 1)], "b": [quota(CPU, 0)], "y": [quota(CPU, 9)]}
        builder.queue("q", groups=[group(quotas)], flavorFungibility={"whenCanBorrow": "TryNextFlavor"})
        builder.queue("lender", groups=[group({"z": [quota(CPU, 0)], "b": [quota(CPU, 9)], "y": [quota(CPU, 0)]})])
        builder.submit("w", 2)
        (reserve,) = builder.turn().decisions
        assert isinstance(reserve, Reserve)
        assert reserve.considered == (
            "main: b(Fit;borrow=1), z(NoFit;insufficient quota for cpu in flavor z, previously considered podsets"
            " requests (0) + current podset request (2) > maximum capacity (1))"
        )

    def test_a_scan_keeps_the_state_of_its_queue(self) -> None:
        """SCH-314, SCH-551: it continues at the next flavor, and begins anew when quota of the queue changed"""
        builder = two_flavors(4, 4, flavorFungibility={"whenCanPreempt": "MayStopSearch"})
        builder.queue("rival", groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 0)]})])
        workload = self.skipped(builder)
        assert workload.progress is not None
        assert workload.progress.tried == {("main", CPU): 0}
        assert workload.progress.queue_generation == builder.engine.store.queues["rival"].node.generation
        assert workload.progress.equivalence == workload.equivalence

    def skipped(self, builder: ScenarioBuilder) -> Any:
        """A workload that lost its first flavor to another one of the same cycle."""
        builder.submit("first", 4)
        builder.submit("second", 4, "rival")
        assert builder.once().reserved == ["first"]
        return builder.engine.store.workloads[ObjectKey("ns", "second")]


@pytest.mark.parametrize(
    ("fungibility", "problems"),
    [
        ({"preference": "PreemptionOverBorrowing", "whenCanBorrow": "TryNextFlavor"}, 0),
        ({"preference": "PreemptionOverBorrowing"}, 1),
        ({"preference": "BorrowingOverPreemption", "whenCanPreempt": "MayStopSearch"}, 1),
        ({"whenCanPreempt": "MayStopSearch"}, 0),
    ],
)
def test_a_preference_needs_a_search_that_continues(fungibility: Json, problems: int) -> None:
    """SCH-532: the assigner reads the preference only, so the API must reject it without both policies."""
    (rule,) = FlavorFungibility.schema_rules
    defaults = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
    assert rule.holds({**defaults, **fungibility}, None) is not bool(problems)
