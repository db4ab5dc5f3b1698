"""Job-like objects: their queue name, priority class, and the requests of their pods.

Pod templates are found by their structure, so that unknown kinds are handled too. A CronJob represents the Jobs that it
creates; its own labels are not copied to them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kohort.api.codec import Json, from_json
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.core.batch import JobSpec
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.core.templates import pod_templates
from kohort.api.documents import Document
from kohort.api.errors import ApiError
from kohort.api.fields import ROOT, Path
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.api.manifests.origins import Mention, Origin, member, mention_of, text
from kohort.api.manifests.requests import RequestTotals, least_request, requesting_fields

MIN_PARALLELISM_ANNOTATION = "kueue.x-k8s.io/job-min-parallelism"

_ENDLESS_FRAMEWORKS = frozenset(
    {"pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset", "ray.io/rayservice"}
)
_CRON_JOB = ("batch", "CronJob")


@dataclass(frozen=True, slots=True)
class PodSetFacts:
    """Pods of one template, as far as the manifest determines them."""

    count: int | None
    """The minimum number of pods at the start; None if unknown."""
    requests: RequestTotals
    """The minimum requests of one pod."""
    fields: dict[str, Mention]
    """The requested resources, and their positions."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A job-like object."""

    origin: Origin
    labels: Mention
    """The position of the labels of the job, even if absent."""
    queue: Mention | None
    """The queue name, as a label of the job."""
    annotated: Mention | None
    """The queue name as an annotation, without a label."""
    misplaced: Mention | None
    """The queue name as a label of a pod template, or of a CronJob instead of its Jobs."""
    priority_class: Mention | None
    runs_to_completion: bool
    has_owner: bool
    pod_sets: tuple[PodSetFacts, ...]

    @property
    def queue_meant(self) -> Mention | None:
        """The queue name by label, or by annotation without a label."""
        return self.queue or self.annotated


class _Part(NamedTuple):
    """An object with metadata inside the manifest: the job itself, or a template in it."""

    value: Json
    path: Path

    def labelled(self, document: Document, key: str) -> Mention | None:
        return self._entry(document, "labels", key)

    def annotated(self, document: Document, key: str) -> Mention | None:
        return self._entry(document, "annotations", key)

    def _entry(self, document: Document, table: str, key: str) -> Mention | None:
        found = text(member(member(self.value, "metadata"), table), key)
        return mention_of(document, (self.path / "metadata" / table)[key], found) if found else None


def _kinds(frameworks: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Group and kind of each framework, in any version."""
    parts = (BUILT_IN_FRAMEWORKS[name].kind.split(".", 2) for name in frameworks)
    return frozenset((group, kind) for kind, _version, group in parts)


JOB_KINDS = _kinds(frozenset(BUILT_IN_FRAMEWORKS)) | {_CRON_JOB}
FINITE_KINDS = _kinds(frozenset(BUILT_IN_FRAMEWORKS) - _ENDLESS_FRAMEWORKS) | {_CRON_JOB}


def submission_of(document: Document, origin: Origin) -> Submission | None:
    """The submission of an object, if it is a job or has a queue name."""
    kind = (origin.group, origin.kind)
    job = _job_part(document.value, kind)
    queue, annotated = job.labelled(document, QUEUE_NAME_LABEL), job.annotated(document, QUEUE_NAME_LABEL)
    if kind not in JOB_KINDS and not queue and not annotated:
        return None
    templates = [_Part(*found) for found in pod_templates(document.value)]
    return Submission(
        origin,
        mention_of(document, job.path / "metadata" / "labels"),
        queue,
        None if queue else annotated,
        _misplaced(document, [_Part(document.value, ROOT), *templates] if kind == _CRON_JOB else templates),
        job.labelled(document, PRIORITY_CLASS_LABEL),
        kind in FINITE_KINDS,
        bool(member(member(job.value, "metadata"), "ownerReferences")),
        tuple(_pod_sets(document, templates, _count(job, kind))),
    )


def pod_set_facts(document: Document, spec: QuotaPodSpec, path: Path, count: int | None) -> PodSetFacts:
    """Facts about a pod set; raises ApiError for invalid quantities."""
    fields = {name: mention_of(document, place) for name, place in requesting_fields(spec, path).items()}
    return PodSetFacts(count, least_request(spec), fields)


def _job_part(value: Json, kind: tuple[str, str]) -> _Part:
    if kind == _CRON_JOB:
        return _Part(member(member(value, "spec"), "jobTemplate"), ROOT / "spec" / "jobTemplate")
    return _Part(value, ROOT)


def _misplaced(document: Document, parts: list[_Part]) -> Mention | None:
    found = (part.labelled(document, QUEUE_NAME_LABEL) for part in parts)
    return next(filter(None, found), None)


# Pods


def _pod_sets(document: Document, templates: list[_Part], count: int | None) -> Iterator[PodSetFacts]:
    for template in templates:
        try:
            spec = from_json(template.value["spec"], QuotaPodSpec)
            yield pod_set_facts(document, spec, template.path / "spec", count)
        except ApiError:
            # A kind without a view may have other content under these names.
            continue


def _count(job: _Part, kind: tuple[str, str]) -> int | None:
    """The minimum number of pods, for kinds whose only template has a known number of pods (JOB-99)."""
    if kind == ("", "Pod"):
        return 1
    if kind not in (("batch", "Job"), _CRON_JOB):
        return None
    try:
        spec = from_json(member(job.value, "spec") or {}, JobSpec)
        least = text(member(member(job.value, "metadata"), "annotations"), MIN_PARALLELISM_ANNOTATION)
        parallelism = 1 if spec.parallelism is None else spec.parallelism
        wanted = parallelism if spec.completions is None else min(parallelism, spec.completions)
        return min(wanted, int(least)) if least else wanted
    except (ApiError, ValueError):
        return None
