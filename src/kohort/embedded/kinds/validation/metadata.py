"""Validation of names, labels, annotations, owner references and finalizers."""

from collections.abc import Iterator
from typing import Any

from kohort.api.codec import JsonMapping
from kohort.api.fields import ROOT, FieldError, Path, too_long
from kohort.embedded.kinds.validation import name_formats
from kohort.embedded.kinds.validation.problems import Problems, bad, missing
from kohort.embedded.resources import ServedResource

_MAX_ANNOTATIONS = 256 * 1024
_RBAC = "rbac.authorization.k8s.io"
_NAMES: dict[str, name_formats.FormatCheck] = {
    "namespaces": name_formats.label,
    "services": name_formats.label,
    f"clusterrolebindings.{_RBAC}": name_formats.path_segment,
    f"clusterroles.{_RBAC}": name_formats.path_segment,
    f"rolebindings.{_RBAC}": name_formats.path_segment,
    f"roles.{_RBAC}": name_formats.path_segment,
}
_PATH = ROOT / "metadata"
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def name_problems(resource: ServedResource, obj: JsonMapping) -> Problems:
    """Errors of the object's name; reviews have none."""
    if not resource.is_served_by_store:
        return
    metadata: Any = obj.get("metadata") or {}
    name, prefix = metadata.get("name"), metadata.get("generateName")
    check = _NAMES.get(resource.qualified, name_formats.subdomain)
    if prefix:
        # The generated suffix is alphanumeric, so one character completes the name.
        yield from (bad(_PATH / "generateName", prefix, text) for text in check(f"{prefix}x"[-253:]))
    if not name:
        yield missing(_PATH / "name", "name or generateName is required")
        return
    yield from (bad(_PATH / "name", name, text) for text in check(name))


def metadata_problems(metadata: JsonMapping, path: Path) -> Iterator[FieldError]:
    """Errors of the metadata of an object or template."""
    yield from label_problems(metadata.get("labels") or {}, path / "labels")
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        yield from (bad(path / "annotations", key, text) for text in name_formats.qualified_name(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATIONS:
        yield too_long(path / "annotations", _MAX_ANNOTATIONS)
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        yield from _owner_problems(owner, (path / "ownerReferences")[index])
    yield from _controllers(metadata.get("ownerReferences") or (), path / "ownerReferences")
    finalizers = metadata.get("finalizers") or ()
    for finalizer in finalizers:
        yield from (bad(path / "finalizers", finalizer, text) for text in name_formats.qualified_name(finalizer))
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield bad((path / "finalizers")[index], finalizer, why)


def label_problems(labels: JsonMapping, path: Path) -> Problems:
    """Errors of label keys and values."""
    for key, value in labels.items():
        yield from (bad(path, key, text) for text in name_formats.qualified_name(key))
        yield from (bad(path, value, text) for text in name_formats.label_value(value))


def _owner_problems(owner: JsonMapping, path: Path) -> Problems:
    for name in ("apiVersion", "kind", "name", "uid"):
        if not owner.get(name):
            yield missing(path / name, "must not be empty")


def _controllers(owners: Any, path: Path) -> Problems:
    named = [owner.get("name", "") for owner in owners if owner.get("controller")]
    if len(named) > 1:
        why = 'Only one reference can have Controller set to true. Found "true" in references for {} and {}'
        yield bad(path, list(owners), why.format(named[0], named[1]))
