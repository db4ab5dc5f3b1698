"""Tekton PipelineRuns (§20.4): the pods of their tasks are queued one by one, or a run is queued as a whole.

Tekton accepts only changes of `spec.status` after the creation. So a run gets no node selectors: its pods get them as
they are created. And a run that has started can only be cancelled, never be queued again.
"""

from collections.abc import Sequence
from copy import deepcopy
from enum import Enum
from typing import Any, ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.fields import FieldError, invalid, not_supported
from kohort.api.objects import METADATA
from kohort.api.resource import Resource
from kohort.jobs.annotated_amounts import AnnotationError
from kohort.jobs.contract import ClusterReader, Finish, Framework, Stop, stopped_event
from kohort.jobs.effects import Effect, PatchObject
from kohort.jobs.equivalence import spec_pod_sets, workload_with_quota
from kohort.jobs.errors import not_composable
from kohort.jobs.frameworks.tekton.requests import total_requests
from kohort.jobs.frameworks.tekton.types import PIPELINE_RUNS, TASK_RUNS, PipelineRun
from kohort.jobs.objects import annotations, metadata, queue_name, set_value, value_at
from kohort.jobs.podsets import JobPodSet, PodSetInfo, expect_count

MODE_ANNOTATION: Final = "kohort.dev/tekton-admission"
STOP_ANNOTATION: Final = "kohort.dev/tekton-stop"
"""Annotation of a ClusterQueue: the status by which its runs are stopped."""
RUNS_RESOURCE: Final = "tekton.dev/pipelineruns"
"""One of each run, so that a ClusterQueue that covers it limits their number."""
PENDING: Final = "PipelineRunPending"
STOPS: Final = ("CancelledRunFinally", "Cancelled", "StoppedRunFinally")
"""Values of spec.status that end a run; the first is the default."""
STATUS_PATH: Final = ("spec", "status")
_POD_SETTINGS: Final = ("nodeSelector", "tolerations", "affinity", "priorityClassName")
_MODE: Final = (METADATA / "annotations")[MODE_ANNOTATION]
NO_TIMEOUT: Final = (
    "spec.timeouts.pipeline: pods wait for quota while the timeout of the PipelineRun counts, by default one hour: set "
    "a longer one"
)


class AdmissionMode(Enum):
    """What of a PipelineRun is queued (JOB-201)."""

    PODS = "pods"
    RUN = "run"


def mode_of(obj: JsonObject) -> AdmissionMode:
    """The mode of a PipelineRun."""
    is_run = annotations(obj).get(MODE_ANNOTATION) == AdmissionMode.RUN.value
    return AdmissionMode.RUN if is_run else AdmissionMode.PODS


class PipelineRunFramework(Framework):
    """The framework of PipelineRuns."""

    name: ClassVar[str] = "tekton.dev/pipelinerun"
    resource: ClassVar[Resource] = PIPELINE_RUNS
    view: ClassVar[type[ObjectView]] = PipelineRun
    transit: ClassVar[tuple[Resource, ...]] = (TASK_RUNS,)
    implies: ClassVar[tuple[str, ...]] = ("pod",)
    dispatches: ClassVar[bool] = False
    always_claims: ClassVar[bool] = False
    binds_pods: ClassVar[bool] = True

    @property
    def suspend_field(self) -> str:
        """The field whose value makes a run wait."""
        return ".".join(STATUS_PATH)

    def claims(self, obj: JsonObject) -> bool:
        """Whether the run is queued as a whole; otherwise its pods are queued (JOB-189, JOB-201)."""
        return mode_of(obj) is AdmissionMode.RUN

    def loses_state(self, obj: JsonObject) -> bool:
        """Whether a stop is final: a cancelled run is not queued again (JOB-205)."""
        return self.claims(obj)

    def is_suspended(self, obj: JsonObject) -> bool:
        """Whether Tekton does not start the run (JOB-206)."""
        return bool(value_at(obj, STATUS_PATH) == PENDING)

    def suspend(self, obj: JsonObject) -> None:
        """Make a new run wait."""
        set_value(obj, STATUS_PATH, PENDING)

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """One pod with the requests of the whole run; those of a Workload with quota do not change (JOB-203)."""
        held = workload_with_quota(self, obj, reads)
        if held is not None:
            return spec_pod_sets(held)
        try:
            requests = total_requests(obj)
        except AnnotationError as error:
            raise not_composable(obj, str(error)) from None
        if self._limits_runs(obj, reads):
            requests[RUNS_RESOURCE] = "1"
        container = {"name": "main", "resources": {"requests": requests}}
        settings = value_at(obj, ("spec", "taskRunTemplate", "podTemplate")) or {}
        kept = {name: deepcopy(settings[name]) for name in _POD_SETTINGS if settings.get(name)}
        return [JobPodSet("main", 1, {"spec": {"containers": [container], **kept}})]

    def _limits_runs(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether the ClusterQueue covers the number of runs."""
        queue = reads.cluster_queue_of(metadata(obj).get("namespace", ""), queue_name(obj))
        groups = queue.spec.resource_groups if queue is not None else ()
        return any(RUNS_RESOURCE in group.covered_resources for group in groups)

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Let Tekton start the run; its pods get the info as they are created (JOB-204)."""
        expect_count(infos, 1)
        obj["spec"].pop("status", None)

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Nothing was added (JOB-205)."""
        return len(originals) == 1

    def stop(
        self, obj: JsonObject, originals: Sequence[PodSetInfo] | None, stop: Stop, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Cancel a run that has started, which is final; one that has not waits again (JOB-205)."""
        if self.is_suspended(obj) or value_at(obj, STATUS_PATH) in STOPS:
            return ()
        stopped = deepcopy(obj)
        set_value(stopped, STATUS_PATH, self._stop_status(obj, reads) if _has_started(obj) else PENDING)
        return PatchObject(obj, stopped), stopped_event(obj, stop)

    def _stop_status(self, obj: JsonObject, reads: ClusterReader) -> str:
        queue = reads.cluster_queue_of(metadata(obj).get("namespace", ""), queue_name(obj))
        wanted = queue.metadata.annotations.get(STOP_ANNOTATION) if queue is not None else None
        return wanted if wanted in STOPS else STOPS[0]

    def finished(self, obj: JsonObject) -> Finish | None:
        """By its condition (JOB-206)."""
        found = _succeeded(obj)
        if found is None or found.get("status") not in ("True", "False"):
            return None
        return Finish(found["status"] == "True", found.get("message") or "")

    def is_active(self, obj: JsonObject) -> bool:
        """From its start to its end; tasks of `finally` run also after a cancellation."""
        return _has_started(obj) and self.finished(obj) is None

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether it has started: its tasks run one after another."""
        return _has_started(obj)

    # Webhooks

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """The mode, and the requests in run mode (JOB-203)."""
        mode = annotations(obj).get(MODE_ANNOTATION)
        if mode is not None and mode not in {each.value for each in AdmissionMode}:
            return [not_supported(_MODE, mode, tuple(each.value for each in AdmissionMode), "JOB-201")]
        is_queued = queue_name(obj) or reads.configuration.manage_jobs_without_queue_name
        if not (is_queued and self.claims(obj)):
            return []
        try:
            total_requests(obj)
        except AnnotationError as error:
            return [error.error]
        return []

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """The mode is fixed: quota is counted for the run or for its pods."""
        if mode_of(old) is mode_of(new):
            return []
        return [invalid(_MODE, annotations(new).get(MODE_ANNOTATION, ""), "cannot be changed", "JOB-201")]

    def warnings(self, obj: JsonObject, reads: ClusterReader) -> list[str]:
        """Timeouts count while pods wait (JOB-193, JOB-202)."""
        has_timeout = bool(value_at(obj, ("spec", "timeouts", "pipeline")))
        return [] if self.claims(obj) or has_timeout else [NO_TIMEOUT]


def _has_started(obj: JsonObject) -> bool:
    return bool(value_at(obj, ("status", "startTime")))


def _succeeded(obj: JsonObject) -> dict[str, Any] | None:
    conditions = value_at(obj, ("status", "conditions")) or ()
    return next((each for each in conditions if each.get("type") == "Succeeded"), None)
