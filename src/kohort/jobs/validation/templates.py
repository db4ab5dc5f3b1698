"""The pod templates of a job, with their places and sizes, for the rules about topology (JOB-78).

Templates are found by their shape, so that a plugin does not have to say where its own stand.
"""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.core.templates import pod_templates
from kohort.api.fields import FieldError
from kohort.jobs.contract import ClusterReader, Framework
from kohort.jobs.errors import JobError
from kohort.jobs.validation.topology import TemplatePlace, grouping_errors, topology_errors


def template_errors(framework: Framework, obj: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
    """Problems of what the templates of a job say about topology."""
    places = _places(framework, obj, reads)
    for place in places:
        yield from topology_errors(place, reads.gates)
    if len(places) > 1:
        yield from grouping_errors(places)


def _places(framework: Framework, obj: JsonObject, reads: ClusterReader) -> list[TemplatePlace]:
    found = list(pod_templates(obj))
    counts = _counts(framework, obj, reads)
    sizes = counts if len(counts) == len(found) else [None] * len(found)
    return [
        TemplatePlace(
            (template.get("metadata") or {}).get("annotations") or {}, path / "metadata" / "annotations", size
        )
        for (template, path), size in zip(found, sizes, strict=True)
    ]


def _counts(framework: Framework, obj: JsonObject, reads: ClusterReader) -> list[int | None]:
    """Sizes of the pod sets; none where the job leans on something that is not there yet."""
    try:
        return [pod_set.count for pod_set in framework.pod_sets(obj, reads)]
    except JobError:
        return []
