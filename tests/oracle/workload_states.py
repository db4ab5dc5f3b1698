"""States of workloads after the steps of a scenario in our engine, in the format of the Go program."""

from collections.abc import Iterator
from typing import Any

from engine.scenario import ScenarioRunner
from engine.scenario_builders import configured
from kohort.api.codec import to_json
from kohort.api.conditions import find, is_true
from kohort.api.kueue.slices import expand
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PodSetAssignment
from kohort.api.meta import ObjectKey
from kohort.engine.pending import PendingState
from oracle.oracle_runner import OracleRunner

Json = Any
WorkloadStates = dict[str, Json]

NODE_FAILURES = "NodeFailures"
SCHEDULING_STEPS = frozenset({"cycle", "schedule"})
"""Steps after which states are compared."""


def our_answer(scenario: Json) -> list[WorkloadStates | None]:
    """One entry per step; None where the step decides nothing."""
    return list(step_by_step(scenario))


def step_by_step(scenario: Json, kind: type[ScenarioRunner] = OracleRunner) -> Iterator[WorkloadStates | None]:
    """The same with a kind of runner, one step per iteration."""
    runner = kind(configured(scenario.get("configuration"), **scenario.get("gates", {})))
    for manifest in scenario.get("objects", ()):
        runner.put(manifest)
    return (_after(runner, step) for step in scenario.get("steps", ()))


def _after(runner: ScenarioRunner, step: Json) -> WorkloadStates | None:
    runner.perform(step)
    return workload_states(runner) if SCHEDULING_STEPS & step.keys() else None


def workload_states(runner: ScenarioRunner) -> WorkloadStates:
    """The state of every workload by namespace and name."""
    return {f"{key.namespace}/{key.name}": _workload_state(runner, key, each) for key, each in runner.workloads.items()}


def _workload_state(runner: ScenarioRunner, key: ObjectKey, workload: Workload) -> Json:
    conditions = workload.status.conditions
    state: Json = {"state": _state(workload)}
    admission = workload.status.admission
    if state["state"] == "reserved" and admission is not None:
        state["assignments"] = [_assignment(each) for each in admission.pod_set_assignments]
    preempted = find(conditions, "Preempted")
    if is_true(conditions, "Evicted") and preempted is not None and preempted.status == "True":
        state["preempted"] = preempted.reason
    evicted = find(conditions, "Evicted")
    if evicted is not None and evicted.status == "True" and evicted.reason == NODE_FAILURES:
        state["evicted"] = evicted.reason
    state["unhealthyNodes"] = [node.name for node in workload.status.unhealthy_nodes]
    quota = find(conditions, "QuotaReserved")
    if quota is not None and quota.status != "True":
        state["reason"], state["message"] = quota.reason, quota.message
    if place := _place(runner, key):
        state["place"] = place
    return {name: value for name, value in state.items() if value}


def _state(workload: Workload) -> str:
    if is_true(workload.status.conditions, "Finished"):
        return "finished"
    if workload.spec.active is False:
        return "inactive"
    return "reserved" if is_true(workload.status.conditions, "QuotaReserved") else "pending"


def _assignment(assignment: PodSetAssignment) -> Json:
    topology = assignment.topology_assignment
    placement: Json = {
        "domains": [f"{'/'.join(domain.values)}:{domain.pods}" for domain in expand(topology)] if topology else [],
        "topology": to_json(topology) if topology else None,
        "delayed": assignment.delayed_topology_request,
    }
    placement = {name: value for name, value in placement.items() if value}
    return {"name": assignment.name, "count": assignment.count or 0, "flavors": dict(assignment.flavors), **placement}


def _place(runner: ScenarioRunner, key: ObjectKey) -> str:
    record = runner.engine.store.workloads.get(key)
    if record is None or record.queue is None:
        return ""
    place = runner.engine.store.pending[record.queue.name].state_of(record)
    return {PendingState.ACTIVE: "active", PendingState.INADMISSIBLE: "pool"}.get(place, "") if place else ""
