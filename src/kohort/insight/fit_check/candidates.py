"""Builds Workloads from manifests, with the functions of the job frameworks.

Kinds without a Workload are expanded: a CronJob to its next Job, a Deployment to its pods.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from kohort.api.codec import JsonObject, from_json
from kohort.api.documents import Document
from kohort.api.errors import ApiError, DecodeError
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.v1beta2 import LocalQueue, Workload, WorkloadPriorityClass
from kohort.api.meta import ObjectKey
from kohort.insight.fit_check.reads import SnapshotReader
from kohort.insight.snapshot import Snapshot
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.defaulting import DEFAULT_PRIORITY_CLASS, default_job
from kohort.jobs.defaulting.job_context import JobContext, set_label
from kohort.jobs.defaulting.local_queue import DEFAULT_QUEUE
from kohort.jobs.frameworks.pods.members import group_name
from kohort.jobs.keys import QUEUE_NAME_LABEL
from kohort.jobs.objects import metadata, queue_name
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.priority import resolve_priority, with_priority
from kohort.jobs.registry import group_kind, plugins
from kohort.jobs.workload_builder import build_workload

WORKLOAD: Final = (GROUP, "Workload")
POD: Final = ("", "Pod")
PER_POD_KINDS: Final = frozenset({("apps", "Deployment"), ("apps", "ReplicaSet")})
STATEFUL_SET: Final = ("apps", "StatefulSet")
CRON_JOB: Final = ("batch", "CronJob")
MAX_PODS: Final = 1000
"""Maximum number of evaluated replicas of a Deployment."""


@dataclass(frozen=True, slots=True)
class FitCandidate:
    """A manifest with its Workloads."""

    subject: str
    """`job/train`."""
    place: str
    """`train.yaml:12`."""
    queue: ObjectKey
    """The LocalQueue; its name is empty if none is specified."""
    workloads: tuple[Workload, ...] = ()
    problem: str = ""
    """Why it has no Workloads."""


class CandidateReader:
    """Reads manifests against one cluster."""

    def __init__(self, snapshot: Snapshot, namespace: str, queue: str) -> None:
        self._snapshot = snapshot
        self._namespace = namespace
        self._queue = queue
        """LocalQueue of the command line, which overrides manifests; empty if not set."""
        self._frameworks = {_kind(each): each for each in (*built_in_frameworks(), *plugins())}

    def is_queued(self, document: Document) -> bool:
        """Whether its kind is supported, or it has a queue label."""
        obj, _ = placed_object(document, self._namespace)
        return _kind_of(obj) in self._frameworks or _kind_of(obj) == WORKLOAD or bool(queue_name(obj))

    def candidates(self, documents: Sequence[Document]) -> list[FitCandidate]:
        """The candidates in the order of the documents; a pod group once, at its first pod."""
        placed = [placed_object(document, self._namespace) for document in documents]
        pods = [obj for obj, _ in placed if _kind_of(obj) == POD]
        alone = SnapshotReader(self._snapshot, ())
        reads = SnapshotReader(self._snapshot, [self._defaulted(obj, alone) for obj in pods])
        found: dict[str, FitCandidate] = {}
        for obj, place in placed:
            name = self._subject(obj)
            if name not in found or not group_name(obj):
                found[f"{name} at {place}" if name in found else name] = self._candidate(obj, name, place, reads)
        return list(found.values())

    def _subject(self, obj: JsonObject) -> str:
        if _kind_of(obj) == POD and group_name(obj):
            return f"pod group {group_name(obj)}"
        name = metadata(obj).get("name") or f"{metadata(obj).get('generateName', '')}…"
        return f"{str(obj.get('kind', '')).lower()}/{name}"

    def _candidate(self, obj: JsonObject, subject: str, place: str, reads: SnapshotReader) -> FitCandidate:
        try:
            workloads = tuple(self._workloads(obj, reads))
        except ApiError as error:
            queue = ObjectKey(metadata(obj).get("namespace", ""), queue_name(obj))
            return FitCandidate(subject, place, queue, problem=str(error))
        namespace = metadata(obj).get("namespace", "")
        name = workloads[0].spec.queue_name or "" if workloads else ""
        return FitCandidate(subject, place, ObjectKey(namespace, name), workloads)

    def _workloads(self, obj: JsonObject, reads: SnapshotReader) -> Iterator[Workload]:
        group, kind = _kind_of(obj)
        if (group, kind) == WORKLOAD:
            yield self._own(obj)
        elif (group, kind) == CRON_JOB:
            yield from self._workloads(_next_job(obj), reads)
        elif (group, kind) in PER_POD_KINDS:
            yield from self._pods_of(obj, reads)
        elif (group, kind) == STATEFUL_SET:
            job = self._defaulted(obj, reads)
            yield self._built(self._frameworks[STATEFUL_SET], job, [_replicas(job)], reads)
        elif (framework := self._frameworks.get((group, kind))) is not None:
            yield self._of(framework, self._defaulted(obj, reads), reads)
        else:
            known = ", ".join(sorted(kind for _, kind in self._frameworks))
            raise ApiError(f"unsupported kind {obj.get('apiVersion')} {kind}: available: {known}, Workload")

    def _own(self, obj: JsonObject) -> Workload:
        try:
            found = from_json(convert(obj, V1BETA2), Workload)
        except DecodeError as error:
            raise ApiError(f"invalid Workload: {error}") from None
        spec = structs.replace(found.spec, queue_name=self._queue) if self._queue else found.spec
        return structs.replace(found, spec=spec)

    def _of(self, framework: Framework, job: JsonObject, reads: SnapshotReader) -> Workload:
        if framework.groups is not None and group_name(job):
            key = JobKey(metadata(job).get("namespace", ""), group_name(job), is_group=True)
            group = framework.load(key, reads)
            if group is None:
                raise ApiError(f"group {group_name(job)} has no pods")
            workload = framework.groups.build(group, reads).workload
            pod_sets = framework.pod_sets(group, reads)
            return with_priority(workload, resolve_priority(job, pod_sets, reads, framework.priority_class(job)))
        return self._built(framework, job, framework.pod_sets(job, reads), reads)

    def _built(
        self, framework: Framework, job: JsonObject, pod_sets: Sequence[JobPodSet], reads: SnapshotReader
    ) -> Workload:
        built = build_workload(framework, job, pod_sets, reads.configuration, reads.gates)
        return with_priority(built, resolve_priority(job, pod_sets, reads, framework.priority_class(job)))

    def _pods_of(self, obj: JsonObject, reads: SnapshotReader) -> Iterator[Workload]:
        parent = self._defaulted(obj, reads)
        template = (parent.get("spec") or {}).get("template") or {}
        pods = self._frameworks[POD]
        for number in range(min(_replica_count(parent), MAX_PODS)):
            name = f"{metadata(parent).get('name', '')}-{number}"
            head = {**(template.get("metadata") or {}), "name": name, "namespace": metadata(parent)["namespace"]}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": deepcopy(template.get("spec") or {})}
            yield self._of(pods, pod, reads)

    def _defaulted(self, obj: JsonObject, reads: SnapshotReader) -> JsonObject:
        """The object after defaulting by the webhook, in the requested queue."""
        framework = self._frameworks[_kind_of(obj)]
        if self._queue:
            obj = deepcopy(obj)
            set_label(obj, QUEUE_NAME_LABEL, self._queue)
        namespace = metadata(obj).get("namespace", "")
        facts = JobContext(
            reads,
            has_default_queue=ObjectKey(namespace, DEFAULT_QUEUE) in self._snapshot.of(LocalQueue),
            has_default_priority_class=ObjectKey("", DEFAULT_PRIORITY_CLASS)
            in self._snapshot.of(WorkloadPriorityClass),
        )
        return default_job(framework, obj, facts)[0]


def placed_object(document: Document, namespace: str) -> tuple[JsonObject, str]:
    """The object of a document with its namespace, and its position; raises ApiError for an invalid object."""
    place = f"{document.file}:{document.line}"
    value = document.value
    if not isinstance(value, Mapping) or not isinstance(value.get("metadata") or {}, Mapping) or not value.get("kind"):
        raise ApiError(f"{place}: not a Kubernetes object: apiVersion, kind and metadata are required")
    head = {**(value.get("metadata") or {})}
    head["namespace"] = head.get("namespace") or namespace
    return {**value, "metadata": head}, place


def _kind(framework: Framework) -> tuple[str, str]:
    return framework.resource.group, framework.resource.kind


def _kind_of(obj: JsonObject) -> tuple[str, str]:
    return group_kind(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))


def _next_job(obj: JsonObject) -> JsonObject:
    """The next Job of a CronJob, with its queue label."""
    template = (obj.get("spec") or {}).get("jobTemplate") or {}
    own = metadata(template)
    labels = {**(own.get("labels") or {}), **(metadata(obj).get("labels") or {})}
    head = {**own, "labels": labels, "name": f"{metadata(obj).get('name', '')}-next"}
    head["namespace"] = metadata(obj).get("namespace", "")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": template.get("spec") or {}}


def _replica_count(obj: JsonObject) -> int:
    count = (obj.get("spec") or {}).get("replicas")
    return 1 if count is None else int(count)


def _replicas(obj: JsonObject) -> JobPodSet:
    template = (obj.get("spec") or {}).get("template") or {}
    return JobPodSet("main", _replica_count(obj), {"spec": deepcopy(template.get("spec") or {})})
