"""Jobs that lose their state when they are stopped, in queues whose workloads may be preempted (JOB-191).

The policy is an annotation of the ClusterQueue: Kueue rejects a Configuration with fields that it does not know.
"""

from enum import Enum
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.fields import FieldError, forbidden
from kohort.api.kueue.v1beta2 import ClusterQueue
from kohort.api.quantity import Quantity
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting.job_context import JobContext, should_manage
from kohort.jobs.objects import metadata, queue_name
from kohort.jobs.validation.labels import QUEUE_NAME

POLICY_ANNOTATION: Final = "kohort.dev/non-suspendable-policy"


class NonSuspendablePolicy(Enum):
    """What happens to such jobs."""

    WARN = "Warn"
    REJECT = "Reject"
    IGNORE = "Ignore"


def preemption_findings(
    framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext
) -> tuple[list[FieldError], list[str]]:
    """Errors and warnings about the queue of a new job."""
    if old is not None or not should_manage(new, context) or not framework.loses_state(new):
        return [], []
    queue = context.reads.cluster_queue_of(metadata(new).get("namespace", ""), queue_name(new))
    cause = _cause(queue) if queue is not None else ""
    policy = _policy(queue) if queue is not None else NonSuspendablePolicy.IGNORE
    if not cause or policy is NonSuspendablePolicy.IGNORE:
        return [], []
    kind = framework.resource.kind
    detail = f"{cause}, and a {kind} that is preempted loses its state: use a queue without preemption"
    if policy is NonSuspendablePolicy.REJECT:
        return [forbidden(QUEUE_NAME, detail, "JOB-191")], []
    return [], [f"{QUEUE_NAME.text}: {detail}"]


def _policy(queue: ClusterQueue) -> NonSuspendablePolicy:
    """The policy of a queue; an unknown value counts as the default."""
    text = queue.metadata.annotations.get(POLICY_ANNOTATION, "")
    return next((each for each in NonSuspendablePolicy if each.value == text), NonSuspendablePolicy.WARN)


def _cause(queue: ClusterQueue) -> str:
    """Why workloads of the queue may be preempted; empty if they may not."""
    name, spec = queue.metadata.name, queue.spec
    if spec.preemption.within_cluster_queue != "Never":
        return f"workloads of ClusterQueue {name} preempt each other (preemption.withinClusterQueue)"
    if spec.cohort_name and _may_borrow(queue):
        return f"workloads of ClusterQueue {name} are preempted while they borrow quota (no borrowingLimit of 0)"
    return ""


def _may_borrow(queue: ClusterQueue) -> bool:
    quotas = (quota for group in queue.spec.resource_groups for each in group.flavors for quota in each.resources)
    return any(each.borrowing_limit is None or Quantity.parse(each.borrowing_limit) > _ZERO for each in quotas)


_ZERO: Final = Quantity.parse(0)
