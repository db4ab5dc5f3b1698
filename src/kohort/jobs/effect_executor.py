"""Executes effects one after the other: requests with the resourceVersion of the reconciled state, and events.

It stops at the first failure; the next pass continues from the resulting state (JOB-27).
"""

from dataclasses import dataclass, field

from msgspec.structs import replace

from kohort.api.codec import JsonObject
from kohort.api.conditions import truncate_note
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.validation.workload_update import workload_create_errors
from kohort.api.merge import difference
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.workloads.assume_cache import key_of as workload_key
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.effects import (
    CreateWorkload,
    DeleteObject,
    DeleteWorkload,
    Effect,
    GateRemoved,
    PatchObject,
    PatchWorkload,
    RecordEvent,
    key_of,
    record_event,
)
from kohort.jobs.errors import RetryError, UnretryableError
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.objects import metadata, uid
from kohort.jobs.timing import time_creation, time_gate_removal
from kohort.kube.errors import StatusError
from kohort.kube.events import EventRecorder
from kohort.kube.options import DeletionOptions, WriteOptions
from kohort.kube.patches import MergePatch
from kohort.kube.resource_client import ResourceClient

INVALID_JOB = "ErrWorkloadCompose"
"""Reason of the event of a job that no Workload can represent."""


class WorkloadNameConflictError(RetryError):
    """A Workload of that name exists; usually an earlier one of the same job that is being deleted (JOB-36)."""


def merge_patch(effect: PatchObject, version: str) -> MergePatch | None:
    """The patch for that resourceVersion; None if nothing differs (JOB-54)."""
    changed = difference(effect.before, effect.after)
    if not changed:
        return None
    return MergePatch({**changed, "metadata": {**changed.get("metadata", {}), "resourceVersion": version}})


@dataclass
class EffectExecutor:
    """Executes the effects of one pass."""

    context: ControllerContext
    reads: CacheReader
    recorder: EventRecorder
    manager: str
    expectations: UidExpectations
    _versions: dict[str, str] = field(default_factory=dict)
    """The newest resourceVersion of each object written in this pass, by UID."""
    _warned: set[str] = field(default_factory=set)
    """UIDs of objects about which this pass recorded a Warning."""

    async def execute(self, effect: Effect) -> None:
        """Execute an effect; raises errors of the request."""
        match effect:
            case GateRemoved():
                time_gate_removal(self.context.metrics, effect.gate, effect.workload, self.context.now())
            case RecordEvent():
                self._record(effect)
            case PatchObject():
                await self._patch_object(effect)
            case DeleteObject():
                await self._delete_object(effect)
            case CreateWorkload():
                await self._create(effect)
            case PatchWorkload():
                await self._patch_workload(effect)
            case DeleteWorkload():
                await self.context.workload_cache.delete(effect.workload)

    async def _patch_object(self, effect: PatchObject) -> None:
        identity = uid(effect.before)
        version = self._versions.get(identity) or metadata(effect.before).get("resourceVersion", "")
        patch = merge_patch(effect, version)
        if patch is None:
            return
        subresource = "status" if effect.part is WriteTarget.STATUS else ""
        options = WriteOptions(field_manager=self.manager)
        written = await self._objects(effect.before).patch(key_of(effect.before), patch, options, subresource)
        self._versions[identity] = metadata(written).get("resourceVersion", "")
        self.reads.assume(written)

    async def _delete_object(self, effect: DeleteObject) -> None:
        identity = uid(effect.obj)
        how = DeletionOptions(effect.how.propagation, effect.how.grace_seconds, uid=identity)
        if effect.expected_by:
            self.expectations.expect(effect.expected_by, (identity,))
        try:
            await self._objects(effect.obj).delete(key_of(effect.obj), how)
        except BaseException as error:
            self.expectations.observe(effect.expected_by, identity)
            if not (isinstance(error, StatusError) and error.is_not_found):
                raise

    async def _create(self, effect: CreateWorkload) -> None:
        errors = workload_create_errors(effect.workload, self.context.settings.gates)
        if errors:
            # As the webhook would: API servers skip it for the manager's own Workloads (API-95).
            raise self._invalid(effect, "; ".join(map(str, errors)))
        try:
            await self.context.workload_cache.create(effect.workload, self.manager)
        except StatusError as error:
            if error.is_invalid:
                raise self._invalid(effect, str(error)) from error
            if not error.is_already_exists:
                raise
            self._record_name_conflict(effect, workload_key(effect.workload))
            raise WorkloadNameConflictError(f"Workload {workload_key(effect.workload)} already exists") from error
        time_creation(self.context.metrics, effect.owner, self.context.now())

    def _invalid(self, effect: CreateWorkload, why: str) -> UnretryableError:
        """The error for a job that no Workload can represent, after an event unless this pass has named the cause."""
        message = truncate_note(f"cannot be queued: {why}")
        if uid(effect.owner) not in self._warned:
            self._record(record_event(effect.owner, INVALID_JOB, message, "Warning"))
        return UnretryableError(message)

    def _record(self, event: RecordEvent) -> None:
        if event.note.type == "Warning":
            self._warned.add(event.about.uid)
        self.recorder.record(event.about, event.note)

    def _record_name_conflict(self, effect: CreateWorkload, key: ObjectKey) -> None:
        """Record an event if another job has a Workload of that name, which only a user can resolve (DEV-7)."""
        present = self.context.workload_cache.get(key)
        controller = (
            next((own for own in present.metadata.owner_references if own.controller), None) if present else None
        )
        if controller is None or controller.uid == uid(effect.owner):
            return
        why = f"Workload {key} belongs to {controller.kind} {controller.name}; delete one of them"
        self._record(record_event(effect.owner, "WorkloadNameConflict", why, "Warning"))

    async def _patch_workload(self, effect: PatchWorkload) -> None:
        before, after = (self._latest(each) for each in (effect.before, effect.after))
        write = (
            self.context.workload_cache.write_status
            if effect.part is WriteTarget.STATUS
            else self.context.workload_cache.write_object
        )
        try:
            written = await write(before, after, effect.manager)
        except StatusError as error:
            if error.is_not_found:
                return
            raise
        self._versions[written.metadata.uid] = written.metadata.resource_version

    def _latest(self, workload: Workload) -> Workload:
        """The Workload with the resourceVersion of this pass' last write."""
        version = self._versions.get(workload.metadata.uid)
        if version is None:
            return workload
        return replace(workload, metadata=replace(workload.metadata, resource_version=version))

    def _objects(self, obj: JsonObject) -> ResourceClient[JsonObject]:
        return self.context.client.of(self.reads.resource(obj["apiVersion"], obj["kind"]))
