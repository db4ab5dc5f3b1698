"""Pod groups and their Workloads: matching an existing one, and composing a new one (JOB-157 to JOB-160)."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from msgspec.structs import replace

from kohort.api.codec import JsonObject
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import WorkloadSpec
from kohort.api.meta import ObjectMeta, OwnerReference
from kohort.engine.lifecycle.conditions import is_finished
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.contract import ClusterReader, GroupMatch, GroupWorkload
from kohort.jobs.effects import Effect, PatchWorkload, RecordEvent, record_event, workload_reference
from kohort.jobs.errors import RetryError, UnretryableError
from kohort.jobs.frameworks.pods.fast_admission import expected_roles, has_fast_admission
from kohort.jobs.frameworks.pods.groups import (
    PodGroup,
    common_values,
    composition_problem,
    fits_workload,
    keep_first,
    lacks_members,
    role_counts,
    sort_members,
    topology_problem,
)
from kohort.jobs.frameworks.pods.members import is_runnable, is_serving, role_of
from kohort.jobs.frameworks.pods.writes import drop_excess, remove_finalizer
from kohort.jobs.keys import GROUP_WORKLOAD_ANNOTATION, POD_INDEX_LABEL
from kohort.jobs.objects import annotations, labels, maximum_execution_time, metadata, prebuilt_name, uid
from kohort.jobs.podsets import JobPodSet
from kohort.jobs.topology import IndexLabels, topology_request
from kohort.jobs.workload_builder import annotation_keys, copied_annotations, label_keys, stored, with_demand
from kohort.kube.events import EventToRecord

MANAGER = "kueue-pod-controller"
INDEX_LABELS = IndexLabels(POD_INDEX_LABEL)
MAX_ROLES = 18
ANY_COUNT = 2**31 - 1


def is_group_workload(workload: Workload) -> bool:
    """Whether the Workload was created for a group."""
    return workload.metadata.annotations.get(GROUP_WORKLOAD_ANNOTATION) == "true"


def wanted_roles(workload: Workload) -> list[tuple[str, int]]:
    """Role and count of each pod set of a Workload."""
    return [(pod_set.name, pod_set.count) for pod_set in workload.spec.pod_sets]


# Matching


def match_group(group: PodGroup, workload: Workload | None, reads: ClusterReader) -> GroupMatch:
    """Whether the Workload of that name matches the group, and the effects on each member (JOB-159, JOB-160)."""
    if workload is None:
        return GroupMatch()
    if not is_group_workload(workload):
        raise UnretryableError(*_name_conflict(group))
    if prebuilt_name(group.first, reads.gates):
        return _match_prebuilt(group, workload)
    if workload.spec.maximum_execution_time_seconds != maximum_execution_time(group.first):
        return GroupMatch(extra=(workload,))
    return _match_own(group, workload, reads)


def _name_conflict(group: PodGroup) -> tuple[str, tuple[Effect, ...]]:
    why = (
        f'A Workload named "{group.name}" already exists but is not a pod group workload; '
        f"this pod group cannot be admitted"
    )
    released = [effect for pod in group.inactive for effect in remove_finalizer(pod)]
    return why, (record_event(group.first, "WorkloadNameConflict", why, "Warning"), *released)


def _match_prebuilt(group: PodGroup, workload: Workload) -> GroupMatch:
    """A prebuilt Workload must only have capacity for all pods (JOB-29)."""
    counts = expected_roles(group.first, group.total or 0, role_counts(group.members))
    if not fits_workload(counts, _role_capacity(workload)):
        return GroupMatch(extra=(workload,))
    owned, effects = _owned(workload, group.members)
    return GroupMatch(owned, effects=effects)


def _match_own(group: PodGroup, workload: Workload, reads: ClusterReader) -> GroupMatch:
    sorting = sort_members(group, wanted_roles(workload), reads.now)
    if not sorting.kept or not fits_workload(role_counts(sorting.kept), _role_capacity(workload)):
        return GroupMatch(extra=(workload,))
    owned, effects = _owned(workload, sorting.kept)
    excess = [effect for pod in sorting.excess for effect in drop_excess(pod)]
    replaced = [effect for pod in sorting.replaced for effect in remove_finalizer(pod)]
    return GroupMatch(owned, effects=(*effects, *excess, *replaced))


def _role_capacity(workload: Workload) -> list[tuple[str, int]]:
    """The allowed number of pods of each role; unlimited for a finished Workload (JOB-160)."""
    over = is_finished(workload)
    return [(role, ANY_COUNT if over else count) for role, count in wanted_roles(workload)]


def _owned(workload: Workload, pods: Sequence[JsonObject]) -> tuple[Workload, tuple[Effect, ...]]:
    """The Workload with an owner reference to every pod, and the necessary write (JOB-160).

    A pod that came again under its old name replaces the reference to the former one, or garbage collection would take
    the Workload; where a parent owns it as well, nothing can, and the write is saved.
    """
    present = {(owner.kind, owner.name): owner for owner in workload.metadata.owner_references}
    references = {(owner.kind, owner.name): owner for owner in map(owner_reference, pods)}
    missing = references.keys() - present.keys()
    renewed = {key for key in references.keys() & present.keys() if references[key].uid != present[key].uid}
    if not missing and (not renewed or is_serving(pods[0])):
        return workload, ()
    owners = tuple((present | references).values())
    owned = replace(workload, metadata=replace(workload.metadata, owner_references=owners))
    recorded = RecordEvent(
        workload_reference(workload),
        EventToRecord("Normal", "OwnerReferencesAdded", f"Added {len(missing)} owner reference(s)"),
    )
    write = PatchWorkload(workload, owned, MANAGER, WriteTarget.OBJECT)
    return owned, (write, recorded) if missing else (write,)


def owner_reference(pod: JsonObject) -> OwnerReference:
    """A member as one of the owners of its group's Workload; none of them controls it (JOB-154)."""
    return OwnerReference(api_version="v1", kind="Pod", name=metadata(pod).get("name", ""), uid=uid(pod))


# Composing


def build_group_workload(group: PodGroup, reads: ClusterReader) -> GroupWorkload:
    """A new Workload of a group; raises UnretryableError while it cannot be composed (JOB-157)."""
    released = tuple(effect for pod in group.inactive for effect in remove_finalizer(pod))
    _check(group, reads.gates, released)
    excess = keep_first(group.runnable)[group.total :]
    effects = (*released, *(effect for pod in excess for effect in drop_excess(pod)))
    dropped = set(map(id, excess))
    left = PodGroup(tuple(pod for pod in group.members if id(pod) not in dropped))
    pod_sets = group_pod_sets(left, reads)
    if len(pod_sets) > MAX_ROLES:
        raise UnretryableError(f"pod group can't include more than {MAX_ROLES} roles", effects)
    return GroupWorkload(_new_workload(left, pod_sets, reads), effects)


def _check(group: PodGroup, gates: FeatureGates, effects: tuple[Effect, ...]) -> None:
    problem = composition_problem(group)
    if lacks_members(group) and group.total is not None:
        problem = f"'{group.name}' group has fewer runnable pods than expected"
    elif problem is None and gates.enabled(Gate.TopologyAwareScheduling):
        problem = topology_problem(group)
    if problem is not None:
        event = record_event(group.first, "ErrWorkloadCompose", problem, "Warning")
        raise UnretryableError(problem, (*effects, event))


def _new_workload(group: PodGroup, pod_sets: Sequence[JobPodSet], reads: ClusterReader) -> Workload:
    head = ObjectMeta(
        name=group.name,
        namespace=metadata(group.first).get("namespace", ""),
        labels=_agreed(group, "label", label_keys(reads.configuration, reads.gates), labels),
        annotations={
            **copied_annotations(group.first, reads.configuration, reads.gates),
            **_agreed(group, "annotation", annotation_keys(reads.configuration, reads.gates), annotations),
            GROUP_WORKLOAD_ANNOTATION: "true",
        },
        owner_references=tuple(map(owner_reference, group.members)),
        finalizers=(RESOURCE_IN_USE_FINALIZER,),
    )
    spec = WorkloadSpec(pod_sets=stored(pod_sets, reads.gates))
    return with_demand(Workload(metadata=head, spec=spec), group.first)


def _agreed(
    group: PodGroup, what: str, keys: Sequence[str], table: Callable[[JsonObject], Mapping[str, str]]
) -> dict[str, str]:
    try:
        return common_values(group, keys, table)
    except ValueError as differing:
        raise RetryError(f"pods of group {group.name} have different values of {what} {differing}") from None


# Pod sets


def single_pod_set(pod: JsonObject, reads: ClusterReader) -> JobPodSet:
    """A pod as a set of its own: its spec as stored, without metadata (JOB-149)."""
    template = {"spec": deepcopy(pod.get("spec") or {})}
    return JobPodSet("main", 1, template, topology_request=topology_request(pod, reads.gates, INDEX_LABELS))


def group_pod_sets(group: PodGroup, reads: ClusterReader) -> list[JobPodSet]:
    """One set per role, sorted by role; with fast admission one for the whole group (JOB-157, JOB-158)."""
    runnable = [pod for pod in group.members if is_runnable(pod)]
    if not runnable:
        raise UnretryableError(f"group {group.name} has no pod that can run")
    firsts = {role_of(pod): pod for pod in reversed(runnable)}
    counts = role_counts(runnable)
    if has_fast_admission(group.first):
        counts = {role_of(runnable[0]): group.total or len(runnable)}
    return [_role_pod_set(firsts[role], role, count, reads) for role, count in counts.items()]


def _role_pod_set(pod: JsonObject, role: str, count: int, reads: ClusterReader) -> JobPodSet:
    single = single_pod_set(pod, reads)
    return JobPodSet(role, count, single.template, topology_request=single.topology_request)
