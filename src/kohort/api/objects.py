"""Validation of object metadata: names, namespace, labels, annotations."""

from collections.abc import Iterator

from kohort.api.codec import Json
from kohort.api.fields import ROOT, ErrorKind, FieldError, forbidden, invalid, required
from kohort.api.meta import ObjectMeta
from kohort.api.names import annotation_errors, check_label, check_qualified_name, check_subdomain, label_errors
from kohort.api.resource import Resource

METADATA = ROOT / "metadata"


def metadata_errors(metadata: ObjectMeta, resource: Resource) -> list[FieldError]:
    """Errors of an object's metadata."""
    return [
        *_name_errors(metadata),
        *_namespace_errors(metadata, resource),
        *label_errors(metadata.labels, METADATA / "labels"),
        *annotation_errors(metadata.annotations, METADATA / "annotations"),
        *_finalizer_errors(metadata),
    ]


def _name_errors(metadata: ObjectMeta) -> Iterator[FieldError]:
    if not metadata.name and not metadata.generate_name:
        yield required(METADATA / "name", "name or generateName must be given")
    problem = check_subdomain(metadata.name) if metadata.name else None
    if problem:
        yield invalid(METADATA / "name", metadata.name, problem)


def _namespace_errors(metadata: ObjectMeta, resource: Resource) -> Iterator[FieldError]:
    if metadata.namespace and not resource.namespaced:
        yield forbidden(METADATA / "namespace", f"{resource.kind} is cluster-scoped: remove the namespace")
    problem = check_label(metadata.namespace) if metadata.namespace else None
    if problem:
        yield invalid(METADATA / "namespace", metadata.namespace, problem)


def _finalizer_errors(metadata: ObjectMeta) -> Iterator[FieldError]:
    for index, finalizer in enumerate(metadata.finalizers):
        problem = check_qualified_name(finalizer)
        if problem:
            yield invalid((METADATA / "finalizers")[index], finalizer, problem)


def head_errors(value: Json) -> list[FieldError]:
    """Errors because of which a value cannot be handled as an object at all."""
    if not isinstance(value, dict):
        return [FieldError(ROOT, ErrorKind.TYPE_INVALID, "must be an object with apiVersion, kind and metadata")]
    return [
        required(ROOT / name, "every object names its apiVersion and kind")
        if name not in value
        else FieldError(ROOT / name, ErrorKind.TYPE_INVALID, "must be a text", value[name])
        for name in ("apiVersion", "kind")
        if not isinstance(value.get(name), str)
    ]
