"""Makes and removes the pods of an owner, and tells the owner's events about it.

Pods are made from the JSON of a template, so that nothing a user wrote is lost; they are deleted by uid, so that a
cache that lags never costs somebody else's pod.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectView
from kohort.api.names import check_subdomain
from kohort.embedded.controllers.batches import in_batches
from kohort.embedded.controllers.views import ControllerPod, reference_to
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.events import EventRecorder, EventToRecord
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import StrategicPatch
from kohort.kube.transport import Request

_JSON = {"Content-Type": "application/json"}


def controller_reference(owner: ObjectView) -> dict[str, Json]:
    """What the metadata of an owned object says of the controller that manages it."""
    return {
        "apiVersion": owner.resource.api_version,
        "kind": owner.resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def name_prefix(owner: str) -> str:
    """How the names of an owner's pods begin: with a dash where the name leaves room for one."""
    prefix = f"{owner}-"
    return owner if check_subdomain(prefix + "x") else prefix


def pod_from_template(template: dict[str, Any], owner: ObjectView) -> dict[str, Json]:
    """A new pod of an owner, still without what only its own controller knows; the template stays as it is."""
    metadata = template.get("metadata") or {}
    kept = {name: metadata[name] for name in ("labels", "annotations", "finalizers") if metadata.get(name)}
    head = {"generateName": name_prefix(owner.metadata.name), "ownerReferences": [controller_reference(owner)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, **head}, "spec": template.get("spec") or {}}


@dataclass(slots=True)
class PodCreationResult:
    """What came of making several pods: those that were made, and the first refusal that ended it."""

    made: list[ControllerPod] = field(default_factory=list)
    refusal: KubeError | None = None


@dataclass(frozen=True, slots=True)
class PodControl:
    """Creates and deletes pods in the name of their owners."""

    client: Client
    recorder: EventRecorder

    async def create(self, owner: ObjectView, pod: dict[str, Json]) -> ControllerPod:
        """Make one pod; a refusal becomes an event of the owner too."""
        pods = self.client.of(ControllerPod)
        place = pods.kind.resource.path(owner.metadata.namespace)
        request = Request("POST", place, (), _JSON, self.client.of(pods.kind.resource).kind.body(pod))
        try:
            made = pods.kind.read(await self.client.call(request))
        except StatusError as error:
            if not _is_ending_namespace(error):
                self._tell(owner, EventToRecord("Warning", "FailedCreate", f"Error creating: {error}"))
            raise
        self._tell(owner, EventToRecord("Normal", "SuccessfulCreate", f"Created pod: {made.metadata.name}"))
        return made

    async def create_all(self, owner: ObjectView, pods: Sequence[dict[str, Json]]) -> PodCreationResult:
        """Make pods in batches that double while all goes well, so that a refusal for all is heard soon."""
        batch = PodCreationResult()

        async def make(pod: dict[str, Json]) -> None:
            batch.made.append(await self.create(owner, pod))

        batch.refusal = await in_batches([partial(make, pod) for pod in pods])
        return batch

    async def delete(self, owner: ObjectView, pod: ControllerPod) -> None:
        """Ask a pod to end; one that is gone is as good as deleted."""
        try:
            await self.client.of(ControllerPod).delete(pod.key, DeletionOptions(uid=pod.metadata.uid))
        except StatusError as error:
            if error.is_not_found:
                return
            self._tell(owner, EventToRecord("Warning", "FailedDelete", f"Error deleting: {error}"))
            raise
        self._tell(owner, EventToRecord("Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}"))

    async def drop_finalizer(self, pod: ControllerPod, finalizer: str) -> None:
        """Take a finalizer off a pod; one that is gone has none."""
        change = {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [finalizer]}
        try:
            await self.client.of(ControllerPod).patch(pod.key, StrategicPatch({"metadata": change}))
        except StatusError as error:
            if not error.is_not_found:
                raise

    def _tell(self, owner: ObjectView, note: EventToRecord) -> None:
        self.recorder.record(reference_to(owner), note)


def _is_ending_namespace(error: StatusError) -> bool:
    causes = error.details.get("causes") or ()
    return any(isinstance(cause, dict) and cause.get("reason") == "NamespaceTerminating" for cause in causes)
