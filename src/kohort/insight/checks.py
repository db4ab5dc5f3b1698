"""The admission checks that stand between a Workload's quota and its start (SCH-904)."""

from kohort.api.kueue.v1beta2 import ClusterQueue
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.meta import ObjectKey
from kohort.engine.explain import Explanation
from kohort.engine.lifecycle.checks import required_checks
from kohort.engine.lifecycle.reconcile_context import cluster_queue_facts
from kohort.insight.snapshot import Snapshot


def checks_after(snapshot: Snapshot, admission: Admission | None) -> tuple[str, ...]:
    """The checks that come between an admission to a queue and the start."""
    queue = snapshot.of(ClusterQueue).get(ObjectKey("", admission.cluster_queue)) if admission is not None else None
    if queue is None:
        return ()
    facts = cluster_queue_facts(queue)
    return tuple(sorted(required_checks(facts.checks, facts.flavors, admission)))


def admission_foreseen(explanation: Explanation) -> Admission | None:
    """What a Workload would get at its turn; None for one that would not be admitted."""
    evaluation = explanation.evaluation
    if evaluation is None or not evaluation.is_admitted:
        return None
    sets = tuple(PodSetAssignment(name=each.name, flavors=dict(each.flavors)) for each in evaluation.pod_sets)
    return Admission(cluster_queue=explanation.cluster_queue, pod_set_assignments=sets)
