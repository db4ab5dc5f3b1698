"""Jobs and CronJobs of group batch.

Counts that may be absent stay None, because an absent `completions` has a meaning of its own.
"""

from typing import ClassVar

from kohort.api.core.objects import ObjectReference, ObjectView, StatusCondition
from kohort.api.core.pods import PodTemplateSpec, TemplateMeta
from kohort.api.meta import LabelSelector, Time
from kohort.api.resource import Resource
from kohort.api.struct import View


class ExitCodeRequirement(View):
    """Exit codes of a pod failure rule."""

    container_name: str = ""
    operator: str = ""
    values: tuple[int, ...] = ()


class PodConditionPattern(View):
    """Pod condition of a pod failure rule."""

    type: str = ""
    status: str = "True"


class PodFailureRule(View):
    """A rule of the pod failure policy."""

    action: str = ""
    on_exit_codes: ExitCodeRequirement | None = None
    on_pod_conditions: tuple[PodConditionPattern, ...] = ()


class PodFailurePolicy(View):
    """Pod failure policy; the first rule that matches counts."""

    rules: tuple[PodFailureRule, ...] = ()


class SuccessRule(View):
    """Which indexes, or how many, are enough for an Indexed Job."""

    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(View):
    """Success policy of an Indexed Job; the first rule that matches counts."""

    rules: tuple[SuccessRule, ...] = ()


class JobSpec(View):
    """What a Job runs, how often and how many at a time."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = ""
    suspend: bool = False
    template: PodTemplateSpec = PodTemplateSpec()
    selector: LabelSelector | None = None
    manual_selector: bool = False
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str = ""
    ttl_seconds_after_finished: int | None = None
    managed_by: str = ""


class UncountedTerminatedPods(View):
    """Terminated pods that are not counted yet, by UID."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(View):
    """Status of a Job."""

    conditions: tuple[StatusCondition, ...] = ()
    start_time: Time | None = None
    completion_time: Time | None = None
    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    uncounted_terminated_pods: UncountedTerminatedPods = UncountedTerminatedPods()


class Job(ObjectView):
    """A batch/v1 Job."""

    resource: ClassVar = Resource("batch", "v1", "Job", "jobs", namespaced=True)

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(View):
    """Template of Jobs."""

    metadata: TemplateMeta = TemplateMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(View):
    """Spec of a CronJob."""

    schedule: str = ""
    time_zone: str = ""
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = ""
    suspend: bool = False
    job_template: JobTemplateSpec = JobTemplateSpec()
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class CronJobStatus(View):
    """Status of a CronJob."""

    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class CronJob(ObjectView):
    """A batch/v1 CronJob."""

    resource: ClassVar = Resource("batch", "v1", "CronJob", "cronjobs", namespaced=True)

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
