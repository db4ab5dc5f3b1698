"""Controller ref manager: pods controlled by an owner, and orphans that its selector matches.

The decision is a pure function over caches. Before the first adoption the owner is read live, since a cache may still
have an owner that was deleted or re-created.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectView
from kohort.api.meta import ObjectMeta
from kohort.api.selectors import Selector
from kohort.embedded.controllers.pod_control import controller_reference
from kohort.embedded.controllers.views import ControllerPod, controller_of
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.indexer import Indexer
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.patches import StrategicPatch

BY_CONTROLLER = "controller"
BY_OWNER = "owner"


def _controller(pod: ControllerPod) -> tuple[str]:
    """Index values of a pod: the UID of its controller, or for orphans the namespace."""
    reference = controller_of(pod.metadata)
    return (_orphan_key(pod.metadata.namespace) if reference is None else reference.uid,)


def _orphan_key(namespace: str) -> str:
    return f"/{namespace}"


def owner_uid(found: ObjectView) -> tuple[str, ...]:
    """Index by controller."""
    owner = controller_of(found.metadata)
    return (owner.uid,) if owner is not None else ()


def pods_by_controller(informers: SharedInformerFactory) -> Informer[ControllerPod]:
    """The shared pod informer, indexed by controller."""
    pods = informers.of(ControllerPod)
    pods.index(BY_CONTROLLER, _controller)
    return pods


def pods_of(cache: Indexer[ControllerPod], uid: str) -> list[ControllerPod]:
    """The pods controlled by an owner."""
    return cache.find(BY_CONTROLLER, uid)


def orphans_in(cache: Indexer[ControllerPod], namespace: str) -> list[ControllerPod]:
    """The pods of a namespace without a controller."""
    return cache.find(BY_CONTROLLER, _orphan_key(namespace))


@dataclass(frozen=True, slots=True)
class PodClaim:
    """Pods to keep, to adopt and to release."""

    kept: tuple[ControllerPod, ...] = ()
    adopted: tuple[ControllerPod, ...] = ()
    released: tuple[ControllerPod, ...] = ()


def decide(
    owner: ObjectMeta, selector: Selector, own: Iterable[ControllerPod], orphans: Iterable[ControllerPod]
) -> PodClaim:
    """Keeps matching pods, releases others, adopts matching orphans; a terminating owner changes nothing."""
    kept, released = list[ControllerPod](), list[ControllerPod]()
    for pod in own:
        (kept if selector.matches(pod.metadata.labels) else released).append(pod)
    if owner.deletion_timestamp is not None:
        return PodClaim(tuple(kept))
    wanted = (pod for pod in orphans if not pod.is_terminating and selector.matches(pod.metadata.labels))
    return PodClaim(tuple(kept), tuple(wanted), tuple(released))


def any_orphan(_: ControllerPod) -> bool:
    """Every orphan may be adopted."""
    return True


@dataclass(frozen=True, slots=True)
class ControllerRefManager:
    """Adopts and releases pods; `finalizers` are added at adoption and removed at release."""

    client: Client
    finalizers: tuple[str, ...] = ()

    async def claim(
        self,
        owner: ObjectView,
        selector: Selector,
        cache: Indexer[ControllerPod],
        eligible: Callable[[ControllerPod], bool] = any_orphan,
    ) -> list[ControllerPod]:
        """The pods of an owner after releases and adoptions of eligible orphans."""
        own = pods_of(cache, owner.metadata.uid)
        orphans = filter(eligible, orphans_in(cache, owner.metadata.namespace))
        decided = decide(owner.metadata, selector, own, orphans)
        for pod in decided.released:
            await self._patch(pod, self._released(owner))
        if not decided.adopted or not await self._may_adopt(owner):
            return list(decided.kept)
        adopted = [await self._patch(pod, self._adopted(owner)) for pod in decided.adopted]
        return [*decided.kept, *(pod for pod in adopted if pod is not None)]

    async def _may_adopt(self, owner: ObjectView) -> bool:
        """Whether a live read confirms that the owner exists, with the same UID, and is not terminating."""
        try:
            live = await self.client.of(type(owner)).get((owner.metadata.namespace, owner.metadata.name))
        except StatusError as error:
            if error.is_not_found:
                return False
            raise
        return live.metadata.uid == owner.metadata.uid and live.metadata.deletion_timestamp is None

    def _adopted(self, owner: ObjectView) -> dict[str, Json]:
        finalizers = {"finalizers": list(self.finalizers)} if self.finalizers else {}
        return {"ownerReferences": [controller_reference(owner)], **finalizers}

    def _released(self, owner: ObjectView) -> dict[str, Json]:
        left = {"$deleteFromPrimitiveList/finalizers": list(self.finalizers)} if self.finalizers else {}
        return {"ownerReferences": [{"$patch": "delete", "uid": owner.metadata.uid}], **left}

    async def _patch(self, pod: ControllerPod, change: dict[str, Any]) -> ControllerPod | None:
        """Patches the metadata of a pod; None if it is gone or was re-created."""
        patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid, **change}})
        try:
            return await self.client.of(ControllerPod).patch(pod.key, patch)
        except StatusError as error:
            if error.is_not_found or error.is_invalid:
                return None
            raise
