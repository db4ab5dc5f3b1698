"""Partial views of Jobs; pod templates stay encoded as received.

One cache of Jobs serves the controllers of Jobs, CronJobs and expired Jobs.
"""

from typing import ClassVar, Final

import msgspec

from kohort.api.conditions import is_true
from kohort.api.core.batch import Job, PodFailurePolicy, SuccessPolicy, UncountedTerminatedPods
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.meta import LabelSelector, Time
from kohort.api.struct import View
from kohort.embedded.controllers.views import ControllerPod
from kohort.kube.resource_types import TypedResource

TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""The finalizer of pods that are not counted yet."""
INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""Annotation and label: the completion index of a pod."""
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
"""Annotations: failures of previous pods of the same index."""
CONTROLLER: Final = "kubernetes.io/job-controller"
"""The value of managedBy for Jobs that this controller reconciles."""

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
SUCCESS_CRITERIA_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"


class JobSpecView(View):
    """Spec of a Job."""

    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    template: msgspec.Raw = msgspec.Raw(b"{}")
    selector: LabelSelector | None = None
    manual_selector: bool = False
    active_deadline_seconds: int | None = None
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str = ""
    ttl_seconds_after_finished: int | None = None
    managed_by: str = ""


class JobStatusView(View):
    """Status of a Job; counts that Kubernetes writes even when zero are None until then."""

    conditions: tuple[StatusCondition, ...] = ()
    start_time: Time | None = None
    completion_time: Time | None = None
    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class JobView(ObjectView):
    """A Job."""

    resource: ClassVar = Job.resource

    spec: JobSpecView = JobSpecView()
    status: JobStatusView = JobStatusView()

    @property
    def is_indexed(self) -> bool:
        """Whether completionMode is Indexed."""
        return self.spec.completion_mode == "Indexed"

    @property
    def has_limit_per_index(self) -> bool:
        """Whether backoffLimitPerIndex is set."""
        return self.is_indexed and self.spec.backoff_limit_per_index is not None

    @property
    def replaces_only_failed(self) -> bool:
        """Whether terminating pods count as active."""
        return self.spec.pod_replacement_policy == "Failed"

    @property
    def is_finished(self) -> bool:
        """Whether it is Complete or Failed."""
        return is_true(self.status.conditions, COMPLETE) or is_true(self.status.conditions, FAILED)

    @property
    def is_foreign(self) -> bool:
        """Whether another controller manages it."""
        return self.spec.managed_by not in ("", CONTROLLER)

    @property
    def uncounted(self) -> UncountedTerminatedPods:
        """Finished pods that are not in the counters yet."""
        return self.status.uncounted_terminated_pods or UncountedTerminatedPods()


def _with_own_template(job: JobView) -> JobView:
    """Copies the template's bytes, which otherwise would keep the whole response in memory."""
    spec = msgspec.structs.replace(job.spec, template=job.spec.template.copy())
    return msgspec.structs.replace(job, spec=spec)


JOBS = TypedResource(JobView.resource, JobView, _with_own_template)


def is_tracked(pod: ControllerPod) -> bool:
    """Whether a pod has the tracking finalizer."""
    return TRACKING in pod.metadata.finalizers


def index_of(pod: ControllerPod) -> int | None:
    """The completion index of a pod, if set."""
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else None
