"""How workloads stand after the steps of a scenario by our engine, in the words of the program beside the real one."""

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
from kohort.controllers.topology.host_index import hosts_of_admission, is_running
from kohort.controllers.topology.unhealthy_nodes import with_failed_node
from kohort.engine.pending import PendingState

Json = Any
Standings = dict[str, Json]

NODE_FAILURES = "NodeFailures"
TURNS = frozenset({"cycle", "schedule"})
"""Steps after which there is something to compare."""


def our_answer(scenario: Json) -> list[Standings | None]:
    """One entry per step; None where the step decides nothing."""
    return list(step_by_step(scenario))


def step_by_step(scenario: Json, kind: type[ScenarioRunner] = ScenarioRunner) -> Iterator[Standings | None]:
    """The same on a kind of stage, as far as it is asked for."""
    stage = kind(configured(scenario.get("configuration"), **scenario.get("gates", {})))
    for manifest in scenario.get("objects", ()):
        stage.put(manifest)
    return (_after(stage, step) for step in scenario.get("steps", ()))


def _after(stage: ScenarioRunner, step: Json) -> Standings | None:
    if "fail" in step:
        fail_node(stage, step["fail"])
    else:
        stage.perform(step)
    return standings(stage) if TURNS & step.keys() else None


def fail_node(stage: ScenarioRunner, node: str) -> None:
    """A node has failed for all workloads on it (TAS-105): the one step that the engine's scenarios do not have."""
    for workload in list(stage.workloads.values()):
        admission = workload.status.admission
        if is_running(workload) and admission is not None and node in hosts_of_admission(admission):
            stage.show(with_failed_node(workload, node, stage.now).workload)


def standings(stage: ScenarioRunner) -> Standings:
    """How every workload is doing, by namespace and name."""
    return {f"{key.namespace}/{key.name}": _standing(stage, key, each) for key, each in stage.workloads.items()}


def _standing(stage: ScenarioRunner, key: ObjectKey, workload: Workload) -> Json:
    conditions = workload.status.conditions
    standing: Json = {"state": _state(workload)}
    admission = workload.status.admission
    if standing["state"] == "reserved" and admission is not None:
        standing["assignments"] = [_assignment(each) for each in admission.pod_set_assignments]
    preempted = find(conditions, "Preempted")
    if is_true(conditions, "Evicted") and preempted is not None and preempted.status == "True":
        standing["preempted"] = preempted.reason
    evicted = find(conditions, "Evicted")
    if evicted is not None and evicted.status == "True" and evicted.reason == NODE_FAILURES:
        standing["evicted"] = evicted.reason
    standing["unhealthyNodes"] = [node.name for node in workload.status.unhealthy_nodes]
    waits = find(conditions, "QuotaReserved")
    if waits is not None and waits.status != "True":
        standing["reason"], standing["message"] = waits.reason, waits.message
    if place := _place(stage, key):
        standing["place"] = place
    return {name: value for name, value in standing.items() if value}


def _state(workload: Workload) -> str:
    if is_true(workload.status.conditions, "Finished"):
        return "finished"
    if workload.spec.active is False:
        return "inactive"
    return "reserved" if is_true(workload.status.conditions, "QuotaReserved") else "pending"


def _assignment(assignment: PodSetAssignment) -> Json:
    topology = assignment.topology_assignment
    told: Json = {
        "domains": [f"{'/'.join(domain.values)}:{domain.pods}" for domain in expand(topology)] if topology else [],
        "topology": to_json(topology) if topology else None,
        "delayed": assignment.delayed_topology_request,
    }
    told = {name: value for name, value in told.items() if value}
    return {"name": assignment.name, "count": assignment.count or 0, "flavors": dict(assignment.flavors), **told}


def _place(stage: ScenarioRunner, key: ObjectKey) -> str:
    record = stage.engine.store.workloads.get(key)
    if record is None or record.queue is None:
        return ""
    place = stage.engine.store.pending[record.queue.name].state_of(record)
    return {PendingState.ACTIVE: "active", PendingState.INADMISSIBLE: "pool"}.get(place, "") if place else ""
