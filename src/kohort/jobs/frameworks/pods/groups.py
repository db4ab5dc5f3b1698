"""A pod group: which members are active, in excess or replaced, and the state of the whole group.

Pure: all results follow from the members and the time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kohort.api.codec import JsonObject
from kohort.jobs.frameworks.pods.fast_admission import absent_pods, is_complete_enough
from kohort.jobs.frameworks.pods.members import (
    created_at,
    group_name,
    is_finalized,
    is_gated,
    is_ready,
    is_runnable,
    is_serving,
    is_suspended,
    is_terminated,
    is_unretriable,
    last_active_at,
    phase,
    role_of,
    total_count,
)
from kohort.jobs.keys import POD_GROUP_TOTAL_COUNT_ANNOTATION, POD_INDEX_LABEL, TOPOLOGY_LEVEL_ANNOTATIONS
from kohort.jobs.objects import annotations, labels, metadata, queue_name


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods of one namespace with one group name, the oldest first (JOB-154, DEV-2)."""

    members: tuple[JsonObject, ...]

    @property
    def first(self) -> JsonObject:
        """The member that represents the group (JOB-155)."""
        return self.members[0]

    @property
    def name(self) -> str:
        """The group's name, and that of its Workload."""
        return group_name(self.first)

    @property
    def total(self) -> int | None:
        """How many pods the group is to have."""
        return total_count(self.first)

    @property
    def runnable(self) -> tuple[JsonObject, ...]:
        """Members that run, may run, or have succeeded (JOB-156)."""
        return tuple(filter(is_runnable, self.members))

    @property
    def inactive(self) -> tuple[JsonObject, ...]:
        """Members that failed, or were deleted before they ran (JOB-156)."""
        return tuple(pod for pod in self.members if not is_runnable(pod))


def group_of(pods: Iterable[JsonObject]) -> PodGroup:
    """The pods as a group."""
    return PodGroup(tuple(sorted(pods, key=_age)))


def _age(pod: JsonObject) -> tuple[str, str]:
    return created_at(pod), metadata(pod).get("name", "")


# Members in excess


def keep_first(runnable: Iterable[JsonObject]) -> list[JsonObject]:
    """Runnable pods, in the order in which to keep them: with finalizer, not gated, older (JOB-161)."""
    return sorted(runnable, key=lambda pod: (is_finalized(pod), is_gated(pod), *_age(pod)))


def keep_first_inactive(inactive: Iterable[JsonObject], now: datetime) -> list[JsonObject]:
    """Inactive pods, in the order in which to keep them: with finalizer, latest activity, older (JOB-162)."""

    def rank(pod: JsonObject) -> tuple[bool, float, str, str]:
        return is_finalized(pod), -last_active_at(pod, now).timestamp(), *_age(pod)

    return sorted(inactive, key=rank)


@dataclass(frozen=True, slots=True)
class SortedMembers:
    """Members by how a Workload affects them (JOB-160)."""

    kept: tuple[JsonObject, ...]
    excess: tuple[JsonObject, ...]
    """Runnable members beyond the count of their role: to be deleted."""
    replaced: tuple[JsonObject, ...]
    """Inactive members that were replaced: their finalizers are removed."""
    absent: int
    """The number of missing pods (JOB-168)."""


def sort_members(group: PodGroup, counts: Sequence[tuple[str, int]], now: datetime) -> SortedMembers:
    """Sort members by the Workload's pod sets, given as (role, count); unknown roles are omitted."""
    kept: list[JsonObject] = []
    excess: list[JsonObject] = []
    replaced: list[JsonObject] = []
    absent = 0
    for role, count in counts:
        runnable = keep_first(_with_role(group.runnable, role))
        inactive = keep_first_inactive(_with_role(group.inactive, role), now)
        needed = max(0, count - len(runnable))
        kept += runnable[:count] + inactive[:needed]
        excess += runnable[count:]
        replaced += inactive[needed:]
        absent += absent_pods(group.first, len(runnable), count)
    return SortedMembers(tuple(kept), tuple(excess), tuple(replaced), absent)


def _with_role(pods: Iterable[JsonObject], role: str) -> list[JsonObject]:
    return [pod for pod in pods if role_of(pod) == role]


# Roles


def role_counts(pods: Iterable[JsonObject]) -> dict[str, int]:
    """The number of runnable pods of each role, sorted by role (JOB-157)."""
    counts: dict[str, int] = {}
    for pod in filter(is_runnable, pods):
        role = role_of(pod)
        counts[role] = counts.get(role, 0) + 1
    return dict(sorted(counts.items()))


def fits_workload(counts: dict[str, int], wanted: Sequence[tuple[str, int]]) -> bool:
    """Whether roles appear in the Workload's pod sets, in order, none with more pods than there (JOB-160)."""
    rest = iter(wanted)
    for role, count in counts.items():
        found = next((size for name, size in rest if name == role), None)
        if found is None or found < count:
            return False
    return True


# Requirements of composition


def composition_problem(group: PodGroup) -> str | None:
    """Why no Workload can be composed of the members (JOB-157)."""
    total = group.total
    if total is None:
        return f"pod '{_name(group.first)}' has no valid annotation {POD_GROUP_TOTAL_COUNT_ANNOTATION}: write a count"
    return _index_problem(group.first, total) or _disagreement(group, total)


def lacks_members(group: PodGroup) -> bool:
    """Whether the group still waits for members that have to exist before it is queued (JOB-157)."""
    return not is_complete_enough(group.first, len(group.runnable), group.total or 0)


def _index_problem(pod: JsonObject, total: int) -> str | None:
    index = labels(pod).get(POD_INDEX_LABEL)
    if index is None or (index.isascii() and index.isdecimal() and int(index) < total):
        return None
    return f"pod '{_name(pod)}' has index {index!r} in label {POD_INDEX_LABEL}: write a number less than {total}"


def _disagreement(group: PodGroup, total: int) -> str | None:
    queue = queue_name(group.first)
    for pod in group.members:
        if phase(pod) == "Failed":
            continue
        names = f"pods '{_name(group.first)}' and '{_name(pod)}'"
        other = queue_name(pod)
        if other != queue:
            return f"{names} has different queue names: {queue}!={other}"
        text = annotations(pod).get(POD_GROUP_TOTAL_COUNT_ANNOTATION)
        if total_count(pod) != total:
            return f"{names} has different '{POD_GROUP_TOTAL_COUNT_ANNOTATION}' values: {total}!={text}"
    return None


def topology_problem(group: PodGroup) -> str | None:
    """The annotation on which pods of one role differ: they are one pod set, with one topology request (TAS-11)."""
    if is_serving(group.first):
        return None
    firsts: dict[str, JsonObject] = {}
    for pod in group.runnable:
        first = firsts.setdefault(role_of(pod), pod)
        mine, theirs = annotations(first), annotations(pod)
        for key in TOPOLOGY_LEVEL_ANNOTATIONS:
            if mine.get(key) != theirs.get(key):
                return (
                    f"pods '{_name(first)}' and '{_name(pod)}' have the same role and different values of annotation"
                    f" {key}: {mine.get(key)} and {theirs.get(key)}: write the same in both"
                )
    return None


def _name(pod: JsonObject) -> str:
    name: str = metadata(pod).get("name", "")
    return name


def common_values(
    group: PodGroup, keys: Iterable[str], table: Callable[[JsonObject], Mapping[str, str]]
) -> dict[str, str]:
    """The members' values of labels or annotations to copy; raises ValueError for the key on which they differ."""
    found: dict[str, str] = {}
    for key in keys:
        for pod in group.members:
            value = table(pod).get(key)
            if value is not None and found.setdefault(key, value) != value:
                raise ValueError(key)
    return found


# State


def is_group_suspended(group: PodGroup) -> bool:
    """Whether any member is gated or terminated (JOB-163)."""
    return any(map(is_suspended, group.members))


def is_group_finished(group: PodGroup) -> tuple[bool, str]:
    """Whether the group is finished, and the message for its Workload (JOB-166)."""
    succeeded = sum(phase(pod) == "Succeeded" for pod in group.members)
    over = all(map(is_terminated, group.members)) and any(map(is_unretriable, group.members))
    done = not is_serving(group.first) and group.total is not None and (succeeded == group.total or over)
    return done, f"Pods succeeded: {succeeded}/{group.total}." if done else ""


def is_group_ready(group: PodGroup) -> bool:
    """Whether all members exist and are ready (JOB-169)."""
    return len(group.members) >= (group.total or 1) and all(map(is_ready, group.members))


def succeeded_by_role(group: PodGroup) -> dict[str, int]:
    """Reclaimable pods per role (JOB-167)."""
    if is_serving(group.first):
        return {}
    return role_counts(pod for pod in group.members if phase(pod) == "Succeeded")
