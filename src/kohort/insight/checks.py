"""Admission checks of a Workload between reservation and admission (SCH-904)."""

from kohort.api.kueue.v1beta2 import ClusterQueue
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.meta import ObjectKey
from kohort.engine.explain import Explanation
from kohort.engine.lifecycle.checks import required_checks
from kohort.engine.lifecycle.reconcile_context import cluster_queue_facts
from kohort.insight.snapshot import Snapshot


def checks_after(snapshot: Snapshot, admission: Admission | None) -> tuple[str, ...]:
    """The admission checks required for an admission."""
    queue = snapshot.of(ClusterQueue).get(ObjectKey("", admission.cluster_queue)) if admission is not None else None
    if queue is None:
        return ()
    facts = cluster_queue_facts(queue)
    return tuple(sorted(required_checks(facts.checks, facts.flavors, admission)))


def expected_admission(explanation: Explanation) -> Admission | None:
    """The admission a Workload would get in the next cycle; None if it would not be admitted."""
    evaluation = explanation.evaluation
    if evaluation is None or not evaluation.is_admitted:
        return None
    sets = tuple(PodSetAssignment(name=each.name, flavors=dict(each.flavors)) for each in evaluation.pod_sets)
    return Admission(cluster_queue=explanation.cluster_queue, pod_set_assignments=sets)
