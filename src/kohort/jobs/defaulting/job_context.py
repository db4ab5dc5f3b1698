"""What the webhooks of a job depend on besides the job: queues, classes, owners and settings.

The caller builds it, so that defaulting and validation are synchronous functions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kohort.api.codec import JsonObject
from kohort.api.gates import FeatureGates
from kohort.jobs.contract import ClusterReader
from kohort.jobs.objects import is_terminating, queue_name
from kohort.jobs.podsets import PodSetInfo


@dataclass(frozen=True, slots=True)
class JobContext:
    """The context of one job at the time of a request."""

    reads: ClusterReader
    is_new: bool = True
    """Whether the request creates the job."""
    in_scope: bool = True
    """Whether jobs of its namespace are managed (JOB-1)."""
    has_managed_owner: bool = False
    """Whether it has a managed ancestor, which is queued instead (JOB-3)."""
    has_owner_of_managed_kind: bool = False
    """Whether its controller is of a managed kind, queued or not (JOB-8)."""
    has_forged_controller: bool = False
    """Whether the client set a controller without permission (DEV-9)."""
    owner_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of its controller that it gets (JOB-190)."""
    bound_info: PodSetInfo | None = None
    """What a pod gets from the Workload of its managed ancestor (JOB-204)."""
    has_default_queue: bool = False
    """Whether its namespace has a LocalQueue `default`."""
    has_default_priority_class: bool = False
    """Whether there is a WorkloadPriorityClass `default`."""
    dispatches: Callable[[str], bool] = lambda _queue: False
    """Whether a LocalQueue of its namespace dispatches to other clusters (JOB-70)."""

    @property
    def gates(self) -> FeatureGates:
        """The feature gates."""
        return self.reads.gates

    @property
    def manages_without_queue(self) -> bool:
        """Whether jobs without a queue name are managed (JOB-5)."""
        return self.reads.configuration.manage_jobs_without_queue_name


def should_manage(obj: JsonObject, context: JobContext) -> bool:
    """Whether the job is to be queued on its own (JOB-2, DEV-1)."""
    if is_terminating(obj) or context.has_managed_owner or not context.in_scope:
        return False
    return bool(queue_name(obj)) or context.manages_without_queue


def set_label(obj: JsonObject, name: str, value: str) -> None:
    """Give an object a label, in place."""
    _set(obj, "labels", name, value)


def set_annotation(obj: JsonObject, name: str, value: str) -> None:
    """Give an object an annotation, in place."""
    _set(obj, "annotations", name, value)


def _set(obj: JsonObject, table: str, name: str, value: str) -> None:
    metadata = obj["metadata"] = obj.get("metadata") or {}
    metadata[table] = {**(metadata.get(table) or {}), name: value}
