"""batch/v1 Job (§16.1).

A stop takes two passes: Kubernetes lets the template of a suspended Job change once no pod is active (since 1.36) and
the start time is cleared (before 1.36). The annotation `stopping` marks a stop in progress, also across restarts.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar

from kohort.api.codec import JsonObject
from kohort.api.core.batch import Job
from kohort.api.core.objects import ObjectView
from kohort.api.fields import FieldError
from kohort.api.gates import Gate
from kohort.api.resource import Resource
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.contract import ClusterReader, Finish, Framework, ManagedBy, Stop, stopped_event
from kohort.jobs.effects import Effect, PatchObject
from kohort.jobs.frameworks.indexes import indexes_below
from kohort.jobs.frameworks.job.spec import (
    completions,
    completions_equal_parallelism,
    is_suspended,
    min_parallelism,
    parallelism,
    pod_count,
)
from kohort.jobs.frameworks.job.validation import batch_job_errors
from kohort.jobs.keys import ELASTIC_GATE, STOPPING_ANNOTATION
from kohort.jobs.objects import annotations
from kohort.jobs.podsets import JobPodSet, PodSetInfo, expect_count, merge_info, restore_info
from kohort.jobs.topology import IndexLabels, topology_request

MAIN = "main"
_CONTROLLER_LABELS = frozenset({"job-name", "controller-uid", "batch.kubernetes.io/controller-uid"})
_KEPT_LABELS = _CONTROLLER_LABELS | {"batch.kubernetes.io/job-name"}


class BatchJobFramework(Framework):
    """Jobs of Kubernetes itself."""

    name: ClassVar[str] = "batch/job"
    resource: ClassVar[Resource] = Job.resource
    view: ClassVar[type[ObjectView]] = Job
    pod_spec: ClassVar[tuple[str, ...]] = ("spec", "template", "spec")
    has_one_pod_set: ClassVar[bool] = True
    index_labels: ClassVar[IndexLabels | None] = IndexLabels("batch.kubernetes.io/job-completion-index")
    is_elastic: ClassVar[bool] = True
    supports_prebuilt: ClassVar[bool] = True
    follows_owner: ClassVar[bool] = True
    implies: ClassVar[tuple[str, ...]] = ("batch/cronjob",)
    managed_by: ClassVar[ManagedBy | None] = ManagedBy(("spec", "managedBy"), "kubernetes.io/job-controller")

    def is_suspended(self, obj: JsonObject) -> bool:
        """Suspended, and not half-way through a stop (JOB-98)."""
        return is_suspended(obj)

    def suspend(self, obj: JsonObject) -> None:
        """Set spec.suspend."""
        obj["spec"]["suspend"] = True

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """One pod set with the number of pods that run in parallel (JOB-99)."""
        template = deepcopy(obj["spec"].get("template") or {})
        _drop_labels(template)
        request = topology_request(template, reads.gates, self.index_labels)
        return [JobPodSet(MAIN, pod_count(obj), template, _min_count(obj, reads), request)]

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Clear spec.suspend and set the admitted parallelism (JOB-100)."""
        expect_count(infos, 1)
        info = infos[0]
        obj["spec"]["suspend"] = False
        if min_parallelism(obj) is not None:
            _set_parallelism(obj, info.count)
        merge_info(_template(obj), info)

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Restore counts and template; labels of the Job controller are kept (JOB-101)."""
        if len(originals) != 1:
            return False
        original = originals[0]
        if min_parallelism(obj) is not None:
            _set_parallelism(obj, original.count)
        template = _template(obj)
        own = {key: value for key, value in _labels(template).items() if key in _KEPT_LABELS}
        restore_info(template, original)
        if own:
            template["metadata"]["labels"] = {**_labels(template), **own}
        return True

    def stop(
        self, obj: JsonObject, originals: Sequence[PodSetInfo] | None, stop: Stop, reads: ClusterReader
    ) -> tuple[Effect, ...]:
        """Suspend; once no pod is active, clear the start time, restore, and record an event (JOB-101)."""
        stops_now = not self.is_suspended(obj)
        suspended = _marked(obj) if stops_now else obj
        if self.waits_for_pods(obj):
            return _changes(PatchObject(obj, suspended))
        reset = _without_start_time(suspended)
        restored = _unmarked(reset)
        if originals is not None:
            self.restore(restored, originals)
        changes = _changes(
            PatchObject(obj, suspended),
            PatchObject(suspended, reset, WriteTarget.STATUS),
            PatchObject(reset, restored),
        )
        return (*changes, stopped_event(obj, stop)) if stops_now else changes

    def waits_for_pods(self, obj: JsonObject) -> bool:
        """Whether pods are active: since Kubernetes 1.36 the template is immutable until they are not."""
        return self.is_active(obj)

    def is_stopping(self, obj: JsonObject) -> bool:
        """Whether the annotation `stopping` is set (JOB-98)."""
        return obj["spec"].get("suspend") is True and annotations(obj).get(STOPPING_ANNOTATION) == "true"

    def finished(self, obj: JsonObject) -> Finish | None:
        """The first terminal condition that is True (JOB-102)."""
        for each in _status(obj).get("conditions") or ():
            if each.get("type") in ("Complete", "Failed") and each.get("status") == "True":
                return Finish(success=each["type"] != "Failed", message=each.get("message", ""))
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """Whether pods are counted as active (JOB-103)."""
        return bool(_status(obj).get("active"))

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether all pods of the pod set are ready or have succeeded (JOB-103)."""
        status = _status(obj)
        uncounted = (status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()
        return (status.get("succeeded") or 0) + (status.get("ready") or 0) + len(uncounted) >= pod_count(obj)

    def reclaimable(self, obj: JsonObject, reads: ClusterReader) -> dict[str, int]:
        """Pods that no further completion needs (JOB-104)."""
        limit, done = parallelism(obj), _terminal(obj)
        if limit <= 1 or done == 0:
            return {}
        remaining = max(completions(obj) - done, 0)
        return {MAIN: limit - remaining} if remaining < limit else {}

    def gate_templates(self, obj: JsonObject) -> None:
        """Gate new pods until they fit into an admitted slice (JOB-106)."""
        spec = _template(obj).setdefault("spec", {})
        gates = spec.get("schedulingGates") or []
        if not any(gate.get("name") == ELASTIC_GATE for gate in gates):
            spec["schedulingGates"] = [*gates, {"name": ELASTIC_GATE}]

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """JOB-86, JOB-105."""
        return list(batch_job_errors(obj, None, reads.gates))

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """JOB-86, JOB-105."""
        return list(batch_job_errors(new, old, reads.gates))

    def pod_selector(self, obj: JsonObject) -> str:
        """All pods of the Job."""
        return f"batch.kubernetes.io/job-name={obj['metadata']['name']}"


def _min_count(obj: JsonObject, reads: ClusterReader) -> int | None:
    return min_parallelism(obj) if reads.gates.enabled(Gate.PartialAdmission) else None


def _set_parallelism(obj: JsonObject, count: int) -> None:
    obj["spec"]["parallelism"] = count
    if completions_equal_parallelism(obj):
        obj["spec"]["completions"] = count


def _terminal(obj: JsonObject) -> int:
    """The number of pods that have terminated (JOB-104)."""
    status = _status(obj)
    if obj["spec"].get("completionMode") != "Indexed":
        return int(status.get("succeeded") or 0)
    wanted = completions(obj)
    texts = (status.get("completedIndexes") or "", status.get("failedIndexes") or "")
    return len(set().union(*(indexes_below(text, wanted) for text in texts)))


def _template(obj: JsonObject) -> JsonObject:
    template: JsonObject = obj["spec"].setdefault("template", {})
    return template


def _status(obj: JsonObject) -> dict[str, Any]:
    return obj.get("status") or {}


def _labels(template: JsonObject) -> dict[str, str]:
    return (template.get("metadata") or {}).get("labels") or {}


def _drop_labels(template: JsonObject) -> None:
    kept = {key: value for key, value in _labels(template).items() if key not in _CONTROLLER_LABELS}
    if kept != _labels(template):
        template["metadata"]["labels"] = kept
        if not kept:
            del template["metadata"]["labels"]


def _changes(*steps: PatchObject) -> tuple[Effect, ...]:
    """The patches that change anything."""
    return tuple(each for each in steps if each.before != each.after)


def _marked(obj: JsonObject) -> JsonObject:
    """The suspended Job with the annotation `stopping`."""
    marked = deepcopy(obj)
    marked["spec"]["suspend"] = True
    marked["metadata"].setdefault("annotations", {})[STOPPING_ANNOTATION] = "true"
    return marked


def _without_start_time(obj: JsonObject) -> JsonObject:
    if not _status(obj).get("startTime"):
        return obj
    return {**obj, "status": {key: value for key, value in _status(obj).items() if key != "startTime"}}


def _unmarked(obj: JsonObject) -> JsonObject:
    unmarked = deepcopy(obj)
    annotations = unmarked["metadata"].get("annotations") or {}
    if annotations.pop(STOPPING_ANNOTATION, None) is not None and not annotations:
        del unmarked["metadata"]["annotations"]
    return unmarked
