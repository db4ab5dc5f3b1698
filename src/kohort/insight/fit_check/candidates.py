"""Builds Workloads from manifests, with the functions of the job frameworks.

Kinds without a Workload are expanded: a CronJob to its next Job, a Deployment to its pods.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Final

from msgspec import structs

from kohort.api.codec import JsonObject, from_json
from kohort.api.documents import Document
from kohort.api.errors import ApiError, DecodeError
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.v1beta2 import LocalQueue, Workload, WorkloadPriorityClass
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.insight.fit_check.reads import SnapshotReader
from kohort.insight.snapshot import Snapshot
from kohort.jobs.builtin import all_frameworks
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.defaulting import DEFAULT_PRIORITY_CLASS, default_job
from kohort.jobs.defaulting.job_context import JobContext, set_label
from kohort.jobs.defaulting.local_queue import DEFAULT_QUEUE
from kohort.jobs.keys import QUEUE_NAME_LABEL
from kohort.jobs.objects import metadata, queue_name
from kohort.jobs.priority import resolve_priority, with_priority
from kohort.jobs.registry import group_kind
from kohort.jobs.workload_builder import build_workload

WORKLOAD: Final = (GROUP, "Workload")
MAX_DEPENDENTS: Final = 1000
"""Maximum number of evaluated pods of a Deployment."""


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


def kinds_read_by(documents: Iterable[Document]) -> set[Resource]:
    """Kinds that the pods of these jobs depend on, such as training runtimes."""
    kinds = {_kind_of(each.value) for each in documents if isinstance(each.value, dict)}
    return {watch.resource for each in all_frameworks() if _kind(each) in kinds for watch in each.watches}


class CandidateReader:
    """Reads manifests against one cluster."""

    def __init__(self, snapshot: Snapshot, namespace: str, queue: str) -> None:
        self._snapshot = snapshot
        self._namespace = namespace
        self._queue = queue
        """LocalQueue of the command line, which overrides manifests; empty if not set."""
        self._frameworks = {_kind(each): each for each in all_frameworks()}

    def is_queued(self, document: Document) -> bool:
        """Whether its kind is supported, or it has a queue label."""
        obj, _ = placed_object(document, self._namespace)
        return _kind_of(obj) in self._frameworks or _kind_of(obj) == WORKLOAD or bool(queue_name(obj))

    def candidates(self, documents: Sequence[Document]) -> list[FitCandidate]:
        """The candidates in the order of the documents; a pod group once, at its first pod."""
        placed = [placed_object(document, self._namespace) for document in documents]
        reads = self._reader([obj for obj, _ in placed if self._group(obj)])
        found: dict[str, FitCandidate] = {}
        for obj, place in placed:
            name = self._subject(obj)
            if name not in found or not self._group(obj):
                found[f"{name} at {place}" if name in found else name] = self._candidate(obj, name, place, reads)
        return list(found.values())

    def _reader(self, members: Sequence[JsonObject]) -> SnapshotReader:
        alone = SnapshotReader(self._snapshot)
        indexes = {name: values for each in self._frameworks.values() for name, values in each.indexes.items()}
        return SnapshotReader(self._snapshot, [self._defaulted(each, alone) for each in members], indexes)

    def _group(self, obj: JsonObject) -> str:
        """The group that the object belongs to; empty if it is a job of its own."""
        framework = self._frameworks.get(_kind_of(obj))
        return framework.groups.name(obj) if framework is not None and framework.groups is not None else ""

    def _subject(self, obj: JsonObject) -> str:
        group = self._group(obj)
        if group:
            return f"{str(obj['kind']).lower()} group {group}"
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
        elif (framework := self._frameworks.get((group, kind))) is not None:
            yield from self._expanded(framework, self._defaulted(obj, reads), reads)
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

    def _expanded(self, framework: Framework, job: JsonObject, reads: SnapshotReader) -> Iterator[Workload]:
        """The Workloads of what is queued instead of the object, or its own."""
        dependents = list(islice(framework.queued_dependents(job), MAX_DEPENDENTS))
        for each in dependents:
            yield from self._workloads(each, reads)
        if not dependents and (framework.is_reconciled or framework.pod_sets(job, reads)):
            yield self._of(framework, job, reads)

    def _of(self, framework: Framework, job: JsonObject, reads: SnapshotReader) -> Workload:
        name = self._group(job)
        if framework.groups is not None and name:
            group = framework.load(JobKey(metadata(job).get("namespace", ""), name, is_group=True), reads)
            if group is None:
                raise ApiError(f"group {name} has no members")
            workload = framework.groups.build(group, reads).workload
            pod_sets = framework.pod_sets(group, reads)
            return with_priority(workload, resolve_priority(job, pod_sets, reads, framework.priority_class(job)))
        pod_sets = framework.pod_sets(job, reads)
        built = build_workload(framework, job, pod_sets, reads.configuration, reads.gates)
        return with_priority(built, resolve_priority(job, pod_sets, reads, framework.priority_class(job)))

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
