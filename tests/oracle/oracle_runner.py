"""The scenario runner of the comparison: steps of checks, elastic jobs and failing nodes beside those of the engine.

{"fail": "n1"}                         a node has failed under the workloads on it (TAS-105)
{"passChecks": {"workload": "namespace/name", "podSetUpdates": [...]}}  its AdmissionChecks are ready
{"scale": manifest}                    an elastic job gets the counts of this Workload, perhaps its next slice
{"endJob": "namespace/name"}           an elastic job ends with all its slices
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from engine.scenario import ScenarioRunner
from kohort.api.codec import from_json
from kohort.api.kueue.keys import ELASTIC_JOB_ANNOTATION, SLICE_REPLACEMENT_ANNOTATION
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PodSetUpdate
from kohort.controllers.topology.host_index import hosts_of_admission, is_running
from kohort.controllers.topology.unhealthy_nodes import with_failed_node
from kohort.engine.decisions import Decision, Reserve
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.admission import Reservation, admit, reserve
from kohort.engine.lifecycle.checks import required_checks, sync_checks
from kohort.engine.lifecycle.conditions import is_evicted, is_finished, is_reserved, with_status
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.reconcile_context import cluster_queue_facts
from kohort.engine.lifecycle.slices import name_of, reconcile_slices

Json = Any


class OracleRunner(ScenarioRunner):
    """The engine with the controllers that its own steps leave out."""

    def perform(self, step: Json) -> list[Decision]:
        """Perform one step; what it decided."""
        ((name, argument),) = step.items()
        action = _ACTIONS.get(name)
        if action is None:
            return super().perform(step)
        self.decisions = []
        action(self, argument)
        return self.decisions

    def fail_node(self, node: str) -> None:
        """Mark a node as failed in all workloads on it (TAS-105)."""
        for workload in list(self.workloads.values()):
            admission = workload.status.admission
            if is_running(workload) and admission is not None and node in hosts_of_admission(admission):
                self.show(with_failed_node(workload, node, self.now).workload)

    def pass_checks(self, what: Json) -> None:
        """The AdmissionChecks of a workload with quota are ready, with what they request of its pods (TAS-86)."""
        workload = next(each for each in self.workloads.values() if name_of(each) == what["workload"])
        checks = [check for check in workload.status.admission_checks if check.state != "Ready"]
        if not checks or not is_reserved(workload) or is_finished(workload) or is_evicted(workload):
            return
        updates = tuple(from_json(each, PodSetUpdate) for each in what.get("podSetUpdates", ()))
        ready = tuple(replace(check, state="Ready", pod_set_updates=updates) for check in checks)
        passed = with_status(workload, replace(workload.status, admission_checks=ready))
        self.show(admit(passed, self.settings.gates, self.now).workload)

    def with_reservation(self, workload: Workload, decision: Reserve) -> Workload:
        """The workload with its admission and the checks that it requires (SCH-905)."""
        admission, gates = decision.admission, self.settings.gates
        queue = cluster_queue_facts(self.engine.store.cluster_queue_objects[admission.cluster_queue])
        required = required_checks(queue.checks, queue.flavors, admission)
        reservation = Reservation(admission, required, decision.considered)
        checked = sync_checks(reserve(workload, reservation, gates, self.now).workload, required, self.now)
        return admit(checked, gates, self.now).workload

    # Elastic jobs

    def settle(self, _argument: Json = None) -> None:
        """Jobs of evicted workloads have stopped; one of several slices does not wait again (JOB-81)."""
        for workload in list(self.workloads.values()):
            if is_evicted(workload) and is_reserved(workload) and len(self._slices_beside(workload)) > 1:
                self.show(finish(workload, reasons.OUT_OF_SYNC, "", self.now))
        super().settle()

    def scale(self, manifest: Json) -> None:
        """Change the slice of a job, or request its next one (SCH-1101); not while a slice is evicted."""
        sent = from_json(manifest, Workload)
        slices = self._slices_beside(sent)
        if any(is_evicted(each) for each in slices):
            return
        settled = reconcile_slices(slices, self.now)
        for ended in settled.ended:
            self.show(ended)
        current = settled.current
        if current is None:
            return
        wanted = {each.name: each.count for each in sent.spec.pod_sets}
        present = {each.name: each.count for each in current.spec.pod_sets}
        if is_reserved(current) and any(wanted[name] > present[name] for name in wanted):
            metadata = manifest["metadata"]
            annotations = {**metadata["annotations"], SLICE_REPLACEMENT_ANNOTATION: name_of(current)}
            self.put({**manifest, "metadata": {**metadata, "annotations": annotations}})
        elif wanted != present:
            pod_sets = tuple(replace(each, count=wanted[each.name]) for each in current.spec.pod_sets)
            generation = (current.metadata.generation or 1) + 1
            metadata = replace(current.metadata, generation=generation)
            self.show(replace(current, metadata=metadata, spec=replace(current.spec, pod_sets=pod_sets)))

    def end_job(self, name: str) -> None:
        """All slices of an elastic job are finished."""
        for workload in list(self.workloads.values()):
            if _job_of(workload) == name and not is_finished(workload):
                self.show(finish(workload, "Succeeded", "Job finished successfully", self.now))

    def _slices_beside(self, workload: Workload) -> list[Workload]:
        """The unfinished slices of the job of a workload; none if it is not elastic."""
        job = _job_of(workload)
        return [each for each in self.workloads.values() if job and _job_of(each) == job and not is_finished(each)]


def _job_of(workload: Workload) -> str:
    """The elastic job that has a workload."""
    metadata = workload.metadata
    if metadata.annotations.get(ELASTIC_JOB_ANNOTATION) != "true":
        return ""
    return f"{metadata.namespace}/{metadata.owner_references[0].name}"


_ACTIONS: Mapping[str, Callable[[OracleRunner, Any], None]] = {
    "fail": OracleRunner.fail_node,
    "settle": OracleRunner.settle,
    "passChecks": OracleRunner.pass_checks,
    "scale": OracleRunner.scale,
    "endJob": OracleRunner.end_job,
}
