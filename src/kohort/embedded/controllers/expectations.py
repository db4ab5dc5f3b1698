"""Expectations: writes of a controller to pods that its cache does not show yet, overlaid on the cache.

A stale cache thus never causes a repeated write. Writes that the cache can never show, because the pod was created and
deleted between two lists, expire.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from kohort.embedded.controllers.views import ControllerPod
from kohort.kube.clock import Clock

EXPECTATION_TIMEOUT = 300.0
"""Seconds after which an unobserved write is dropped."""


@dataclass(slots=True)
class _Writes:
    """Unobserved writes to the pods of one owner, by pod UID, with their times."""

    created: dict[str, tuple[float, ControllerPod]] = field(default_factory=dict)
    deleted: dict[str, float] = field(default_factory=dict)
    released: dict[str, tuple[float, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.created or self.deleted or self.released)


class PodExpectations:
    """Expectations of one controller by owner UID."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._owners: dict[str, _Writes] = {}
        self._unseen: dict[str, str] = {}

    def created(self, owner: str, pod: ControllerPod) -> None:
        """Records the creation of a pod."""
        self._of(owner).created[pod.metadata.uid] = (self._clock.now(), pod)
        self._unseen[pod.metadata.uid] = owner

    def deleted(self, owner: str, pod: ControllerPod) -> None:
        """Records the deletion of a pod."""
        self._of(owner).deleted[pod.metadata.uid] = self._clock.now()

    def released(self, owner: str, pod: ControllerPod, finalizer: str) -> None:
        """Records the removal of a finalizer."""
        self._of(owner).released[pod.metadata.uid] = (self._clock.now(), finalizer)

    def forget(self, owner: str) -> None:
        """Drops the expectations of a deleted owner."""
        writes = self._owners.pop(owner, None)
        for uid in writes.created if writes else ():
            self._unseen.pop(uid, None)

    def observe(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        """Informer handler that fulfils expectations."""
        shown = new or old
        owner = self._unseen.pop(shown.metadata.uid, None) if shown else None
        writes = self._owners.get(owner) if owner else None
        if writes and shown:
            writes.created.pop(shown.metadata.uid, None)

    def overlay(self, owner: str, cached: Iterable[ControllerPod]) -> list[ControllerPod]:
        """The owner's pods as the cache will show them after observing all writes."""
        writes = self._owners.get(owner)
        if not writes:
            return list(cached)
        pods = {pod.metadata.uid: pod for pod in cached}
        self._settle(writes, pods)
        pods = {uid: pod for uid, (_, pod) in writes.created.items()} | pods
        shown = list(self._amended(writes, pods))
        if not writes:
            del self._owners[owner]
        return shown

    def _of(self, owner: str) -> _Writes:
        return self._owners.setdefault(owner, _Writes())

    def _settle(self, writes: _Writes, cached: dict[str, ControllerPod]) -> None:
        """Drops fulfilled and expired expectations."""
        stale = self._clock.now() - EXPECTATION_TIMEOUT
        for uid in [uid for uid, (since, _) in writes.created.items() if uid in cached or since < stale]:
            del writes.created[uid]
            self._unseen.pop(uid, None)
        known = cached.keys() | writes.created.keys()
        for uid, since in list(writes.deleted.items()):
            if uid not in known or since < stale or (uid in cached and cached[uid].is_terminating):
                del writes.deleted[uid]
        for uid, (since, finalizer) in list(writes.released.items()):
            if (
                uid not in known
                or since < stale
                or (uid in cached and finalizer not in cached[uid].metadata.finalizers)
            ):
                del writes.released[uid]

    def _amended(self, writes: _Writes, pods: dict[str, ControllerPod]) -> Iterator[ControllerPod]:
        for uid, pod in pods.items():
            changed = pod
            if uid in writes.deleted and not pod.is_terminating:
                changed = _with_metadata(changed, deletion_timestamp=self._clock.wall())
            if uid in writes.released:
                finalizer = writes.released[uid][1]
                left = tuple(each for each in changed.metadata.finalizers if each != finalizer)
                changed = _with_metadata(changed, finalizers=left)
            if changed.metadata.finalizers or not self._went_at_once(uid, writes, changed):
                yield changed

    def _went_at_once(self, uid: str, writes: _Writes, pod: ControllerPod) -> bool:
        """Whether a deletion took effect immediately: unassigned and finished pods have no grace period."""
        return uid in writes.deleted and (pod.is_finished or not pod.spec.node_name)


def _with_metadata(pod: ControllerPod, **fields: object) -> ControllerPod:
    metadata = msgspec.structs.replace(pod.metadata, **fields)
    return msgspec.structs.replace(pod, metadata=metadata)
