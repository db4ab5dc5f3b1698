"""What a controller has done to pods and no cache has shown yet, laid over what the cache shows.

So a cache that lags never makes a controller do a thing twice. An answer that the cache can never show, because the pod
came and went between two lists, is forgotten after a while.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from kohort.embedded.controllers.views import ControllerPod
from kohort.kube.clock import Clock

PATIENCE = 300.0
"""Seconds after which a cache that still does not show a write never will."""


@dataclass(slots=True)
class _Writes:
    """The writes to the pods of one owner, by the uid of the pod; times are those of the writes."""

    created: dict[str, tuple[float, ControllerPod]] = field(default_factory=dict)
    deleted: dict[str, float] = field(default_factory=dict)
    released: dict[str, tuple[float, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.created or self.deleted or self.released)


class PodExpectations:
    """The writes of one controller, by the uid of the owner."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._owners: dict[str, _Writes] = {}
        self._unseen: dict[str, str] = {}

    def created(self, owner: str, pod: ControllerPod) -> None:
        """A pod was made."""
        self._of(owner).created[pod.metadata.uid] = (self._clock.now(), pod)
        self._unseen[pod.metadata.uid] = owner

    def deleted(self, owner: str, pod: ControllerPod) -> None:
        """A pod was asked to end."""
        self._of(owner).deleted[pod.metadata.uid] = self._clock.now()

    def released(self, owner: str, pod: ControllerPod, finalizer: str) -> None:
        """A finalizer was taken off a pod."""
        self._of(owner).released[pod.metadata.uid] = (self._clock.now(), finalizer)

    def forget(self, owner: str) -> None:
        """The owner is gone."""
        writes = self._owners.pop(owner, None)
        for uid in writes.created if writes else ():
            self._unseen.pop(uid, None)

    def observe(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        """What the cache has just shown; to be subscribed to the informer of pods."""
        shown = new or old
        owner = self._unseen.pop(shown.metadata.uid, None) if shown else None
        writes = self._owners.get(owner) if owner else None
        if writes and shown:
            writes.created.pop(shown.metadata.uid, None)

    def outstanding(self, owner: str) -> bool:
        """Whether the cache lags behind the writes for an owner."""
        return bool(self._owners.get(owner))

    def overlay(self, owner: str, cached: Iterable[ControllerPod]) -> list[ControllerPod]:
        """The owner's pods as the cache will show them once it has caught up."""
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
        """Forget what the cache shows by now, and what it never will."""
        stale = self._clock.now() - PATIENCE
        for uid in [uid for uid, (since, _) in writes.created.items() if uid in cached or since < stale]:
            del writes.created[uid]
            self._unseen.pop(uid, None)
        known = cached.keys() | writes.created.keys()
        for uid, since in list(writes.deleted.items()):
            if uid not in known or since < stale or (uid in cached and cached[uid].is_leaving):
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
            if uid in writes.deleted and not pod.is_leaving:
                changed = _with_metadata(changed, deletion_timestamp=self._clock.wall())
            if uid in writes.released:
                finalizer = writes.released[uid][1]
                left = tuple(each for each in changed.metadata.finalizers if each != finalizer)
                changed = _with_metadata(changed, finalizers=left)
            if changed.metadata.finalizers or not self._went_at_once(uid, writes, changed):
                yield changed

    def _went_at_once(self, uid: str, writes: _Writes, pod: ControllerPod) -> bool:
        """Whether a pod went with the delete itself: unbound pods and finished ones have nobody to wait for."""
        return uid in writes.deleted and (pod.is_finished or not pod.spec.node_name)


def _with_metadata(pod: ControllerPod, **fields: object) -> ControllerPod:
    metadata = msgspec.structs.replace(pod.metadata, **fields)
    return msgspec.structs.replace(pod, metadata=metadata)
