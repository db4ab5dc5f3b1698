"""Sum of the scales of the controllers of a set of pods, on which percentages of a budget are based."""

from collections.abc import Iterable

from kohort.api.meta import OwnerReference
from kohort.embedded.controllers.serving import DeploymentView, ReplicaSetView, StatefulSetView
from kohort.embedded.controllers.views import ControllerPod, controller_of
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.rest_mapper import RestMapper


class ScaleError(KubeError):
    """The scale of a controller cannot be determined."""


class Scales:
    """Reads scales from caches for built-in kinds, through the `scale` subresource for others."""

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        self._client = client
        self._mapping = RestMapper(client)
        self._replica_sets = informers.of(ReplicaSetView).cache
        self._deployments = informers.of(DeploymentView).cache
        self._stateful_sets = informers.of(StatefulSetView).cache

    async def total(self, pods: Iterable[ControllerPod]) -> int:
        """The sum over all controllers of these pods; pods without a controller do not count."""
        owners: dict[str, int] = {}
        for pod in pods:
            owner = controller_of(pod.metadata)
            if owner is not None and owner.uid not in owners:
                owners[owner.uid] = await self._scale(pod, owner)
        return sum(owners.values())

    async def _scale(self, pod: ControllerPod, owner: OwnerReference) -> int:
        known = self._known(pod.metadata.namespace, owner)
        return known if known is not None else await self._read_scale(pod, owner)

    def _known(self, namespace: str, owner: OwnerReference) -> int | None:
        if owner.api_version != ReplicaSetView.API_VERSION:
            return None
        if owner.kind == StatefulSetView.KIND:
            found = self._stateful_sets.get((namespace, owner.name))
            return found.spec.replicas if found and found.metadata.uid == owner.uid else None
        replica_set = self._replica_sets.get((namespace, owner.name)) if owner.kind == ReplicaSetView.KIND else None
        if replica_set is None or replica_set.metadata.uid != owner.uid:
            return None
        above = controller_of(replica_set.metadata)
        deployment = self._deployments.get((namespace, above.name)) if above else None
        is_above = above and deployment and deployment.metadata.uid == above.uid
        return (deployment if deployment and is_above else replica_set).spec.replicas

    async def _read_scale(self, pod: ControllerPod, owner: OwnerReference) -> int:
        resource = await self._mapping.resource(owner.api_version, owner.kind)
        try:
            scale = await self._client.of(resource).scale((pod.metadata.namespace, owner.name))
        except StatusError as error:
            if not error.is_not_found:
                raise
            if error.details.get("name") == owner.name:
                raise ScaleError(f'found no controllers for pod "{pod.metadata.name}"') from None
            plural = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            raise ScaleError(f"{plural} does not implement the scale subresource") from None
        return scale.spec.replicas or 0
