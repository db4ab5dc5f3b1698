"""Frameworks of the common shape: a boolean suspend field, and pod templates inside the object.

A subclass defines where the templates are and how many pods each has; start, stop and pod sets follow.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.templates import pod_templates
from kohort.api.fields import ROOT, FieldError, Path, invalid
from kohort.api.gates import Gate
from kohort.jobs.contract import ClusterReader, Finish, Framework
from kohort.jobs.errors import InvalidFieldError
from kohort.jobs.objects import LARGEST_INT32, queue_name, set_value, value_at
from kohort.jobs.podsets import JobPodSet, PodSetInfo, expect_count, merge_info, restore_info
from kohort.jobs.topology import topology_request

MAX_POD_SETS: Final = 18
"""Pod sets of a Workload (JOB-44)."""


@dataclass(frozen=True, slots=True)
class PodTemplatePlace:
    """A pod set, and the place of its template in the object."""

    name: str
    count: int
    owner: JsonObject
    """The part of the object that the path starts from."""
    path: tuple[str, ...]
    sub_group_count: int | None = None
    """The number of its sub-groups, for kinds that label pods with their index (JOB-79)."""

    @property
    def template(self) -> JsonObject:
        """The template, empty if the object has none."""
        return value_at(self.owner, self.path) or {}

    def editable(self) -> JsonObject:
        """The template inside the object, created if it has none."""
        template = value_at(self.owner, self.path)
        if template is None:
            template = {}
            set_value(self.owner, self.path, template)
        return template  # type: ignore[no-any-return]


class TemplatedFramework(Framework):
    """A framework of the common shape."""

    suspend_path: ClassVar[tuple[str, ...]] = ("spec", "suspend")
    """Path of the suspend field; absent means False."""

    @abstractmethod
    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """The pod sets, in a stable order."""

    @property
    def suspend_field(self) -> str:
        """The path of the suspend field."""
        return ".".join(self.suspend_path)

    def is_suspended(self, obj: JsonObject) -> bool:
        """Whether the suspend field is set."""
        return value_at(obj, self.suspend_path) is True

    def suspend(self, obj: JsonObject) -> None:
        """Set the suspend field."""
        set_value(obj, self.suspend_path, value=True)

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The pod sets with copies of their templates."""
        return [
            JobPodSet(
                each.name,
                each.count,
                deepcopy(each.template),
                topology_request=topology_request(each.template, reads.gates, self.index_labels, each.sub_group_count),
            )
            for each in self.places(obj)
        ]

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Clear the suspend field, and merge each info into its template."""
        places = self.places(obj)
        expect_count(infos, len(places))
        set_value(obj, self.suspend_path, value=False)
        for place, info in zip(places, infos, strict=True):
            merge_info(place.editable(), info)

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Restore each template."""
        places = self.places(obj)
        if len(places) != len(originals):
            return False
        for place, original in zip(places, originals, strict=True):
            restore_info(place.editable(), original)
        return True

    def template_counts(self, obj: JsonObject, reads: ClusterReader) -> list[int | None]:
        """The pods of each template, in the order in which the templates are written."""
        try:
            counts = {id(each.template): each.count for each in self.places(obj)}
        except InvalidFieldError:
            return []
        return [counts.get(id(template.value)) for template in pod_templates(obj)]

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Pod sets that no Workload can have (JOB-44)."""
        return list(self._pod_set_errors(obj)) if is_queued(obj, reads) else []

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """The same; what was wrong before does not block an update."""
        before = self.validate_create(old, reads)
        return [each for each in self.validate_create(new, reads) if each not in before]

    def _pod_set_errors(self, obj: JsonObject) -> list[FieldError]:
        places = self.places(obj)
        names = [each.name for each in places]
        if not names:
            return [invalid(_SPEC, 0, "has no pods: a queued job needs at least one pod template", "JOB-44")]
        if len(names) > MAX_POD_SETS:
            return [invalid(_SPEC, len(names), f"has more than {MAX_POD_SETS} pod templates", "JOB-44")]
        odd = [each for each in places if not 0 <= each.count <= LARGEST_INT32]
        if odd:
            detail = f"is the number of pods in {odd[0].name}, which must be 0 to {LARGEST_INT32}"
            return [invalid(_SPEC, odd[0].count, detail, "JOB-44")]
        repeated = sorted({name for name in names if names.count(name) > 1})
        return [invalid(_SPEC, name, "is the name of more than one pod set", "JOB-44") for name in repeated]


class OnceQueuedFramework(TemplatedFramework):
    """A framework whose jobs are also validated by an update that removes their queue (JOB-124, JOB-144)."""

    @abstractmethod
    def errors(self, obj: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
        """Errors of a queued job."""

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """The errors of a job that is queued."""
        return list(self.errors(obj, reads)) if is_queued(obj, reads) else []

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """The errors of a job that is or was queued; those that were there before do not block other changes."""
        was_queued = reads.gates.enabled(Gate.ValidateRayAndSparkJobUpdates) and bool(queue_name(old))
        if not (is_queued(new, reads) or was_queued):
            return []
        present = list(self.errors(old, reads))
        return [error for error in self.errors(new, reads) if error not in present]


_SPEC: Final[Path] = ROOT / "spec"


def is_queued(obj: JsonObject, reads: ClusterReader) -> bool:
    """Whether the rules for queued objects apply (JOB-44, JOB-124, JOB-144)."""
    return bool(queue_name(obj)) or reads.configuration.manage_jobs_without_queue_name


def condition_finish(obj: JsonObject, succeeded: str, failed: str) -> Finish | None:
    """How a job finished, by the first condition of these types that is True."""
    for each in true_conditions(obj):
        if each.get("type") in (succeeded, failed):
            return Finish(success=each["type"] == succeeded, message=each.get("message") or "")
    return None


def true_conditions(obj: JsonObject) -> Iterator[JsonObject]:
    """The conditions that are True."""
    return (each for each in value_at(obj, ("status", "conditions")) or () if each.get("status") == "True")
