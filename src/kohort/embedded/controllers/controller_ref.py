"""Which pods belong to an owner: those it controls by uid, and strays that its selector takes in.

The decision is a pure function over caches. Before the first adoption the owner is read anew, because a cache may show
an owner that has been deleted, or replaced under its name.
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


def _controller(pod: ControllerPod) -> tuple[str]:
    """The uid of who controls a pod; strays are found by their namespace, which is no uid."""
    reference = controller_of(pod.metadata)
    return (_strays(pod.metadata.namespace) if reference is None else reference.uid,)


def _strays(namespace: str) -> str:
    return f"/{namespace}"


def pods_by_controller(informers: SharedInformerFactory) -> Informer[ControllerPod]:
    """The informer of all pods, which finds them by who controls them."""
    pods = informers.of(ControllerPod)
    pods.index(BY_CONTROLLER, _controller)
    return pods


def pods_of(cache: Indexer[ControllerPod], uid: str) -> list[ControllerPod]:
    """The pods that an owner controls."""
    return cache.find(BY_CONTROLLER, uid)


def strays_in(cache: Indexer[ControllerPod], namespace: str) -> list[ControllerPod]:
    """The pods of a namespace that nobody controls."""
    return cache.find(BY_CONTROLLER, _strays(namespace))


@dataclass(frozen=True, slots=True)
class PodClaim:
    """What an owner has, wants, and no longer wants."""

    kept: tuple[ControllerPod, ...] = ()
    adopted: tuple[ControllerPod, ...] = ()
    released: tuple[ControllerPod, ...] = ()


def decide(
    owner: ObjectMeta, selector: Selector, own: Iterable[ControllerPod], strays: Iterable[ControllerPod]
) -> PodClaim:
    """Keep what matches, release what no longer does, adopt strays that do; an owner on its way out changes nothing."""
    kept, released = list[ControllerPod](), list[ControllerPod]()
    for pod in own:
        (kept if selector.matches(pod.metadata.labels) else released).append(pod)
    if owner.deletion_timestamp is not None:
        return PodClaim(tuple(kept))
    wanted = (pod for pod in strays if not pod.is_leaving and selector.matches(pod.metadata.labels))
    return PodClaim(tuple(kept), tuple(wanted), tuple(released))


def anybody(_: ControllerPod) -> bool:
    """Every stray may be adopted."""
    return True


@dataclass(frozen=True, slots=True)
class ControllerRefManager:
    """Carries out claims; `finalizers` are put on what is adopted and taken off what is released."""

    client: Client
    finalizers: tuple[str, ...] = ()

    async def claim(
        self,
        owner: ObjectView,
        selector: Selector,
        cache: Indexer[ControllerPod],
        eligible: Callable[[ControllerPod], bool] = anybody,
    ) -> list[ControllerPod]:
        """The pods of an owner, after releases, and adoptions of strays that are eligible."""
        own = pods_of(cache, owner.metadata.uid)
        strays = filter(eligible, strays_in(cache, owner.metadata.namespace))
        decided = decide(owner.metadata, selector, own, strays)
        for pod in decided.released:
            await self._amend(pod, self._released(owner))
        if not decided.adopted or not await self._may_adopt(owner):
            return list(decided.kept)
        adopted = [await self._amend(pod, self._adopted(owner)) for pod in decided.adopted]
        return [*decided.kept, *(pod for pod in adopted if pod is not None)]

    async def _may_adopt(self, owner: ObjectView) -> bool:
        """Whether the owner is really there, the same and not on its way out."""
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

    async def _amend(self, pod: ControllerPod, change: dict[str, Any]) -> ControllerPod | None:
        """Change the metadata of a pod; None where it is gone, or somebody else's by now."""
        patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid, **change}})
        try:
            return await self.client.of(ControllerPod).patch(pod.key, patch)
        except StatusError as error:
            if error.is_not_found or error.is_invalid:
                return None
            raise
