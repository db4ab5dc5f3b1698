"""Validation of objects of Kubernetes' own kinds: fields of a view, and metadata for all others.

Only what every API server rejects is an error; fields that a view does not have are left to the server.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from kohort.api.codec import Json, from_json
from kohort.api.core import views
from kohort.api.core.apps import Deployment, ReplicaSet, StatefulSet
from kohort.api.core.batch import CronJob, Job, JobSpec
from kohort.api.core.nodes import PriorityClass
from kohort.api.core.objects import ObjectView
from kohort.api.core.pods import Pod, PodTemplate, PodTemplateSpec
from kohort.api.errors import DecodeError
from kohort.api.fields import ROOT, ErrorKind, FieldError, Path, invalid, not_supported, required
from kohort.api.manifests.pods import ANY_RESTART, ENDLESS, FINITE, pod_errors
from kohort.api.meta import LabelSelector, ObjectMeta
from kohort.api.names import annotation_errors, label_errors
from kohort.api.objects import METADATA, metadata_errors
from kohort.api.resource import Resource
from kohort.api.schema import Schema, schema_of
from kohort.api.selectors import compile_selector, selector_errors
from kohort.api.structural import plainly, prune, validate

SPEC = ROOT / "spec"
TEMPLATE = SPEC / "template"
MAX_PRIORITY = 1_000_000_000
"""Higher values are reserved for Kubernetes."""

_ANY_NAME_GROUPS = ".k8s.io"
"""Groups that are built into Kubernetes, some of whose kinds have names such as `system:admin`."""


@cache
def _views() -> dict[tuple[str, str], type[ObjectView]]:
    objects = (view for view in views() if issubclass(view, ObjectView) and view.resource.plural)
    return {(view.API_VERSION, view.KIND): view for view in objects}


def view_for(api_version: str, kind: str) -> type[ObjectView] | None:
    """The view of a kind, if there is one."""
    return _views().get((api_version, kind))


def kubernetes_errors(value: Json) -> list[FieldError]:
    """Errors for which any API server would reject a new object that is not of Kueue's kinds."""
    view = view_for(value["apiVersion"], value["kind"])
    if view is None:
        return [*_wrong_version(value), *_foreign_metadata_errors(value)]
    schema = schema_of(view)
    pruned = prune(value, schema)[0]
    undecodable = _schema_errors(pruned, schema)
    if undecodable:
        return undecodable
    try:
        typed = from_json(pruned, view)
    except DecodeError as error:
        return [FieldError(ROOT, ErrorKind.TYPE_INVALID, str(error))]
    return [*metadata_errors(typed.metadata, view.resource), *_RULES.get(view, _nothing)(typed)]


def _schema_errors(pruned: Json, schema: Schema) -> list[FieldError]:
    """Merge keys define how lists are merged, and not what is rejected: a variable may occur twice in `env`."""
    errors = plainly(validate(_with_fractions_as_text(pruned, schema), schema))
    return [error for error in errors if error.kind is not ErrorKind.DUPLICATE]


def _with_fractions_as_text(value: Json, schema: Schema) -> Json:
    """A number such as 0.5 is a valid quantity for Kubernetes' own kinds, though not for custom ones."""
    if isinstance(value, dict):
        below = {name: schema.properties.get(name) or schema.additional for name in value}
        return {name: _with_fractions_as_text(member, below[name] or schema) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_fractions_as_text(item, schema.items or schema) for item in value]
    return repr(value) if isinstance(value, float) and schema.type == "int-or-string" else value


# Kinds without a view


def _wrong_version(value: Json) -> Iterator[FieldError]:
    """A well-known kind with an apiVersion that does not have it: `v1` for a Job."""
    served = [version for version, kind in _views() if kind == value["kind"]]
    if served and "." not in value["apiVersion"]:
        yield not_supported(ROOT / "apiVersion", value["apiVersion"], served)


def _foreign_metadata_errors(value: Json) -> list[FieldError]:
    schema = Schema("object", properties={"metadata": schema_of(ObjectMeta)})
    pruned = prune({"metadata": value.get("metadata") or {}}, schema)[0]
    errors = plainly(validate(pruned, schema))
    if errors:
        return errors
    group, _, version = value["apiVersion"].rpartition("/")
    found = metadata_errors(
        from_json(pruned["metadata"], ObjectMeta), Resource(group, version, value["kind"], "", namespaced=True)
    )
    return [error for error in found if not (group.endswith(_ANY_NAME_GROUPS) and error.path == METADATA / "name")]


# Kinds with a view


def _nothing(_value: Any) -> list[FieldError]:
    return []


def _pod(pod: Pod) -> list[FieldError]:
    return pod_errors(pod.spec, SPEC, ANY_RESTART)


def _template_errors(template: PodTemplateSpec, path: Path, restart_policies: tuple[str, ...]) -> list[FieldError]:
    metadata = template.metadata
    return [
        *label_errors(metadata.labels, path / "metadata" / "labels"),
        *annotation_errors(metadata.annotations, path / "metadata" / "annotations"),
        *pod_errors(template.spec, path / "spec", restart_policies),
    ]


def _pod_template(stored: PodTemplate) -> list[FieldError]:
    return _template_errors(stored.template, ROOT / "template", ANY_RESTART)


def _job(job: Job) -> list[FieldError]:
    return _job_spec_errors(job.spec, SPEC)


def _job_spec_errors(spec: JobSpec, path: Path) -> list[FieldError]:
    counts = {
        "parallelism": spec.parallelism,
        "completions": spec.completions,
        "backoffLimit": spec.backoff_limit,
        "activeDeadlineSeconds": spec.active_deadline_seconds,
        "ttlSecondsAfterFinished": spec.ttl_seconds_after_finished,
    }
    negative = [
        invalid(path / name, count, "must be 0 or more")
        for name, count in counts.items()
        if count is not None and count < 0
    ]
    return [
        *negative,
        *_template_errors(spec.template, path / "template", FINITE),
        *selector_errors(spec.selector, path / "selector"),
    ]


def _cron_job(cron_job: CronJob) -> list[FieldError]:
    template = cron_job.spec.job_template
    path = SPEC / "jobTemplate"
    errors = _job_spec_errors(template.spec, path / "spec")
    errors += label_errors(template.metadata.labels, path / "metadata" / "labels")
    if not cron_job.spec.schedule:
        errors.append(required(SPEC / "schedule", "cron schedule, e.g. 0 3 * * *"))
    return errors


def _served(kept: Deployment | ReplicaSet | StatefulSet) -> list[FieldError]:
    template = kept.spec.template
    return [*_template_errors(template, TEMPLATE, ENDLESS), *_own_pods_errors(kept.spec.selector, template)]


def _own_pods_errors(selector: LabelSelector | None, template: PodTemplateSpec) -> list[FieldError]:
    if selector is None:
        return [required(SPEC / "selector", "label selector for the pods")]
    errors = selector_errors(selector, SPEC / "selector")
    if not errors and not compile_selector(selector).matches(template.metadata.labels):
        detail = "must have the labels of spec.selector"
        errors.append(invalid(TEMPLATE / "metadata" / "labels", template.metadata.labels, detail))
    return errors


def _priority_class(priority_class: PriorityClass) -> list[FieldError]:
    if priority_class.value <= MAX_PRIORITY or priority_class.metadata.name.startswith("system-"):
        return []
    return [invalid(ROOT / "value", priority_class.value, f"must be at most {MAX_PRIORITY}")]


_RULES: dict[type, Callable[[Any], list[FieldError]]] = {
    Pod: _pod,
    PodTemplate: _pod_template,
    Job: _job,
    CronJob: _cron_job,
    Deployment: _served,
    ReplicaSet: _served,
    StatefulSet: _served,
    PriorityClass: _priority_class,
}
