"""Validation of topology annotations in all pod templates of a job (JOB-78).

Templates are found by their structure, so that plugins need not declare their paths.
"""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.core.templates import pod_templates
from kohort.api.fields import FieldError
from kohort.jobs.contract import ClusterReader, Framework
from kohort.jobs.objects import value_at
from kohort.jobs.validation.topology import LocatedTemplate, grouping_errors, topology_errors


def template_errors(framework: Framework, obj: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
    """Errors of the topology annotations of a job's templates."""
    templates = _located_templates(framework, obj, reads)
    for template in templates:
        yield from topology_errors(template, reads.gates)
    if not framework.has_one_pod_set:
        yield from grouping_errors(templates)


def _located_templates(framework: Framework, obj: JsonObject, reads: ClusterReader) -> list[LocatedTemplate]:
    found = list(pod_templates(obj))
    counts = framework.template_counts(obj, reads)
    sizes = counts if len(counts) == len(found) else [None] * len(found)
    return [
        LocatedTemplate(_annotations(template), path / "metadata" / "annotations", size)
        for (template, path), size in zip(found, sizes, strict=True)
    ]


def _annotations(template: JsonObject) -> dict[str, str]:
    """The annotations; a template inside a wrapped object may have anything there."""
    found = value_at(template, ("metadata", "annotations"))
    return {name: text for name, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}
