"""Jobs and CronJobs of group batch.

Counts that may be absent stay None, since Kubernetes tells an absent `completions` from any number.
"""

from typing import ClassVar

from kohort.api.core.objects import ObjectReference, ObjectView, StatusCondition
from kohort.api.core.pods import PodTemplateSpec, TemplateMeta
from kohort.api.meta import LabelSelector, Time
from kohort.api.resource import Resource
from kohort.api.struct import View


class ExitCodeRequirement(View):
    """Which exit codes a failure rule speaks of."""

    container_name: str = ""
    operator: str = ""
    values: tuple[int, ...] = ()


class PodConditionPattern(View):
    """Which pod condition a failure rule speaks of."""

    type: str = ""
    status: str = "True"


class PodFailureRule(View):
    """What to do when a pod fails in a certain way."""

    action: str = ""
    on_exit_codes: ExitCodeRequirement | None = None
    on_pod_conditions: tuple[PodConditionPattern, ...] = ()


class PodFailurePolicy(View):
    """How failed pods are judged; the first rule that matches counts."""

    rules: tuple[PodFailureRule, ...] = ()


class SuccessRule(View):
    """Which indexes, or how many, are enough for an Indexed Job."""

    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(View):
    """When an Indexed Job succeeds before all its indexes have; the first rule that holds counts."""

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
    """Pods that have ended and are not in the counters yet, by uid."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(View):
    """How a Job fares."""

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
    """The pattern of which Jobs are made."""

    metadata: TemplateMeta = TemplateMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(View):
    """What Job is made, and when."""

    schedule: str = ""
    time_zone: str = ""
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = ""
    suspend: bool = False
    job_template: JobTemplateSpec = JobTemplateSpec()
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class CronJobStatus(View):
    """Which Jobs of a CronJob run, and when it last made one."""

    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class CronJob(ObjectView):
    """A batch/v1 CronJob."""

    resource: ClassVar = Resource("batch", "v1", "CronJob", "cronjobs", namespaced=True)

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
