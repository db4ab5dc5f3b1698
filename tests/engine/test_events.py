"""Events may come in any order, twice, or late: nothing is lost, and nothing waits in vain."""

from typing import Any

import pytest

from engine.checked_scenarios import checked_builder
from engine.invariants import check
from engine.scenario_builders import CPU, ScenarioBuilder, group, quota
from kohort.api.meta import ObjectKey
from kohort.engine.events import ObjectDeleted, ReservationFailed
from kohort.engine.quota import FlavorResource

Json = Any
KUEUE = "kueue.x-k8s.io/v1beta2"
LOWER: Json = {"preemption": {"withinClusterQueue": "LowerPriority"}}


@pytest.fixture
def builder() -> ScenarioBuilder:
    return checked_builder()


def reservation(*conditions: Json) -> Json:
    """The status of a workload that holds 4 cores in q."""
    assignment = {"name": "main", "count": 1, "flavors": {CPU: "f"}, "resourceUsage": {CPU: "4"}}
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": ""}
    time = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {
        "admission": {"clusterQueue": "q", "podSetAssignments": [assignment]},
        "conditions": [{**each, **time} for each in (reserved, *conditions)],
    }


def multikueue_check(name: str) -> Json:
    """An active AdmissionCheck of the MultiKueue controller."""
    active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
    return {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": "kueue.x-k8s.io/multikueue"},
        "status": {"conditions": [{**active, "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    }


class TestReactivation:
    """Every event that may have freed quota reactivates all inadmissible workloads of the tree (SCH-260, SCH-261)."""

    def test_when_another_queue_of_the_cohort_gets_more_quota(self, builder: ScenarioBuilder) -> None:
        builder.queue("a", 4)
        builder.queue("b", 4)
        builder.submit("w", 10, "a")
        assert builder.turn().reserved == []
        builder.queue("b", 6)
        assert builder.turn().reserved == ["w"]

    def test_when_a_queue_that_borrowed_leaves(self, builder: ScenarioBuilder) -> None:
        builder.queue("a", 4)
        builder.queue("b", 0)
        builder.running("x", 4, "b")
        builder.submit("w", 4, "a")
        assert builder.turn().reserved == []
        builder.queue("b", 0, cohort="elsewhere")
        assert builder.turn().reserved == ["w"]

    def test_when_a_cohort_that_borrowed_leaves(self, builder: ScenarioBuilder) -> None:
        builder.cohort("L", parent="R")
        builder.queue("a", 4)
        builder.queue("b", 0, cohort="L")
        builder.running("x", 4, "b")
        builder.submit("w", 4, "a")
        assert builder.turn().reserved == []
        builder.cohort("L")
        assert builder.turn().reserved == ["w"]

    def test_when_the_parent_cohort_is_deleted(self, builder: ScenarioBuilder) -> None:
        builder.cohort("R", 0)
        builder.cohort("L", parent="R")
        builder.queue("a", 4, cohort="L")
        builder.queue("b", 0)
        builder.running("x", 4, "b")
        builder.submit("w", 4, "a")
        assert builder.turn().reserved == []
        builder.delete({"kind": "Cohort", "name": "L"})
        assert builder.turn().reserved == ["w"]

    def test_when_a_surplus_check_is_removed(self, builder: ScenarioBuilder) -> None:
        """MK-3, SCH-1051: two MultiKueue checks keep a queue from admitting."""
        for name in ("one", "two"):
            builder.put(multikueue_check(name))
        builder.queue("a", 4, admissionChecksStrategy={"admissionChecks": [{"name": "one"}, {"name": "two"}]})
        builder.submit("w", 4, "a")
        assert builder.turn().reserved == []
        builder.queue("a", 4, admissionChecksStrategy={"admissionChecks": [{"name": "one"}]})
        assert builder.turn().reserved == ["w"]

    def test_when_a_flavor_appears_again(self, builder: ScenarioBuilder) -> None:
        builder.queue("a", 4)
        builder.delete({"kind": "ResourceFlavor", "name": "f"})
        builder.submit("w", 4, "a")
        assert builder.turn().reserved == []
        builder.flavor("f")
        assert builder.turn().reserved == ["w"]

    def test_when_an_admitted_workload_gets_a_lower_priority(self, builder: ScenarioBuilder) -> None:
        builder.queue("q", 4, **LOWER)
        builder.running("x", 4, priority=1)
        builder.submit("w", 4, priority=1)
        assert builder.turn().evicted == {}
        manifest = builder.workload("x", 4, "q", priority=0)
        manifest["metadata"]["uid"] = "0001-x"
        builder.put(manifest)
        assert builder.turn().evicted == {"x": "InClusterQueue"}

    def test_but_not_when_only_a_status_was_written(self, builder: ScenarioBuilder) -> None:
        builder.queue("q", 4)
        builder.submit("w", 5)
        builder.turn()
        builder.queue("q", 4)
        assert builder.turn().decisions == []


class TestOrder:
    def test_a_holder_may_be_seen_before_its_queue(self, builder: ScenarioBuilder) -> None:
        """SCH-420: after a restart objects come in any order."""
        builder.put({**builder.workload("x", 4, "q"), "status": reservation()})
        builder.queue("q", 4)
        builder.submit("w", 4)
        assert builder.turn().reserved == []
        assert list(builder.engine.store.queues["q"].holders) == [ObjectKey("ns", "x")]

    def test_a_recreated_queue_has_all_its_workloads(self, builder: ScenarioBuilder) -> None:
        builder.queue("q", 4)
        builder.running("x", 4)
        builder.submit("w", 4)
        builder.turn()
        builder.delete({"kind": "ClusterQueue", "name": "q"})
        builder.turn()
        builder.queue("q", 8)
        assert builder.turn().reserved == ["w"]
        assert set(builder.engine.store.queues["q"].holders) == {ObjectKey("ns", "x"), ObjectKey("ns", "w")}

    def test_a_local_queue_may_come_last(self, builder: ScenarioBuilder) -> None:
        builder.submit("w", 4)
        builder.turn()
        builder.queue("q", 4)
        assert builder.turn().reserved == ["w"]

    @pytest.mark.parametrize(
        "kind", ["Workload", "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Namespace"]
    )
    def test_what_was_never_there_may_go(self, builder: ScenarioBuilder, kind: str) -> None:
        builder.engine.apply(ObjectDeleted(kind, ObjectKey("ns", "missing")), builder.now)
        assert check(builder.engine) == []

    def test_another_uid_under_the_same_name_is_another_object(self, builder: ScenarioBuilder) -> None:
        """A watch may report a deletion and a creation as one change; the UID distinguishes them."""
        builder.queue("q", 4)
        builder.running("x", 4)
        builder.submit("x", 2)
        assert builder.turn().reserved == ["x"]
        assert builder.engine.store.workloads[ObjectKey("ns", "x")].uid == "0002-x"


class TestFailedWrites:
    def test_a_change_seen_meanwhile_counts(self, builder: ScenarioBuilder) -> None:
        """SCH-352, SCH-235: the object as it is by now, not as it was when the admission was decided."""
        builder.queue("q", 4)
        builder.submit("w", 4)
        builder.submit("other", 4)
        builder.engine.schedule(builder.now)
        changed = builder.workload("w", 4, "q", priority=-1)
        changed["metadata"] |= {"uid": "0001-w", "generation": 2}
        builder.put(changed)
        builder.engine.apply(ReservationFailed(ObjectKey("ns", "w")), builder.now)
        assert builder.turn().reserved == ["other"]

    def test_quota_dropped_while_the_local_queue_is_stopped_is_not_given_again(self, builder: ScenarioBuilder) -> None:
        """SCH-204, SCH-1050."""
        builder.queue("q", 4)
        workload = {**builder.workload("w", 4, "q"), "status": reservation()}
        builder.put(workload)
        local_queue = {"clusterQueue": "q", "stopPolicy": "Hold"}
        head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
        builder.put({**head, "metadata": {"name": "q", "namespace": "ns"}, "spec": local_queue})
        status = reservation()
        condition = {**status["conditions"][0], "status": "False", "reason": "Suspended"}
        builder.put({**workload, "status": {"conditions": [condition]}})
        assert builder.turn().reserved == []


class TestCohortCycles:
    """Cohorts whose parents form a cycle are excluded until the cycle is broken (SCH-402)."""

    @pytest.fixture
    def circle(self, builder: ScenarioBuilder) -> ScenarioBuilder:
        builder.cohort("A", parent="B")
        builder.cohort("B", parent="A")
        builder.queue("q", 8, cohort="A")
        return builder

    def test_a_holder_of_uncovered_usage_does_no_harm(self, circle: ScenarioBuilder) -> None:
        circle.running("x", 4, flavor="new")
        circle.submit("w", 4)
        assert circle.turn().reserved == []

    def test_a_queue_that_joins_it_no_longer_counts_where_it_was(self, circle: ScenarioBuilder) -> None:
        circle.cohort("R", 1)
        circle.queue("p", 4, cohort="R")
        circle.running("x", 4, "p")
        circle.turn()
        circle.queue("p", 4, cohort="B")
        circle.turn()
        circle.finish("ns/x")
        assert circle.engine.store.hierarchy.cohorts["R"].cells[FlavorResource("f", CPU)].usage == 0

    @pytest.mark.parametrize("cohort", ["A", "B"])
    def test_deleting_a_cohort_breaks_it(self, circle: ScenarioBuilder, cohort: str) -> None:
        circle.submit("w", 4)
        assert circle.turn().reserved == []
        circle.delete({"kind": "Cohort", "name": cohort})
        assert circle.turn().reserved == ["w"]


def test_a_status_of_the_local_queue_leaves_the_queue_as_it_is(builder: ScenarioBuilder) -> None:
    """SCH-240: a preemptor stays sticky after any changes of its LocalQueue."""
    builder.queue("q", 4, **LOWER)
    builder.running("low", 4)
    builder.submit("preemptor", 4, priority=1)
    builder.turn()
    builder.queue("q", 4, **LOWER)
    builder.submit("higher", 4, priority=2)
    builder.settle()
    assert builder.turn().reserved == ["preemptor"]


def test_a_new_layout_leaves_holders_where_they_are(builder: ScenarioBuilder) -> None:
    """SCH-434: what is held of a flavor that the queue no longer offers still counts."""
    builder.queue("q", 4)
    builder.running("x", 4)
    builder.queue("q", groups=[group({"g": [quota(CPU, 4)]})])
    builder.submit("w", 4)
    assert builder.turn().admitted == {"x": {CPU: "f"}, "w": {CPU: "g"}}
