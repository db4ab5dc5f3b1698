"""Delete: immediate, or graceful if finalizers, a grace period or dependents delay it."""

from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from kohort.api.codec import Json, JsonObject
from kohort.api.times import format_time, parse_time
from kohort.embedded.admission.attributes import AdmissionAttributes
from kohort.embedded.admission.chain import AdmissionChain
from kohort.embedded.server.encoding.versions import EncodedObject, VersionConverter, rendered
from kohort.embedded.server.handlers.write_pipeline import MAX_ATTEMPTS, is_released
from kohort.embedded.server.registry.resource_catalog import CRDS
from kohort.embedded.server.registry.store_writer import StoreWriter
from kohort.embedded.server.requests.options import DeleteRequestOptions
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.embedded.storage import RevisionConflictError, Store, StoredObject
from kohort.kube.errors import MODIFIED, ErrorSubject, conflict, not_found

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_ORPHANED_BY_DEFAULT = frozenset(("jobs.batch", "replicationcontrollers"))
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer that keeps a definition until its objects are deleted."""
_TERMINAL_PHASES = ("Succeeded", "Failed")


class DeleteResult(NamedTuple):
    """Result of a delete: the object while its deletion is pending, else its last state."""

    shown: EncodedObject
    is_gone: bool


class Deleter:
    """Deletes objects from storage."""

    def __init__(
        self, store: Store, store_writer: StoreWriter, versions: VersionConverter, admission: AdmissionChain
    ) -> None:
        self._store = store
        self._store_writer = store_writer
        self._versions = versions
        self._admission = admission

    async def delete(self, operation: WriteOperation, options: DeleteRequestOptions) -> DeleteResult:
        """Deletes an object, or starts its graceful deletion."""
        _warn_orphan_option(operation, options)
        for _ in range(MAX_ATTEMPTS):
            entry = self._store.get(operation.key())
            if entry is None:
                raise not_found(operation.error_subject)
            check_preconditions(operation, options, entry.object)
            await self._admission.validate(await self._attributes(operation, options, entry))
            try:
                return await self._step(operation, options, entry)
            except RevisionConflictError as lost:
                if lost.current is None:
                    raise not_found(operation.error_subject) from None
        raise conflict(operation.error_subject, MODIFIED)

    async def _attributes(
        self, operation: WriteOperation, options: DeleteRequestOptions, entry: StoredObject
    ) -> AdmissionAttributes:
        old = await self._versions.served_object(operation.resource, entry.object)
        return AdmissionAttributes(
            "DELETE",
            operation.resource,
            operation.namespace,
            operation.name,
            operation.user,
            old=old,
            dry_run=options.dry_run,
            options=_admission_options(operation, options, old),
            warnings=operation.warnings,
        )

    async def _step(
        self, operation: WriteOperation, options: DeleteRequestOptions, entry: StoredObject
    ) -> DeleteResult:
        leaving = with_deletion_timestamp(operation, options, entry.object)
        gone = is_released(leaving)
        if options.dry_run:
            (shown,) = await self._versions.served(operation.resource, [rendered(leaving)])
            return DeleteResult(shown, gone)
        if gone:
            stored = await self._store_writer.delete(entry)
        elif leaving == entry.object:
            stored = entry
        else:
            stored = await self._store_writer.update(entry, leaving)
        (shown,) = await self._versions.served(operation.resource, [stored])
        return DeleteResult(shown, gone)


def _admission_options(operation: WriteOperation, options: DeleteRequestOptions, found: JsonObject) -> JsonObject:
    """Delete options as webhooks see them; pods have their grace period filled in."""
    if operation.resource.key != "pods":
        return options.shown()
    return options.shown(gracePeriodSeconds=_grace_period(operation, options, found))


def with_deletion_timestamp(operation: WriteOperation, options: DeleteRequestOptions, found: JsonObject) -> JsonObject:
    """The object with deletionTimestamp, grace period and the finalizers of the propagation policy."""
    metadata = dict(found["metadata"])
    finalizers = _finalizers(operation, options, metadata.get("finalizers") or ())
    if operation.resource.key == CRDS and not metadata.get("deletionTimestamp"):
        finalizers.append(CRD_CLEANUP)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    grace = _grace_period(operation, options, found)
    _set_deadline(operation, metadata, grace)
    return _marked(operation, {**found, "metadata": metadata})


def _set_deadline(operation: WriteOperation, metadata: JsonObject, grace: int) -> None:
    """Sets the deletion deadline; a second delete may shorten it, never extend it."""
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = format_time(operation.now + timedelta(seconds=grace))
        if operation.resource.key != "namespaces":
            metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1
        return
    before = metadata.get("deletionGracePeriodSeconds") or 0
    if grace < before:
        requested = parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=before)
        metadata["deletionTimestamp"] = format_time(max(requested + timedelta(seconds=grace), operation.now))
        metadata["deletionGracePeriodSeconds"] = grace


def _marked(operation: WriteOperation, leaving: JsonObject) -> JsonObject:
    if operation.resource.key != "namespaces":
        return leaving
    status = {**(leaving.get("status") or {}), "phase": "Terminating"}
    return {**leaving, "status": status}


def _finalizers(operation: WriteOperation, options: DeleteRequestOptions, present: Iterable[str]) -> list[Json]:
    """The finalizers after the propagation policy is applied."""
    propagation = options.propagation
    kept = list(present)
    if not propagation:
        if operation.resource.key not in _ORPHANED_BY_DEFAULT or FOREGROUND in kept or ORPHAN in kept:
            return kept
        propagation = "Orphan"
    kept = [each for each in kept if each not in (ORPHAN, FOREGROUND)]
    if propagation == "Orphan":
        kept.append(ORPHAN)
    elif propagation == "Foreground":
        kept.append(FOREGROUND)
    return kept


def _grace_period(operation: WriteOperation, options: DeleteRequestOptions, found: JsonObject) -> int:
    """The grace period; 0 except for pods that are bound to a node and not finished."""
    if operation.resource.key != "pods":
        return 0
    spec, status = found.get("spec") or {}, found.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in _TERMINAL_PHASES:
        return 0
    if options.grace_period is not None:
        return max(options.grace_period, 0)
    given = spec.get("terminationGracePeriodSeconds")
    return 30 if given is None else max(int(given), 0)


def check_preconditions(operation: WriteOperation, options: DeleteRequestOptions, found: JsonObject) -> None:
    """Raises a conflict unless uid and resourceVersion match the preconditions."""
    metadata, resource = found["metadata"], operation.resource
    error_subject = ErrorSubject(resource.kind, resource.group, operation.name)
    if options.uid and options.uid != metadata["uid"]:
        raise conflict(
            error_subject,
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated",
        )
    if options.resource_version and options.resource_version != metadata["resourceVersion"]:
        raise conflict(
            error_subject,
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified",
        )


def _warn_orphan_option(operation: WriteOperation, options: DeleteRequestOptions) -> None:
    if operation.resource.key == "jobs.batch" and not options.propagation:
        operation.warnings.append(_JOB_WARNING)
