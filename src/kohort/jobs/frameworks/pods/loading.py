"""Loads jobs of the pod framework from the cache: a pod, or a group as one object.

A group is represented by its first member.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from kohort.api.codec import JsonObject
from kohort.api.core.pods import Pod
from kohort.api.gates import Gate
from kohort.api.kueue.keys import QUEUE_NAME_LABEL
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.jobs.contract import ClusterReader, GroupedJob, JobKey
from kohort.jobs.errors import UnretryableError
from kohort.jobs.frameworks.pods.composition import is_group_workload, wanted_roles
from kohort.jobs.frameworks.pods.groups import PodGroup, group_of, sort_members
from kohort.jobs.frameworks.pods.members import group_name, holds_resources, is_serving
from kohort.jobs.objects import is_terminating, labels, metadata, prebuilt_name

PODS = Pod.resource
BY_GROUP = "pod group"
"""Index of pods by namespace and group."""


class GroupedPods(GroupedJob):
    """A group as one object; members that exceed its Workload are separated."""

    def __init__(
        self,
        representative: JsonObject,
        members: Sequence[JsonObject],
        excess: Sequence[JsonObject] = (),
        *,
        holds_resources: bool = False,
    ) -> None:
        super().__init__(representative, members)
        self._excess = excess
        self.holds_resources = holds_resources

    @property
    def counting(self) -> PodGroup:
        """The members that count for the Workload."""
        return group_of(self.members)

    @property
    def whole(self) -> PodGroup:
        """All members."""
        return group_of([*self.members, *self._excess])


def group_values(pod: JsonObject) -> Iterable[str]:
    """The value of a pod in the index of groups."""
    name = group_name(pod)
    return (f"{metadata(pod).get('namespace', '')}/{name}",) if name else ()


def load_job(key: JobKey, reads: ClusterReader) -> JsonObject | None:
    """The pod or the group of that key (JOB-155)."""
    if key.is_group:
        pods = reads.find(PODS, BY_GROUP, f"{key.namespace}/{key.name}")
        return _loaded(group_of(pods), reads) if pods else None
    pod = reads.get(PODS, ObjectKey(key.namespace, key.name))
    if pod is not None and group_name(pod):
        raise UnretryableError(f"pod {key} has joined group {group_name(pod)}, which is reconciled as a whole")
    return pod


def is_group(obj: JsonObject) -> TypeGuard[GroupedPods]:
    """Whether a loaded object represents a group."""
    return isinstance(obj, GroupedPods)


def _loaded(group: PodGroup, reads: ClusterReader) -> GroupedPods:
    namespace = metadata(group.first).get("namespace", "")
    workload = reads.workload(ObjectKey(namespace, group.name))
    members = _counting(group, workload, reads)
    counted = set(map(id, members))
    return GroupedPods(
        {**group.first, "metadata": _head(group, workload)},
        list(members),
        [pod for pod in group.members if id(pod) not in counted],
        holds_resources=any(_holds(pod, reads) for pod in members),
    )


def _head(group: PodGroup, workload: Workload | None) -> dict[str, Any]:
    """The first member's metadata without its deletion, which is not the group's.

    The parent of a serving group looks after the queue, so the group takes the Workload's (JOB-171).
    """
    head = {name: value for name, value in metadata(group.first).items() if not name.startswith("deletion")}
    if workload is not None and is_serving(group.first):
        queue = workload.spec.queue_name
        own = {name: value for name, value in labels(group.first).items() if name != QUEUE_NAME_LABEL}
        head["labels"] = {**own, **({QUEUE_NAME_LABEL: queue} if queue else {})}
    return head


def _counting(group: PodGroup, workload: Workload | None, reads: ClusterReader) -> Sequence[JsonObject]:
    if workload is None or not is_group_workload(workload) or prebuilt_name(group.first, reads.gates):
        return group.members
    return sort_members(group, wanted_roles(workload), reads.now).kept or group.members


def _holds(pod: JsonObject, reads: ClusterReader) -> bool:
    if is_terminating(pod) and reads.gates.enabled(Gate.FastQuotaReleaseInPodIntegration):
        return False
    return holds_resources(pod, reads.now)
