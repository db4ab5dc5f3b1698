"""Golden scenarios G25 to G30 and the worked example of §7.5: fair sharing by preemption."""

from typing import Any

import pytest

from engine.scenario_builders import CPU, FAIR_SHARING, ScenarioBuilder, configured, group, quota
from kohort.engine.drs import INFINITE_SHARE, share_of
from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.quota import FlavorResource

RECLAIM: Any = {"preemption": {"reclaimWithinCohort": "Any"}}
FINAL_ONLY = {"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare"]}}


def fair(configuration: Any = None, **gates: bool) -> ScenarioBuilder:
    return ScenarioBuilder(configured(configuration or FAIR_SHARING, **gates))


def test_the_worked_example_converges_to_the_weights() -> None:
    """§7.5: SCH-723 to SCH-725."""
    builder = fair()
    builder.queue("s", 12)
    builder.queue("a", 0, weight=1, **RECLAIM)
    builder.queue("b", 0, weight=2, **RECLAIM)
    for number in range(6):
        builder.running(f"a{number}", 2, "a")
    for number, victim in enumerate(["a5", "a4", "a3", "a2"]):
        builder.submit(f"b{number}", 2, "b")
        assert builder.turn().evicted == {victim: "InCohortFairSharing"}
        builder.settle()
        assert f"b{number}" in builder.turn().admitted
        assert builder.turn().evicted == {}, "the victim finds no fair target in its turn"
        builder.delete({"kind": "Workload", "namespace": "ns", "name": victim})
    builder.submit("b4", 2, "b")
    assert builder.turn().evicted == {}
    assert [share_of(builder.engine.store.queues[name].node).weighted for name in "ab"] == [334, 334]
    builder.submit("a6", 2, "a")
    assert builder.turn().evicted == {}, "nor does the other side get anything back"


def test_g25_the_tournament() -> None:
    """SCH-730, SCH-731."""
    builder = fair()
    builder.cohort("R", 4)
    builder.cohort("L", parent="R")
    builder.cohort("M", parent="R")
    for name, nominal, cohort, used in (("a", 2, "L", 4), ("b", 2, "L", 1), ("c", 4, "M", 4), ("d", 2, "M", 0)):
        builder.queue(name, nominal, cohort=cohort)
        if used:
            builder.running(f"{name}0", used, name)
    assert [share_with(builder, f"{name}", name) for name in "abcd"] == [214.3, 0, 71.4, 0]
    assert [share_with(builder, queue, cohort) for queue, cohort in ("bL", "dM")] == [142.9, 0]
    for name in "abcd":
        builder.submit(f"{name}1", 1, name)
    assert builder.once().reserved == ["d1", "c1", "b1", "a1"]


def share_with(builder: ScenarioBuilder, queue: str, node: str, flavor: str = "f", size: int = 1) -> float:
    """The share of a queue or cohort once the queue has so many cores more."""
    builder.engine.store.hierarchy.refresh()
    nodes: dict[str, HierarchyNode] = {
        **builder.engine.store.hierarchy.queues,
        **builder.engine.store.hierarchy.cohorts,
    }
    cell = nodes[queue].cells[FlavorResource(flavor, CPU)]
    cell.use(size * 1000)
    share = share_of(nodes[node]).value
    cell.free(size * 1000)
    return round(share, 1)


@pytest.mark.parametrize(("gate", "first"), [(True, "x1"), (False, "y1")])
def test_g26_not_borrowing_is_judged_per_flavor(gate: bool, first: str) -> None:
    """SCH-731."""
    builder = fair(FairSharingPrioritizeNonBorrowing=gate)
    builder.queue("s", groups=[group({"f1": [quota(CPU, 10)], "f2": [quota(CPU, 10)]})])
    builder.queue("x", groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]})])
    builder.queue("y", groups=[group({"f2": [quota(CPU, 0)]})])
    builder.running("x0", 8, "x", flavor="f1")
    only_f2 = {"nodeSelector": {"flavor": "f2"}}
    builder.flavor("f1", nodeLabels={"flavor": "f1"})
    builder.flavor("f2", nodeLabels={"flavor": "f2"})
    assert [share_with(builder, name, name, "f2", 2) for name in "xy"] == [333.3, 83.3]
    builder.submit("x1", 2, "x", **only_f2)
    builder.submit("y1", 2, "y", **only_f2)
    assert builder.once().reserved[0] == first


def test_g27_fair_preemption_converges() -> None:
    """SCH-724, SCH-725."""
    builder = fair()
    builder.queue("a", 3, **RECLAIM)
    builder.queue("b", 3)
    builder.queue("c", 3)
    builder.running("a0", 3, "a")
    for number in range(6):
        builder.running(f"b{number}", 1, "b")
    builder.submit("x", 1, "a")
    assert builder.turn().evicted == {"b5": "InCohortFairSharing"}
    builder.delete({"kind": "Workload", "namespace": "ns", "name": "b5"})
    assert builder.turn().reserved == ["x"]
    builder.submit("y", 1, "a")
    assert builder.turn().evicted == {}
    cells = [builder.engine.store.queues[name].node.cells[FlavorResource("f", CPU)] for name in "ab"]
    assert [cell.usage // 1000 for cell in cells] == [4, 5]


@pytest.mark.parametrize(("configuration", "evicted"), [(FINAL_ONLY, {}), (FAIR_SHARING, {"B": "InCohortFairSharing"})])
def test_g28_a_greedy_workload(configuration: Any, evicted: dict[str, str]) -> None:
    """SCH-725."""
    builder = fair(configuration)
    builder.queue("s", 10)
    builder.queue("a", 0, **RECLAIM)
    builder.queue("b", 0)
    builder.running("B", 10, "b")
    builder.submit("a1", 4, "a")
    assert builder.turn().evicted == evicted


@pytest.mark.parametrize(
    ("gate", "evicted"), [(True, {"c1": "InCohortReclamation"}), (False, {"b1": "InCohortFairSharing"})]
)
def test_g29_the_shortcut_within_nominal_quota(gate: bool, evicted: dict[str, str]) -> None:
    """SCH-722, SCH-724."""
    builder = fair(FINAL_ONLY, FairSharingPreemptWithinNominal=gate)
    builder.cohort("R", 4)
    builder.cohort("L", parent="R")
    builder.cohort("M", parent="R")
    builder.queue("a", 2, cohort="L", **RECLAIM)
    builder.queue("b", 0, cohort="L")
    builder.queue("c", 2, cohort="M")
    builder.running("b1", 2, "b")
    builder.running("c1", 6, "c")
    builder.submit("a1", 2, "a")
    assert builder.turn().evicted == evicted


class TestG30:
    """A weight of zero (SCH-703, SCH-704, SCH-724)."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        builder = fair()
        builder.queue("s", 10)
        builder.queue("a", 0, weight=0, **RECLAIM)
        builder.queue("b", 0, weight=1, **RECLAIM)
        return builder

    def test_it_preempts_no_workload(self, builder: ScenarioBuilder) -> None:
        builder.running("b1", 5, "b")
        builder.running("b2", 5, "b")
        builder.submit("a1", 2, "a")
        assert builder.turn().evicted == {}

    def test_the_others_preempt_its_workloads(self, builder: ScenarioBuilder) -> None:
        builder.running("a1", 5, "a")
        builder.running("a2", 5, "a")
        builder.submit("b1", 2, "b")
        assert builder.turn().evicted == {"a2": "InCohortFairSharing"}
        assert share_of(builder.engine.store.queues["a"].node).weighted == INFINITE_SHARE
