"""The pods that Workloads started, watched from the first Workload on that needs it: most clusters need no watch.

Only pods with the label of a pod set are watched, and of these only what ungaters read is kept. Every ungater sees the
writes of the others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.core.pods import Pod
from kohort.api.meta import ObjectKey
from kohort.jobs.assume_cache import CachedObject, CachedResource, ObjectAssumeCache
from kohort.jobs.keys import PODSET_LABEL
from kohort.jobs.objects import gates, metadata
from kohort.jobs.ungating.chains import workload_named_by
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import ListScope

BY_WORKLOAD: Final = "workload of pod"
STARTED: Final = ListScope(labels=PODSET_LABEL)
NO_GATES: Final[frozenset[str]] = frozenset()


_METADATA: Final = (
    "name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "labels", "annotations",
)  # fmt: skip


@dataclass(frozen=True)
class StartedPodResource(CachedResource):
    """Pods without members that no ungater reads: containers, volumes, conditions."""

    def to_cached(self, obj: JsonObject) -> CachedObject:
        """The reduced pod; patches of it leave alone what it lacks."""
        return super().to_cached(
            {
                "metadata": _members(metadata(obj), *_METADATA),
                "spec": _members(obj.get("spec") or {}, "schedulingGates", "nodeSelector"),
                "status": _members(obj.get("status") or {}, "phase"),
            }
        )


def _members(owner: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: owner[name] for name in names if name in owner}


@dataclass(frozen=True, slots=True)
class PodChange:
    """A pod of a Workload has appeared, changed or left."""

    workload: ObjectKey
    """The Workload, or the chain of slices, that the pod names."""
    uid: str
    gates: frozenset[str]
    """The gates it has; none once it is deleted or names another Workload."""


def named_workloads(pod: JsonObject) -> Iterable[tuple[str, str]]:
    """The chain or Workload that a pod was started for, with its namespace."""
    named = workload_named_by(pod)
    return ((metadata(pod).get("namespace", ""), named),) if named else ()


class StartedPods:
    """A cache of these pods with own writes."""

    def __init__(self, informers: SharedInformerFactory) -> None:
        self._informers = informers
        self._handlers: list[Callable[[PodChange], None]] = []
        self._cache: ObjectAssumeCache | None = None

    def watch(self) -> None:
        """Start watching, unless it has been started."""
        if self._cache is None:
            self._cache = ObjectAssumeCache(self._informers, StartedPodResource(Pod.resource), STARTED)
            self._cache.index(BY_WORKLOAD, named_workloads)
            self._cache.informer.subscribe(self._changed)

    @property
    def synced(self) -> bool:
        """Whether the cache is complete."""
        return self._cache is not None and self._cache.informer.synced

    def subscribe(self, handler: Callable[[PodChange], None]) -> None:
        """Call a function for each change of a pod from now on."""
        self._handlers.append(handler)

    def get(self, key: ObjectKey) -> JsonObject | None:
        """The newest known state of a pod."""
        return self._cache.get(key) if self._cache is not None else None

    def find(self, workload: ObjectKey) -> Sequence[JsonObject]:
        """Pods that name a Workload or chain, oldest first."""
        return self._cache.find(BY_WORKLOAD, tuple(workload)) if self._cache is not None else ()

    def assume(self, written: JsonObject) -> None:
        """Use the response to an own write until the watch shows it."""
        if self._cache is not None:
            self._cache.assume(written)

    def _changed(self, old: CachedObject | None, new: CachedObject | None) -> None:
        before, after = (_changes(each) if each is not None else () for each in (old, new))
        still = {(change.workload, change.uid) for change in after}
        left = (change for change in before if (change.workload, change.uid) not in still)
        for change in (*(replace(each, gates=NO_GATES) for each in left), *after):
            for handler in self._handlers:
                handler(change)


def _changes(shown: CachedObject) -> tuple[PodChange, ...]:
    """The state of a pod as a change of its Workload; none for a pod that names no Workload."""
    pod = shown.json()
    named = (ObjectKey(namespace, name) for namespace, name in named_workloads(pod))
    return tuple(PodChange(key, shown.identity.uid, frozenset(gates(pod))) for key in named)
