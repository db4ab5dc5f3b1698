"""Pod control: creates and deletes the pods of an owner and records events on it.

Pods are created from a template's JSON, so that no field is lost, and deleted by UID, so that a stale cache never
deletes a pod of another owner.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectView
from kohort.api.names import check_subdomain
from kohort.embedded.controllers.batches import run_in_batches
from kohort.embedded.controllers.views import ControllerPod, reference_to
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.events import EventRecorder, EventToRecord
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import StrategicPatch
from kohort.kube.transport import Request

_JSON = {"Content-Type": "application/json"}


def controller_reference(owner: ObjectView) -> dict[str, Json]:
    """The controller owner reference to an object."""
    return {
        "apiVersion": owner.resource.api_version,
        "kind": owner.resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def name_prefix(owner: str) -> str:
    """generateName of an owner's pods: with a dash unless the name is too long."""
    prefix = f"{owner}-"
    return owner if check_subdomain(prefix + "x") else prefix


def pod_from_template(template: dict[str, Any], owner: ObjectView) -> dict[str, Json]:
    """A new pod of an owner, to be completed by its controller; the template is not modified."""
    metadata = template.get("metadata") or {}
    kept = {name: metadata[name] for name in ("labels", "annotations", "finalizers") if metadata.get(name)}
    head = {"generateName": name_prefix(owner.metadata.name), "ownerReferences": [controller_reference(owner)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, **head}, "spec": template.get("spec") or {}}


@dataclass(slots=True)
class PodCreationResult:
    """The created pods and the first rejection, if any."""

    made: list[ControllerPod] = field(default_factory=list)
    rejection: KubeError | None = None


@dataclass(frozen=True, slots=True)
class PodControl:
    """Creates and deletes pods on behalf of their owners."""

    client: Client
    recorder: EventRecorder

    async def create(self, owner: ObjectView, pod: dict[str, Json]) -> ControllerPod:
        """Creates a pod; a rejection is also recorded as an event of the owner."""
        pods = self.client.of(ControllerPod)
        place = pods.kind.resource.path(owner.metadata.namespace)
        request = Request("POST", place, (), _JSON, self.client.of(pods.kind.resource).kind.body(pod))
        try:
            made = pods.kind.read(await self.client.call(request))
        except StatusError as error:
            if not _is_ending_namespace(error):
                self._record_event(owner, EventToRecord("Warning", "FailedCreate", f"Error creating: {error}"))
            raise
        self._record_event(owner, EventToRecord("Normal", "SuccessfulCreate", f"Created pod: {made.metadata.name}"))
        return made

    async def create_all(self, owner: ObjectView, pods: Sequence[dict[str, Json]]) -> PodCreationResult:
        """Creates pods in slow-start batches, so that a systematic rejection is detected early."""
        batch = PodCreationResult()

        async def make(pod: dict[str, Json]) -> None:
            batch.made.append(await self.create(owner, pod))

        batch.rejection = await run_in_batches([partial(make, pod) for pod in pods])
        return batch

    async def delete(self, owner: ObjectView, pod: ControllerPod) -> None:
        """Deletes a pod; a missing pod counts as deleted."""
        try:
            await self.client.of(ControllerPod).delete(pod.key, DeletionOptions(uid=pod.metadata.uid))
        except StatusError as error:
            if error.is_not_found:
                return
            self._record_event(owner, EventToRecord("Warning", "FailedDelete", f"Error deleting: {error}"))
            raise
        self._record_event(owner, EventToRecord("Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}"))

    async def drop_finalizer(self, pod: ControllerPod, finalizer: str) -> None:
        """Removes a finalizer from a pod if it exists."""
        change = {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [finalizer]}
        try:
            await self.client.of(ControllerPod).patch(pod.key, StrategicPatch({"metadata": change}))
        except StatusError as error:
            if not error.is_not_found:
                raise

    def _record_event(self, owner: ObjectView, note: EventToRecord) -> None:
        self.recorder.record(reference_to(owner), note)


def _is_ending_namespace(error: StatusError) -> bool:
    causes = error.details.get("causes") or ()
    return any(isinstance(cause, dict) and cause.get("reason") == "NamespaceTerminating" for cause in causes)
