"""Claims of StatefulSet pods: created with the pod, owned according to the retention policy."""

from collections.abc import Iterator
from typing import ClassVar

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectView
from kohort.api.resource import Resource
from kohort.embedded.controllers.pod_control import controller_reference
from kohort.embedded.controllers.serving import StatefulSetView
from kohort.embedded.controllers.statefulsets.identity import claim_name, numbered_claim, ordinal_of, pod_name
from kohort.embedded.controllers.views import ControllerPod, key_of, reference_to
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.events import EventRecorder, EventToRecord
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.patches import StrategicPatch


class StatefulSetClaim(ObjectView):
    """Metadata of a PersistentVolumeClaim."""

    resource: ClassVar = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)


class StatefulSetClaims:
    """Creates claims and maintains their owner references."""

    def __init__(self, client: Client, informers: SharedInformerFactory, recorder: EventRecorder) -> None:
        self._client = client
        self._recorder = recorder
        self._claims = informers.of(StatefulSetClaim).cache

    def is_stale(self, found: StatefulSetView, ordinal: int) -> bool:
        """Whether a pod has to wait for terminating claims of its predecessor."""
        name = pod_name(found, ordinal)
        return any(_is_terminating(claim, name) for claim in self._present(found, ordinal))

    async def provide(self, found: StatefulSetView, ordinal: int) -> None:
        """Creates the missing claims of a pod."""
        for template in found.spec.volume_claim_templates:
            claim = claim_name(found, template, ordinal)
            if self._claims.get((found.metadata.namespace, claim)) is None:
                await self._make(found, numbered_claim(found, template, ordinal), pod_name(found, ordinal))

    async def _make(self, found: StatefulSetView, claim: dict[str, Json], pod: str) -> None:
        name, owner = claim["metadata"]["name"], found.metadata.name
        try:
            await self._client.of(StatefulSetClaim.resource).create(claim)
        except StatusError as error:
            if error.is_already_exists:
                return
            why = f"Create Claim {name} for Pod {pod} in StatefulSet {owner} failed error: {error}"
            self._recorder.record(reference_to(found), EventToRecord("Warning", "FailedCreate", why))
            raise
        text = f"Create Claim {name} Pod {pod} in StatefulSet {owner} success"
        self._recorder.record(reference_to(found), EventToRecord("Normal", "SuccessfulCreate", text))

    async def settle(self, found: StatefulSetView, pod: ControllerPod) -> None:
        """Sets the owner references of a pod's claims according to the retention policy."""
        ordinal = ordinal_of(pod)
        owner = self._owner(found, pod, ordinal)
        for claim in self._present(found, ordinal):
            references = _changes(claim, found, pod, owner)
            if references:
                change = {"uid": claim.metadata.uid, "ownerReferences": references}
                await self._patch(claim, change)

    def _owner(self, found: StatefulSetView, pod: ControllerPod, ordinal: int) -> ObjectView | None:
        start, policy = found.spec.ordinals.start, found.spec.persistent_volume_claim_retention_policy
        is_condemned = not start <= ordinal < start + found.spec.replicas
        if is_condemned and policy.when_scaled == "Delete":
            return pod
        return found if policy.when_deleted == "Delete" else None

    async def _patch(self, claim: StatefulSetClaim, change: dict[str, Json]) -> None:
        try:
            await self._client.of(StatefulSetClaim).patch(key_of(claim.metadata), StrategicPatch({"metadata": change}))
        except StatusError as error:
            if not error.is_not_found:
                raise

    def _present(self, found: StatefulSetView, ordinal: int) -> Iterator[StatefulSetClaim]:
        for template in found.spec.volume_claim_templates:
            claim = self._claims.get((found.metadata.namespace, claim_name(found, template, ordinal)))
            if claim is not None:
                yield claim


def _is_terminating(claim: StatefulSetClaim, pod: str) -> bool:
    """Whether a claim is terminating or owned by a previous pod."""
    owned = any(each.kind == "Pod" and each.name == pod for each in claim.metadata.owner_references)
    return owned or claim.metadata.deletion_timestamp is not None


def _changes(
    claim: StatefulSetClaim, found: StatefulSetView, pod: ControllerPod, owner: ObjectView | None
) -> list[Json]:
    """Changes to a claim's owner references; those of others are left alone."""
    present = {each.uid for each in claim.metadata.owner_references}
    wanted = owner.metadata.uid if owner is not None else ""
    dropped = [each.metadata.uid for each in (found, pod) if each.metadata.uid in present - {wanted}]
    changes: list[Json] = [{"$patch": "delete", "uid": uid} for uid in dropped]
    if owner is not None and wanted not in present:
        changes.append(controller_reference(owner))
    return changes
