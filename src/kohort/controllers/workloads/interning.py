"""Interns equal parts of Workloads: thousands have the same pod sets and admissions, and all stay in memory.

Objects are frozen, so sharing is not observable.
"""

from collections.abc import Hashable, Mapping
from hashlib import sha256
from sys import intern
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import force_setattr

from kohort.api.call_cache import MAX_CACHED_TEXT
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, PodSet

T = TypeVar("T")

_MAX_PARTS: Final = 4096
"""Parts of each kind that are kept for sharing."""


_MAX_BYTES: Final = 32 * 2**20
"""Bytes of templates that are kept, also of deleted Workloads."""
_MAX_DOMAINS: Final = 64
"""Topology domains of an admission that is shared: larger ones rarely repeat."""


class StructInterner:
    """Replaces parts of Workloads by equal parts of earlier ones."""

    def __init__(self) -> None:
        self._pod_sets: _Parts[tuple[PodSet, ...]] = _Parts()
        self._admissions: _Parts[Admission] = _Parts()
        self._empty_labels: dict[str, str] = {}

    def share(self, workload: Workload) -> None:
        """Replace parts of a Workload by equal shared ones; its value does not change."""
        metadata, spec, status = workload.metadata, workload.spec, workload.status
        force_setattr(metadata, "namespace", intern(metadata.namespace))
        for name in ("labels", "annotations"):
            if not getattr(metadata, name):
                force_setattr(metadata, name, self._empty_labels)
        if spec.queue_name:
            force_setattr(spec, "queue_name", intern(spec.queue_name))
        keys = tuple(_pod_set_key(each) for each in spec.pod_sets)
        size = sum(len(bytes(each.template)) for each in spec.pod_sets)
        force_setattr(spec, "pod_sets", self._pod_sets.intern_part(keys, spec.pod_sets, size))
        admission = status.admission
        if admission is not None and _domain_count(admission) <= _MAX_DOMAINS:
            force_setattr(status, "admission", self._admissions.intern_part(_admission_key(admission), admission))


class _Parts(Generic[T]):
    """The latest parts of one kind by a key of their value."""

    def __init__(self) -> None:
        self._by_key: dict[Hashable, tuple[T, int]] = {}
        self._size = 0

    def intern_part(self, key: Hashable, part: T, size: int = 0) -> T:
        """The part with this key, or else this one, which takes `size` bytes."""
        if key not in self._by_key:
            self._by_key[key] = part, size
            self._size += size
        found = self._by_key[key][0]
        while len(self._by_key) > _MAX_PARTS or self._size > _MAX_BYTES:
            self._size -= self._by_key.pop(next(iter(self._by_key)))[1]
        return found


def _pod_set_key(pod_set: PodSet) -> Hashable:
    template = bytes(pod_set.template)
    key = template if len(template) <= MAX_CACHED_TEXT else sha256(template).digest()
    return pod_set.name, pod_set.count, pod_set.min_count, pod_set.topology_request, key


def _domain_count(admission: Admission) -> int:
    """Topology domains of all pod sets."""
    assigned = [each.topology_assignment for each in admission.pod_set_assignments]
    return sum([part.domain_count for each in assigned if each is not None for part in each.slices])


def _admission_key(admission: Admission) -> Hashable:
    return admission.cluster_queue, *(
        (
            each.name,
            each.count,
            each.delayed_topology_request,
            each.topology_assignment,
            *_maps(each.flavors, each.resource_usage),
        )
        for each in admission.pod_set_assignments
    )


def _maps(*maps: Mapping[str, Any]) -> tuple[Hashable, ...]:
    """Entries with their types: 1 and 1.0 are equal, but encoded differently."""
    return tuple(tuple((name, value, type(value)) for name, value in each.items()) for each in maps)
