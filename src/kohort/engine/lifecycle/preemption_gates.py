"""Gates that keep a Workload from preempting others until they are opened (SCH-1120, API-121)."""

from datetime import datetime

from msgspec.structs import replace

from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PreemptionGateState
from kohort.engine.lifecycle.conditions import (
    BLOCKED_ON_PREEMPTION_GATES,
    condition_true,
    whole_second,
    with_condition_set,
    with_status,
)

GateStates = tuple[PreemptionGateState, ...]

CONCURRENT_ADMISSION_GATE = "kueue.x-k8s.io/concurrent-admission"
"""Keeps variants of one workload from preempting at the same time (SCH-1110)."""

BLOCKED_MESSAGE = "Workload requires preemption, but it's gated"


def mirror_gates(workload: Workload, gates: FeatureGates, now: datetime) -> Workload:
    """Set a state for every gate of the spec, new ones closed, and remove those of other gates (API-121)."""
    if not gates.enabled(Gate.MultiKueueOrchestratedPreemption):
        return workload
    known = {state.name: state for state in workload.status.preemption_gates}
    names = (gate.name for gate in workload.spec.preemption_gates)
    states = tuple(known.get(name) or _closed_gate(name, now) for name in names)
    return with_status(workload, replace(workload.status, preemption_gates=states))


def _closed_gate(name: str, now: datetime) -> PreemptionGateState:
    return PreemptionGateState(name=name, position="Closed", last_transition_time=whole_second(now))


def closed(states: GateStates, now: datetime) -> GateStates:
    """The gates, all closed, as an eviction leaves them (SCH-1120)."""
    return tuple(state if state.position == "Closed" else _closed_gate(state.name, now) for state in states)


def gate_opened_at(workload: Workload, name: str) -> datetime | None:
    """Since when the gate is open; None while it is closed."""
    opened = (state for state in workload.status.preemption_gates if (state.name, state.position) == (name, "Open"))
    return next((state.last_transition_time for state in opened), None)


def open_gate(workload: Workload, name: str, now: datetime) -> Workload:
    """Open a gate (SCH-1115, SCH-1120)."""
    if gate_opened_at(workload, name) is not None:
        return workload
    opened = PreemptionGateState(name=name, position="Open", last_transition_time=whole_second(now))
    others = (state for state in workload.status.preemption_gates if state.name != name)
    return with_status(workload, replace(workload.status, preemption_gates=(*others, opened)))


def block_on_gates(workload: Workload, now: datetime) -> Workload:
    """Record that the Workload would preempt if its gates were open (SCH-335)."""
    return with_condition_set(
        workload, BLOCKED_ON_PREEMPTION_GATES, condition_true("PreemptionGated", BLOCKED_MESSAGE), now
    )
