"""Adoption and release of the ReplicaSets of a Deployment."""

from collections.abc import Iterable
from dataclasses import dataclass

from kohort.api.codec import Json
from kohort.api.selectors import compile_or_nothing
from kohort.embedded.controllers.pod_control import controller_reference
from kohort.embedded.controllers.serving import DeploymentView, ReplicaSetView
from kohort.embedded.controllers.views import key_of
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.patches import StrategicPatch


@dataclass(frozen=True, slots=True)
class SetClaims:
    """Adopts and releases ReplicaSets."""

    client: Client

    async def claim(
        self, found: DeploymentView, own: Iterable[ReplicaSetView], orphans: Iterable[ReplicaSetView]
    ) -> list[ReplicaSetView]:
        """The ReplicaSets of a Deployment after adoptions and releases; a terminating Deployment changes nothing."""
        selector = compile_or_nothing(found.spec.selector)
        own = list(own)
        kept = [each for each in own if selector.matches(each.metadata.labels)]
        if found.metadata.deletion_timestamp is not None:
            return kept
        for each in own:
            if not selector.matches(each.metadata.labels):
                await self._patch(each, {"$patch": "delete", "uid": found.metadata.uid})
        wanted = [each for each in orphans if _is_free(each) and selector.matches(each.metadata.labels)]
        if not wanted or not await self._is_there(found):
            return kept
        adopted = [await self._patch(each, controller_reference(found)) for each in wanted]
        return [*kept, *(each for each in adopted if each is not None)]

    async def _is_there(self, found: DeploymentView) -> bool:
        """Whether a live read confirms that the Deployment exists: a stale cache must not cause adoptions."""
        try:
            live = await self.client.of(DeploymentView).get(key_of(found.metadata))
        except StatusError as error:
            if error.is_not_found:
                return False
            raise
        return live.metadata.uid == found.metadata.uid and live.metadata.deletion_timestamp is None

    async def _patch(self, each: ReplicaSetView, reference: dict[str, Json]) -> ReplicaSetView | None:
        patch = StrategicPatch({"metadata": {"uid": each.metadata.uid, "ownerReferences": [reference]}})
        try:
            return await self.client.of(ReplicaSetView).patch(key_of(each.metadata), patch)
        except StatusError as error:
            if error.is_not_found or error.is_invalid:
                return None
            raise


def _is_free(each: ReplicaSetView) -> bool:
    return each.metadata.deletion_timestamp is None
