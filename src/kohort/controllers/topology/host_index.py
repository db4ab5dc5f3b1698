"""Workloads by the hosts to which their pods are assigned (TAS-100), updated with each change of an assignment."""

from collections.abc import Iterator

from kohort.api.errors import ConversionError
from kohort.api.kueue.slices import expand
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.flavors import HOSTNAME_LABEL
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import is_admitted, is_evicted, is_finished

NO_HOSTS: frozenset[str] = frozenset()


def hosts_of_pod_set(assigned: PodSetAssignment) -> Iterator[str]:
    """The hosts of a pod set; none if its topology has another lowest level, or the assignment is invalid."""
    placed = assigned.topology_assignment
    if placed is None or placed.levels[-1] != HOSTNAME_LABEL:
        return
    try:
        yield from (domain.values[-1] for domain in expand(placed))
    except ConversionError:
        return


def hosts_of_admission(admission: Admission) -> frozenset[str]:
    """All hosts of an admission."""
    return frozenset(host for assigned in admission.pod_set_assignments for host in hosts_of_pod_set(assigned))


def is_running(workload: Workload) -> bool:
    """Whether the Workload may have pods that have to be replaced: admitted, not evicted, not finished."""
    return is_admitted(workload) and not is_evicted(workload) and not is_finished(workload)


class HostIndex:
    """Workloads by host."""

    def __init__(self) -> None:
        self._admissions: dict[ObjectKey, tuple[Admission, frozenset[str]]] = {}
        """The admission of each Workload with its hosts, which are not expanded again while it is the same."""
        self._workloads: dict[str, set[ObjectKey]] = {}

    def put(self, key: ObjectKey, workload: Workload | None) -> frozenset[str]:
        """Update a Workload; returns the hosts that are new to it, and those that it no longer has."""
        before = self._admissions.get(key)
        admission = workload.status.admission if workload is not None and is_running(workload) else None
        if admission is None:
            hosts = self._admissions.pop(key)[1] if before is not None else NO_HOSTS
            self._remove(key, hosts)
            return hosts
        if before is not None and before[0] == admission:
            return NO_HOSTS
        return self._set(key, admission, before[1] if before is not None else NO_HOSTS)

    def on(self, host: str) -> list[ObjectKey]:
        """The Workloads with an assignment to a host."""
        return sorted(self._workloads.get(host, ()))

    def has(self, host: str, key: ObjectKey) -> bool:
        """Whether a Workload has an assignment to a host."""
        return key in self._workloads.get(host, ())

    def _set(self, key: ObjectKey, admission: Admission, before: frozenset[str]) -> frozenset[str]:
        hosts = hosts_of_admission(admission)
        self._remove(key, before - hosts)
        if hosts:
            self._admissions[key] = admission, hosts
        else:
            self._admissions.pop(key, None)
        for host in hosts - before:
            self._workloads.setdefault(host, set()).add(key)
        return hosts ^ before

    def _remove(self, key: ObjectKey, hosts: frozenset[str]) -> None:
        for host in hosts:
            workloads = self._workloads[host]
            workloads.discard(key)
            if not workloads:
                del self._workloads[host]
