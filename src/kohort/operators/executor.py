"""Executes plans: each write is bound to the UID or version that it was planned for, and can be repeated."""

from collections.abc import Mapping
from dataclasses import dataclass

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectReference
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.jobs.objects import controller_owner, metadata
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.events import EventRecorder, EventToRecord
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import MergePatch
from kohort.operators.contract import ChildPatch, ChildPlan
from kohort.operators.objects import controller_reference


class NameTakenError(KubeError):
    """An object that the stand-in has to create exists, and belongs to another owner."""


@dataclass(frozen=True, slots=True)
class PlanExecutor:
    """Performs the writes of plans for jobs of one kind."""

    client: Client
    recorder: EventRecorder
    resource: Resource
    """The kind of the jobs."""
    children: Mapping[str, Resource]
    """The kinds of the objects that are created, by name."""

    async def execute(self, job: JsonObject, plan: ChildPlan) -> None:
        """Perform all writes; raises the first rejection after the status was written."""
        for each in plan.deletes:
            await self._delete(each)
        for change in plan.patches:
            await self._patch(change)
        rejection = await self._create_all(job, plan)
        if plan.status != (job.get("status") or {}):
            await self.client.of(self.resource).update({**job, "status": plan.status}, subresource="status")
        for event in plan.events:
            self.record(job, event)
        if rejection is not None:
            raise rejection

    async def expire(self, job: JsonObject) -> None:
        """Delete the job itself."""
        await self._delete_object(self.resource, job, "Background")

    def record(self, job: JsonObject, event: EventToRecord) -> None:
        """Record an event of a job."""
        head = metadata(job)
        reference = ObjectReference(
            api_version=self.resource.api_version,
            kind=self.resource.kind,
            namespace=head.get("namespace", ""),
            name=head.get("name", ""),
            uid=head.get("uid", ""),
            resource_version=head.get("resourceVersion", ""),
        )
        self.recorder.record(reference, event)

    async def _create_all(self, job: JsonObject, plan: ChildPlan) -> KubeError | None:
        for child in plan.creates:
            try:
                await self._create(job, child)
            except KubeError as error:
                about = f"{child['kind']} {child['metadata']['name']}"
                self.record(job, EventToRecord("Warning", "FailedCreate", f"creating {about} failed: {error}"))
                return error
        return None

    async def _create(self, job: JsonObject, child: JsonObject) -> None:
        objects = self.client.of(self.children[child["kind"]])
        head = child["metadata"]
        owned = {"ownerReferences": [controller_reference(self.resource, job)], **head}
        owner = owned["ownerReferences"][0]["uid"]
        try:
            await objects.create({**child, "metadata": owned})
        except StatusError as error:
            if not error.is_already_exists:
                raise
            found = await objects.get(ObjectKey(head["namespace"], head["name"]))
            reference = controller_owner(found)
            if reference is None or reference.get("uid") != owner:
                raise NameTakenError(
                    f"it exists and is not controlled by {self.resource.kind} {job['metadata']['name']}: "
                    f"delete it, or rename the {self.resource.kind}"
                ) from None

    async def _patch(self, change: ChildPatch) -> None:
        head = change.child["metadata"]
        same = {"uid": head["uid"], "resourceVersion": head["resourceVersion"]}
        patch = {**change.patch, "metadata": {**change.patch.get("metadata", {}), **same}}
        objects = self.client.of(self.children[change.child["kind"]])
        key = ObjectKey(head["namespace"], head["name"])
        await objects.patch(key, MergePatch(patch), subresource=change.subresource)

    async def _delete(self, child: JsonObject) -> None:
        if not metadata(child).get("deletionTimestamp"):
            # A name is used again only once the pods of the previous object are gone.
            propagation = "Background" if child["kind"] == "Pod" else "Foreground"
            await self._delete_object(self.children[child["kind"]], child, propagation)

    async def _delete_object(self, resource: Resource, found: JsonObject, propagation: str) -> None:
        head = found["metadata"]
        try:
            how = DeletionOptions(uid=head["uid"], propagation=propagation)
            await self.client.of(resource).delete(ObjectKey(head["namespace"], head["name"]), how)
        except StatusError as error:
            if not (error.is_not_found or error.is_conflict):
                raise
