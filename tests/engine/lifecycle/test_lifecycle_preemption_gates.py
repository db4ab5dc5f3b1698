from engine.lifecycle.sample_workloads import at, condition_text, having, with_status, workload
from kohort.api.gates import DEFAULT_GATES, Gate
from kohort.api.kueue.v1beta2.workload import PreemptionGate, PreemptionGateState
from kohort.engine.lifecycle.preemption_gates import block_on_gates, mirror_gates

NOW = at(100)
MIRRORED = having(Gate.MultiKueueOrchestratedPreemption)
CONCURRENT = having(Gate.ConcurrentAdmission)
GATED = workload(preemption_gates=(PreemptionGate(name="a"), PreemptionGate(name="b")))


def state(name: str, position: str = "Closed", second: float = 0) -> PreemptionGateState:
    return PreemptionGateState(name=name, position=position, last_transition_time=at(second))  # type: ignore[arg-type]


class TestMirroring:
    def test_adds_new_gates_closed_and_removes_stale_ones(self) -> None:
        """API-121"""
        before = with_status(GATED, preemption_gates=(state("stale"), state("b", "Open", 5)))
        assert mirror_gates(before, MIRRORED, NOW).status.preemption_gates == (
            state("a", second=100),
            state("b", "Open", 5),
        )

    def test_leaves_the_right_list_alone(self) -> None:
        """API-121"""
        before = with_status(GATED, preemption_gates=(state("a"), state("b", "Open")))
        assert mirror_gates(before, MIRRORED, NOW) is before

    def test_is_off_without_its_feature_gate(self) -> None:
        """API-121"""
        assert mirror_gates(GATED, DEFAULT_GATES, NOW) is GATED


def test_blocking_is_written_as_a_condition() -> None:
    """SCH-335"""
    expected = ("True", "PreemptionGated", "Workload requires preemption, but it's gated")
    assert condition_text(block_on_gates(GATED, NOW), "BlockedOnPreemptionGates") == expected
