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
    play = fair()
    play.queue("s", 12)
    play.queue("a", 0, weight=1, **RECLAIM)
    play.queue("b", 0, weight=2, **RECLAIM)
    for number in range(6):
        play.running(f"a{number}", 2, "a")
    for number, victim in enumerate(["a5", "a4", "a3", "a2"]):
        play.submit(f"b{number}", 2, "b")
        assert play.turn().evicted == {victim: "InCohortFairSharing"}
        play.settle()
        assert f"b{number}" in play.turn().admitted
        assert play.turn().evicted == {}, "the victim finds no fair target in its turn"
        play.delete({"kind": "Workload", "namespace": "ns", "name": victim})
    play.submit("b4", 2, "b")
    assert play.turn().evicted == {}
    assert [share_of(play.engine.store.queues[name].node).weighted for name in "ab"] == [334, 334]
    play.submit("a6", 2, "a")
    assert play.turn().evicted == {}, "nor does the other side get anything back"


def test_g25_the_tournament() -> None:
    """SCH-730, SCH-731."""
    play = fair()
    play.cohort("R", 4)
    play.cohort("L", parent="R")
    play.cohort("M", parent="R")
    for name, nominal, cohort, used in (("a", 2, "L", 4), ("b", 2, "L", 1), ("c", 4, "M", 4), ("d", 2, "M", 0)):
        play.queue(name, nominal, cohort=cohort)
        if used:
            play.running(f"{name}0", used, name)
    assert [share_with(play, f"{name}", name) for name in "abcd"] == [214.3, 0, 71.4, 0]
    assert [share_with(play, queue, cohort) for queue, cohort in ("bL", "dM")] == [142.9, 0]
    for name in "abcd":
        play.submit(f"{name}1", 1, name)
    assert play.once().reserved == ["d1", "c1", "b1", "a1"]


def share_with(play: ScenarioBuilder, queue: str, node: str, flavor: str = "f", size: int = 1) -> float:
    """The share of a queue or cohort once the queue has so many cores more."""
    play.engine.store.hierarchy.refresh()
    nodes: dict[str, HierarchyNode] = {**play.engine.store.hierarchy.queues, **play.engine.store.hierarchy.cohorts}
    cell = nodes[queue].cells[FlavorResource(flavor, CPU)]
    cell.use(size * 1000)
    share = share_of(nodes[node]).value
    cell.free(size * 1000)
    return round(share, 1)


@pytest.mark.parametrize(("gate", "first"), [(True, "x1"), (False, "y1")])
def test_g26_not_borrowing_is_judged_per_flavor(gate: bool, first: str) -> None:
    """SCH-731."""
    play = fair(FairSharingPrioritizeNonBorrowing=gate)
    play.queue("s", groups=[group({"f1": [quota(CPU, 10)], "f2": [quota(CPU, 10)]})])
    play.queue("x", groups=[group({"f1": [quota(CPU, 0)], "f2": [quota(CPU, 4)]})])
    play.queue("y", groups=[group({"f2": [quota(CPU, 0)]})])
    play.running("x0", 8, "x", flavor="f1")
    only_f2 = {"nodeSelector": {"flavor": "f2"}}
    play.flavor("f1", nodeLabels={"flavor": "f1"})
    play.flavor("f2", nodeLabels={"flavor": "f2"})
    assert [share_with(play, name, name, "f2", 2) for name in "xy"] == [333.3, 83.3]
    play.submit("x1", 2, "x", **only_f2)
    play.submit("y1", 2, "y", **only_f2)
    assert play.once().reserved[0] == first


def test_g27_fair_preemption_converges() -> None:
    """SCH-724, SCH-725."""
    play = fair()
    play.queue("a", 3, **RECLAIM)
    play.queue("b", 3)
    play.queue("c", 3)
    play.running("a0", 3, "a")
    for number in range(6):
        play.running(f"b{number}", 1, "b")
    play.submit("x", 1, "a")
    assert play.turn().evicted == {"b5": "InCohortFairSharing"}
    play.delete({"kind": "Workload", "namespace": "ns", "name": "b5"})
    assert play.turn().reserved == ["x"]
    play.submit("y", 1, "a")
    assert play.turn().evicted == {}
    cells = [play.engine.store.queues[name].node.cells[FlavorResource("f", CPU)] for name in "ab"]
    assert [cell.usage // 1000 for cell in cells] == [4, 5]


@pytest.mark.parametrize(("configuration", "evicted"), [(FINAL_ONLY, {}), (FAIR_SHARING, {"B": "InCohortFairSharing"})])
def test_g28_a_greedy_workload(configuration: Any, evicted: dict[str, str]) -> None:
    """SCH-725."""
    play = fair(configuration)
    play.queue("s", 10)
    play.queue("a", 0, **RECLAIM)
    play.queue("b", 0)
    play.running("B", 10, "b")
    play.submit("a1", 4, "a")
    assert play.turn().evicted == evicted


@pytest.mark.parametrize(
    ("gate", "evicted"), [(True, {"c1": "InCohortReclamation"}), (False, {"b1": "InCohortFairSharing"})]
)
def test_g29_the_shortcut_within_nominal_quota(gate: bool, evicted: dict[str, str]) -> None:
    """SCH-722, SCH-724."""
    play = fair(FINAL_ONLY, FairSharingPreemptWithinNominal=gate)
    play.cohort("R", 4)
    play.cohort("L", parent="R")
    play.cohort("M", parent="R")
    play.queue("a", 2, cohort="L", **RECLAIM)
    play.queue("b", 0, cohort="L")
    play.queue("c", 2, cohort="M")
    play.running("b1", 2, "b")
    play.running("c1", 6, "c")
    play.submit("a1", 2, "a")
    assert play.turn().evicted == evicted


class TestG30:
    """A weight of zero (SCH-703, SCH-704, SCH-724)."""

    @pytest.fixture
    def play(self) -> ScenarioBuilder:
        play = fair()
        play.queue("s", 10)
        play.queue("a", 0, weight=0, **RECLAIM)
        play.queue("b", 0, weight=1, **RECLAIM)
        return play

    def test_it_preempts_no_workload(self, play: ScenarioBuilder) -> None:
        play.running("b1", 5, "b")
        play.running("b2", 5, "b")
        play.submit("a1", 2, "a")
        assert play.turn().evicted == {}

    def test_the_others_preempt_its_workloads(self, play: ScenarioBuilder) -> None:
        play.running("a1", 5, "a")
        play.running("a2", 5, "a")
        play.submit("b1", 2, "b")
        assert play.turn().evicted == {"a2": "InCohortFairSharing"}
        assert share_of(play.engine.store.queues["a"].node).weighted == INFINITE_SHARE
