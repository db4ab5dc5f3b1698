"""Volume filters: PersistentVolumeClaims and the node affinity of their volumes.

Claims are not bound here: that is the task of storage controllers.
"""

from typing import Final

from kohort.api.selectors import NodeTerm, node_terms
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo
from kohort.embedded.scheduler.diagnosis import NO_VOLUME, VOLUME_NODE_CONFLICT, FilterFailure
from kohort.embedded.scheduler.requirements import VolumeClaimUse
from kohort.embedded.scheduler.views import SchedulerClaim, SchedulerPersistentVolume, SchedulerStorageClass
from kohort.kube.indexer import Indexer

UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
DELAYED: Final = "WaitForFirstConsumer"
ANNOTATION: Final = "pv.kubernetes.io/bind-completed"


class VolumeIndex:
    """Lookups in the caches of claims, volumes and storage classes."""

    def __init__(
        self,
        claims: Indexer[SchedulerClaim],
        volumes: Indexer[SchedulerPersistentVolume],
        classes: Indexer[SchedulerStorageClass],
    ) -> None:
        self._claims = claims
        self._volumes = volumes
        self._classes = classes

    def problem(self, pod: PodInfo) -> str:
        """Why the pod fits no node at all; empty if no such problem."""
        uses = pod.requirements.claims
        problem = next((found for found in (self._unusable(pod.key.namespace, use) for use in uses) if found), "")
        return problem or (UNBOUND if any(self._is_awaited(pod.key.namespace, use) for use in uses) else "")

    def filter_failure(self, pod: PodInfo, node: NodeInfo) -> FilterFailure | None:
        """Why the pod's volumes do not allow the node, if they do not."""
        for use in pod.requirements.claims:
            claim = self._claims.get((pod.key.namespace, use.name))
            if claim is None or not claim.spec.volume_name:
                return NO_VOLUME
            terms = self._reach(claim.spec.volume_name)
            if terms is not None and not any(term.matches(node.name, node.labels) for term in terms):
                return VOLUME_NODE_CONFLICT
        return None

    def _unusable(self, namespace: str, use: VolumeClaimUse) -> str:
        claim = self._claims.get((namespace, use.name))
        if claim is None and use.is_made_for_pod:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{use.name}"'
        if claim is None:
            return f'persistentvolumeclaim "{use.name}" not found'
        if claim.status.phase == "Lost":
            volume = claim.spec.volume_name
            return f'persistentvolumeclaim "{use.name}" bound to non-existent persistentvolume "{volume}"'
        leaves = claim.metadata.deletion_timestamp is not None
        return f'persistentvolumeclaim "{use.name}" is being deleted' if leaves else ""

    def _is_awaited(self, namespace: str, use: VolumeClaimUse) -> bool:
        """Whether an unbound claim must be bound before the pod is scheduled."""
        claim = self._claims.get((namespace, use.name))
        if claim is None or _is_bound(claim):
            return False
        kind = self._classes.get(("", claim.spec.storage_class_name or ""))
        return kind is None or kind.volume_binding_mode != DELAYED

    def _reach(self, volume: str) -> tuple[NodeTerm, ...] | None:
        found = self._volumes.get(("", volume))
        affinity = found.spec.node_affinity if found is not None else None
        return node_terms(affinity.required) if affinity is not None else None


def _is_bound(claim: SchedulerClaim) -> bool:
    return bool(claim.spec.volume_name) and ANNOTATION in claim.metadata.annotations
