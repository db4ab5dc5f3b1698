"""Equal parts of Workloads kept once: thousands ask for the same and are given the same, and all stay in memory.

Objects are frozen, so nobody can tell a part of one's own from one that others have too.
"""

from collections.abc import Hashable, Mapping
from hashlib import sha256
from sys import intern
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import force_setattr

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, PodSet
from kohort.api.remembering import LONGEST_REMEMBERED

T = TypeVar("T")

_REMEMBERED: Final = 4096
"""Parts of each kind that are at hand for the next who says the same."""


_REMEMBERED_BYTES: Final = 32 * 2**20
"""Bytes of templates that are at hand: they may be of Workloads that are gone."""


class StructInterner:
    """Brings together what is equal in the Workloads that it is shown."""

    def __init__(self) -> None:
        self._pod_sets: _Parts[tuple[PodSet, ...]] = _Parts()
        self._admissions: _Parts[Admission] = _Parts()
        self._no_notes: dict[str, str] = {}

    def share(self, workload: Workload) -> None:
        """Let a Workload that is to be kept have parts in common with others; it means the same as before."""
        metadata, spec, status = workload.metadata, workload.spec, workload.status
        force_setattr(metadata, "namespace", intern(metadata.namespace))
        for name in ("labels", "annotations"):
            if not getattr(metadata, name):
                force_setattr(metadata, name, self._no_notes)
        if spec.queue_name:
            force_setattr(spec, "queue_name", intern(spec.queue_name))
        if not any(each.topology_request for each in spec.pod_sets):
            asked = tuple(_asked(each) for each in spec.pod_sets)
            size = sum(len(bytes(each.template)) for each in spec.pod_sets)
            force_setattr(spec, "pod_sets", self._pod_sets.one(asked, spec.pod_sets, size))
        admission = status.admission
        if admission is not None and not any(each.topology_assignment for each in admission.pod_set_assignments):
            force_setattr(status, "admission", self._admissions.one(_given(admission), admission))


class _Parts(Generic[T]):
    """The latest parts of one kind, by what makes others equal to them."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[T, int]] = {}
        self._size = 0

    def one(self, key: Hashable, part: T, size: int = 0) -> T:
        """The part that is known under a key, or else this one, which keeps so many bytes in memory."""
        if key not in self._known:
            self._known[key] = part, size
            self._size += size
        found = self._known[key][0]
        while len(self._known) > _REMEMBERED or self._size > _REMEMBERED_BYTES:
            self._size -= self._known.pop(next(iter(self._known)))[1]
        return found


def _asked(pod_set: PodSet) -> Hashable:
    template = bytes(pod_set.template)
    key = template if len(template) <= LONGEST_REMEMBERED else sha256(template).digest()
    return pod_set.name, pod_set.count, pod_set.min_count, key


def _given(admission: Admission) -> Hashable:
    return admission.cluster_queue, *(
        (each.name, each.count, each.delayed_topology_request, *_maps(each.flavors, each.resource_usage))
        for each in admission.pod_set_assignments
    )


def _maps(*maps: Mapping[str, Any]) -> tuple[Hashable, ...]:
    """Entries with their types: 1 and 1.0 are equal, and are not the same on the wire."""
    return tuple(tuple((name, value, type(value)) for name, value in each.items()) for each in maps)
