"""Metadata set by the server: generated names, UIDs, timestamps; and fields that are immutable."""

import secrets
from collections.abc import Mapping
from typing import Any

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT, FieldError, forbidden
from kohort.api.times import format_time
from kohort.embedded.server.registry.uids import UIDS
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.kube.errors import bad_request

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_MAX_BASE = 63 - _SUFFIX
_OF_THE_SERVER = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_NOTHING_WHEN_EMPTY = ("labels", "annotations", "finalizers", "ownerReferences")
_FIXED = (*_OF_THE_SERVER, "resourceVersion", "generation", "name", "namespace", "generateName")


def generated_name(base: str) -> str:
    """A generated name; the random suffix has no vowels, so that it forms no words."""
    return base[:_MAX_BASE] + "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX))


def stamp_new(operation: WriteOperation, found: JsonObject) -> JsonObject:
    """A new object with UID and creation time; client values of server-set fields are dropped."""
    given = found.get("metadata") or {}
    metadata = {name: value for name, value in given.items() if name not in _OF_THE_SERVER}
    for name in ("resourceVersion", "generation", "namespace"):
        metadata.pop(name, None)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generated_name(str(metadata["generateName"]))
    if operation.resource.namespaced:
        metadata["namespace"] = operation.namespace
    metadata["uid"] = UIDS.new()
    metadata["creationTimestamp"] = format_time(operation.now)
    return {**found, "metadata": _without_empty(metadata)}


def check_identity(operation: WriteOperation, found: Mapping[str, Any]) -> None:
    """Requires name and namespace of the object to be empty or those of the path."""
    metadata = found.get("metadata") or {}
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    if operation.resource.namespaced and namespace and namespace != operation.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if operation.name and name and name != operation.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({operation.name})")


def check_name(name: str, found: Mapping[str, Any]) -> None:
    """Requires the name in an update."""
    if not (found.get("metadata") or {}).get("name"):
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")


def update_problems(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validation errors of an update: no finalizers may be added to a terminating object."""
    if not old["metadata"].get("deletionTimestamp"):
        return []
    held = old["metadata"].get("finalizers") or ()
    added = sorted({each for each in new["metadata"].get("finalizers") or () if each not in held})
    if not added:
        return []
    listed = ", ".join(f'"{each}"' for each in added)
    why = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
    return [forbidden(ROOT / "metadata" / "finalizers", why)]


def carry_over(old: JsonObject, new: JsonObject) -> JsonObject:
    """The new object with the server-set metadata of the old one."""
    before, given = old["metadata"], dict(new.get("metadata") or {})
    for name in _FIXED:
        if name in before:
            given[name] = before[name]
        else:
            given.pop(name, None)
    return {**new, "metadata": _without_empty(given)}


def _without_empty(metadata: JsonObject) -> JsonObject:
    """The metadata without empty lists and maps, which are not stored."""
    for name in _NOTHING_WHEN_EMPTY:
        if name in metadata and not metadata[name]:
            del metadata[name]
    return metadata


def same_content(old: JsonObject, new: JsonObject) -> bool:
    """Whether the objects are equal except for the times of managed fields."""
    return _without_managed_fields(old) == _without_managed_fields(new) and _owners(old) == _owners(new)


def _without_managed_fields(found: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in found["metadata"].items() if name != "managedFields"}
    return {**found, "metadata": metadata}


def _owners(found: JsonObject) -> list[Any]:
    entries = found["metadata"].get("managedFields") or ()
    return [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
